"""Every setting, read once, frozen. Prefix ZNJJ_, nested names after a double underscore (ZNJJ_LLM__MODEL=…), from the environment or .env.

Three switches keep the short names that operators know: AGENT_BACKEND, LANGGRAPH_SHADOW_ENABLED, OTEL_ENABLED. Without a DSN, a FastGPT or
a model address the process runs on what it brings along (embedded PostgreSQL, simulators started by the demo); production refuses that.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from domain.backend_name import BackendName
from domain.handoff_reason import HandoffReason
from domain.policy import ADMISSIBLE, Policy

FormSource = Literal["variables", "extract", "code", "http", "plugin", "form_input", "form_block"]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DatabaseSettings(_Section):
    dsn: SecretStr | None = None  # the app role; unset: the embedded server
    migrator_dsn: SecretStr | None = None  # unset outside production: dsn
    shadow_dsn: SecretStr | None = None
    reader_dsn: SecretStr | None = None
    name: str = Field(default="crossfade", pattern=r"^[a-z_][a-z0-9_]{0,62}$")  # embedded server only
    data_dir: Path = Path(".crossfade/postgres")  # embedded server only
    pool_size: int = Field(default=10, ge=1, le=100)


class AuthSettings(_Section):
    key_pepper: SecretStr | None = None  # keys the hashes of API keys; unset outside production: made once, kept in state_dir


class SessionSettings(_Section):
    lease_seconds: float = Field(default=150.0, gt=0)  # above the longest turn of any backend
    wait_seconds: float = Field(default=5.0, ge=0)  # how long a second turn waits for the first
    keep_replies_hours: float = Field(default=24.0, gt=0)


class FastGptSettings(_Section):
    base_url: str | None = None
    api_key: SecretStr | None = None
    app_id: str | None = None
    shadow_api_key: SecretStr | None = None  # unset: api_key; an app of its own keeps replays out of the live app's statistics
    shadow_app_id: str | None = None
    shadow_base_url: str | None = None  # unset: base_url
    chat_secret: SecretStr | None = None  # makes chat ids unguessable; unset outside production: made once
    api: Literal["v1", "v2"] = "v1"
    chat_id_template: str = "{prefix}{digest}"  # holds {digest}; may hold {prefix} {tenant} {session}
    adopt: dict[str, str] = {}  # tenant → how its chats were named before this proxy, as "{session}": those conversations are taken over
    write_chat: str | None = None  # compatibility: said in the session's chat when a field is written; its records are deleted afterwards
    variables: dict[str, str] = {}  # field key → the workflow's name for it, where they differ
    stage_variable: str = "stage_code"
    now_variable: str = "now"
    form_sources: tuple[FormSource, ...] = ("variables", "extract")  # the earlier one wins, field by field
    form_nodes: tuple[str, ...] = ()  # take node results from these node ids only; empty: from any
    resend_form: Literal["always", "never"] = "always"
    send_now: bool = False  # pass the turn's receive time as a variable, for workflows that declare it
    pending_variables: dict[str, str] = {}
    first_byte_seconds: float = Field(default=45.0, gt=0)
    idle_seconds: float = Field(default=45.0, gt=0)
    total_seconds: float = Field(default=120.0, gt=0)


class LlmSettings(_Section):
    base_url: str | None = None
    api_key: SecretStr | None = None
    model: str | None = None
    first_token_seconds: float = Field(default=5.0, gt=0)
    total_seconds: float = Field(default=20.0, gt=0)
    max_tokens: int = Field(default=512, ge=64)
    tells_use: bool = True  # ask the service for its token counts; off for one that refuses the option
    breaker_failures: int = Field(default=5, ge=1)  # in a row, before nobody waits for the model any more
    breaker_open_seconds: float = Field(default=10.0, gt=0)


class LangGraphSettings(_Section):
    on_invalid_prefix: Literal["error", "handoff", "error_then_handoff"] = "error_then_handoff"


class RolloutSettings(_Section):
    poll_seconds: float = Field(default=1.0, gt=0)


class ShadowSettings(_Section):
    lanes: int = Field(default=4, ge=1, le=64)
    idle_seconds: float = Field(default=0.5, gt=0)
    claim_seconds: float = Field(default=300.0, gt=0)  # above the longest replay of one session's pending turns


class ServerSettings(_Section):
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    shutdown_seconds: float = Field(default=10.0, gt=0)


class ObservabilitySettings(_Section):
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    trace_exporter: Literal["none", "console"] = "console"
    trace_ratio: float = Field(default=1.0, ge=0, le=1)


class EligibilitySettings(_Section):
    """What the online flow takes on itself (domain/policy.py)."""

    admits: frozenset[HandoffReason] = frozenset()
    max_age_hours: float = Field(default=24, gt=0, le=24 * 30)
    heavy_vehicles: bool = False
    expressway_hands_over: bool = False

    @field_validator("admits")
    @classmethod
    def _only_what_may_be_admitted(cls, reasons: frozenset[HandoffReason]) -> frozenset[HandoffReason]:
        if never := sorted(reasons - ADMISSIBLE):
            raise ValueError(f"always needs a person: {', '.join(never)}")
        return reasons


def _given(section: str, settings: _Section, *names: str) -> dict[str, Any]:
    """Settings by the name an operator knows them by."""
    return {f"ZNJJ_{section}__{name.upper()}": getattr(settings, name) for name in names}


class Settings(BaseSettings):
    """Raises pydantic.ValidationError; its messages name settings, not values."""

    model_config = SettingsConfigDict(
        env_prefix="ZNJJ_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    environment: Literal["development", "test", "staging", "production"] = "development"
    agent_backend: BackendName | None = Field(default=None, validation_alias=AliasChoices("AGENT_BACKEND", "agent_backend"))
    shadow_enabled: bool = Field(default=True, validation_alias=AliasChoices("LANGGRAPH_SHADOW_ENABLED", "shadow_enabled"))
    otel_enabled: bool = Field(default=False, validation_alias=AliasChoices("OTEL_ENABLED", "otel_enabled"))
    state_dir: Path = Path(".crossfade")

    database: DatabaseSettings = DatabaseSettings()
    auth: AuthSettings = AuthSettings()
    session: SessionSettings = SessionSettings()
    fastgpt: FastGptSettings = FastGptSettings()
    llm: LlmSettings = LlmSettings()
    langgraph: LangGraphSettings = LangGraphSettings()
    rollout: RolloutSettings = RolloutSettings()
    shadow: ShadowSettings = ShadowSettings()
    server: ServerSettings = ServerSettings()
    observability: ObservabilitySettings = ObservabilitySettings()
    eligibility: EligibilitySettings = EligibilitySettings()

    @property
    def policy(self) -> Policy:
        return Policy(**self.eligibility.model_dump())

    @property
    def is_production(self) -> bool:
        return self.environment == "production"

    @model_validator(mode="after")
    def _production_has_no_defaults(self) -> Self:
        if self.is_production:
            needed: dict[str, Any] = {
                "ZNJJ_DATABASE__DSN": self.database.dsn,
                "ZNJJ_AUTH__KEY_PEPPER": self.auth.key_pepper,
                **_given("FASTGPT", self.fastgpt, "base_url", "api_key", "chat_secret"),
                **_given("LLM", self.llm, "base_url", "api_key", "model"),
            }
            missing = [name for name, value in needed.items() if value is None]
            if missing:
                raise ValueError(f"production needs {', '.join(missing)}: embedded servers, simulators and made-up secrets are refused")
        return self
