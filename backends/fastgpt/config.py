"""What the FastGPT adapter must be told, free of where it is read from.
Secrets never show in a repr; a wrong combination is refused when the value is made, not at the first turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Literal

from domain.fields import FIELDS

FormSource = Literal["variables", "extract", "code", "http", "plugin", "form_input", "form_block"]


def _same_names() -> dict[str, str]:
    return {key: key for key in FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class FastGptConfig:
    """`base_url` may end at the host, at /api or at /api/v1: all mean the same server.

    `variables` maps our field keys to the names the workflow uses, in its global variables as in its node results; fields that are not
    listed stay unknown to this backend. `form_nodes` limits node results to those node ids; empty: any node.
    `chat_id_template` holds {digest} and may hold {prefix}, {tenant}, {session}. `adopt` says how chats were named before this proxy stood
    in front, tenant by tenant: only those tenants' conversations are looked for, once each, and taken over where they are.
    """

    base_url: str
    api_key: str = field(repr=False)
    chat_secret: str = field(repr=False)
    app_id: str | None = None
    api: Literal["v1", "v2"] = "v1"
    build: str = "fastgpt"

    chat_id_template: str = "{prefix}{digest}"
    chat_id_prefix: str = "cf-"

    variables: Mapping[str, str] = field(default_factory=_same_names)
    stage_variable: str = "stage_code"
    now_variable: str = "now"
    pending_variables: Mapping[str, str] = field(default_factory=dict[str, str])  # key of the stored dialogue → variable, shadow only
    adopt: Mapping[str, str] = field(default_factory=dict[str, str])  # tenant → where its chats from before our time are: "{session}"
    write_chat: str | None = None  # said in the session's chat when a field is written, as old workflows want it; both records are deleted
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])  # sent with every call
    send_now: bool = False  # live calls too
    resend_form: Literal["always", "never"] = "always"
    form_sources: tuple[FormSource, ...] = ("variables", "extract")  # the earlier one wins, field by field
    form_nodes: frozenset[str] = frozenset()

    connect_s: float = 5.0
    first_byte_s: float = 45.0  # from sending the request to the first byte of the body
    idle_s: float = 45.0  # between two bytes; FastGPT's heartbeat comes every 10 s
    total_s: float = 120.0
    tail_s: float = 5.0  # after the stop chunk only node records are still to come
    short_call_s: float = 5.0  # deletion, probe, one look at what is stored
    recovery_s: float = 8.0  # reading a lost answer back, all looks together

    def __post_init__(self) -> None:
        """Raises ValueError: a key that no form field has, a time that is not positive, or a template that can't be filled."""
        unknown = set(self.variables) - set(FIELDS)
        if unknown:
            raise ValueError(f"variables name no form field: {', '.join(sorted(unknown))}")
        times = (self.connect_s, self.first_byte_s, self.idle_s, self.total_s, self.tail_s, self.short_call_s, self.recovery_s)
        if min(times) <= 0:
            raise ValueError("every time limit must be above zero")
        try:
            self.chat_id_template.format(prefix="", digest="", tenant="", session="")
            parts = {name for _, name, _, _ in Formatter().parse(self.chat_id_template)}
        except (LookupError, ValueError) as error:
            raise ValueError("chat_id_template knows {prefix}, {digest}, {tenant} and {session} only") from error
        if "digest" not in parts:
            raise ValueError("chat_id_template must hold {digest}: ids made of tenant and session alone can be guessed, and can collide")
        for tenant, template in self.adopt.items():
            try:
                template.format(session="")
                holds = {name for _, name, _, _ in Formatter().parse(template)} - {None}
            except (LookupError, ValueError) as error:
                raise ValueError(f"adopt.{tenant} knows {{session}} only") from error
            if holds != {"session"}:
                raise ValueError(f"adopt.{tenant} must hold {{session}}")

    @property
    def root_url(self) -> str:
        """Scheme and host (and any path in front of FastGPT), without the API part and without a slash at the end."""
        root = self.base_url.strip().rstrip("/")
        for tail in ("/chat/completions", "/v1", "/v2", "/api"):
            root = root.removesuffix(tail).rstrip("/")
        return root

    @property
    def completions_url(self) -> str:
        return f"{self.root_url}/api/{self.api}/chat/completions"

    @property
    def authorization(self) -> str:
        """FastGPT splits the header at its first space, so a key without the word Bearer is refused."""
        return f"Bearer {self.api_key.strip().removeprefix('Bearer ').strip()}"
