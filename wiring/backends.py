"""How each backend is built. A new backend adds its line to BUILDERS and one in domain/backend_name.py."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from contract.ports import Backend, Clock
from domain.backend_name import BackendName
from domain.fields import FIELDS
from domain.rules import loose_time
from storage.tables import LANGGRAPH, SHADOW
from wiring.database import Database
from wiring.local_secrets import secret_or_local
from wiring.settings import LlmSettings, Settings

if TYPE_CHECKING:  # loaded only where a backend is opened: most commands do without
    from backends.langgraph.model.openai_model import OpenAiModel

Namespace = Literal["live", "shadow"]
KEEP_ALIVE_SECONDS = 4.0  # FastGPT closes an idle connection after about 6 s; a turn that races that is lost
UPSTREAM_CONNECTIONS = 500  # more concurrent turns than this wait for a connection; the session waits bound them


class MissingSetting(Exception):
    """A backend cannot be built; the message names the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    settings: Settings
    database: Database
    clock: Clock
    namespace: Namespace


def _required(value: str | SecretStr | None, name: str) -> str:
    if value is None:
        raise MissingSetting(f"{name} is not set (`crossfade demo` brings its own simulators)")
    return value.get_secret_value() if isinstance(value, SecretStr) else value


@asynccontextmanager
async def open_fastgpt(given: Ingredients) -> AsyncGenerator[Backend]:
    # Each builder imports what it needs when it is called: the libraries behind a backend take a second to load, and most commands
    # need none of them.
    import httpx
    from httpx_aiohttp import AiohttpTransport

    from backends.fastgpt.backend import FastGptBackend
    from backends.fastgpt.config import FastGptConfig

    settings, is_shadow = given.settings.fastgpt, given.namespace == "shadow"
    config = FastGptConfig(
        base_url=_required((settings.shadow_base_url if is_shadow else None) or settings.base_url, "ZNJJ_FASTGPT__BASE_URL"),
        api_key=_required((settings.shadow_api_key if is_shadow else None) or settings.api_key, "ZNJJ_FASTGPT__API_KEY"),
        app_id=(settings.shadow_app_id if is_shadow else None) or settings.app_id,
        chat_secret=secret_or_local(settings.chat_secret, given.settings.state_dir, "chat_secret"),
        api=settings.api,
        chat_id_template=settings.chat_id_template,
        write_chat=settings.write_chat,
        adopt={} if is_shadow else settings.adopt,
        variables={key: settings.variables.get(key, key) for key in FIELDS},
        stage_variable=settings.stage_variable,
        now_variable=settings.now_variable,
        form_sources=settings.form_sources,
        form_nodes=frozenset(settings.form_nodes),
        resend_form=settings.resend_form,
        send_now=settings.send_now,
        pending_variables=settings.pending_variables,
        first_byte_s=settings.first_byte_seconds,
        idle_s=settings.idle_seconds,
        total_s=settings.total_seconds,
    )
    limits = httpx.Limits(max_connections=UPSTREAM_CONNECTIONS, max_keepalive_connections=100, keepalive_expiry=KEEP_ALIVE_SECONDS)
    async with AiohttpTransport(limits=limits) as transport:
        backend = FastGptBackend(config, transport, given.clock, namespace=given.namespace)
        yield backend
        await backend.aclose()


def chat_model(llm: LlmSettings) -> "OpenAiModel":
    """Raises MissingSetting."""
    from backends.langgraph.model.openai_model import OpenAiModel

    return OpenAiModel(
        base_url=_required(llm.base_url, "ZNJJ_LLM__BASE_URL"),
        api_key=_required(llm.api_key, "ZNJJ_LLM__API_KEY"),
        model=_required(llm.model, "ZNJJ_LLM__MODEL"),
        first_token_s=llm.first_token_seconds,
        total_s=llm.total_seconds,
        max_tokens=llm.max_tokens,
        tells_use=llm.tells_use,
        breaker_failures=llm.breaker_failures,
        breaker_open_s=llm.breaker_open_seconds,
    )


@asynccontextmanager
async def open_langgraph(given: Ingredients) -> AsyncGenerator[Backend]:
    from backends.langgraph.backend import LangGraphBackend
    from backends.langgraph.checkpoints import open_saver

    llm, database = given.settings.llm, given.database
    dsn, schema = (database.shadow_dsn, SHADOW) if given.namespace == "shadow" else (database.app_dsn, LANGGRAPH)
    model = chat_model(llm)
    await asyncio.to_thread(loose_time.warm)  # before the first turn, so that all turns are read alike
    async with open_saver(dsn, schema) as saver:
        backend = LangGraphBackend(model, saver, given.clock, on_invalid=given.settings.langgraph.on_invalid_prefix)
        yield backend
        await backend.aclose()


BUILDERS: Mapping[BackendName, Callable[[Ingredients], AbstractAsyncContextManager[Backend]]] = {
    BackendName.FASTGPT: open_fastgpt,
    BackendName.LANGGRAPH: open_langgraph,
}


@asynccontextmanager
async def open_backends(
    settings: Settings, database: Database, clock: Clock, namespace: Namespace
) -> AsyncGenerator[Mapping[BackendName, Backend]]:
    given = Ingredients(settings=settings, database=database, clock=clock, namespace=namespace)
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(build(given)) for name, build in BUILDERS.items()}
