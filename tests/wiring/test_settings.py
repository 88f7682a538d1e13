"""Settings are strict where it matters, and secrets never show."""

import pytest
from pydantic import ValidationError

from domain.backend_name import BackendName
from wiring.database import MissingDsn, open_database
from wiring.local_secrets import secret_or_local
from wiring.settings import Settings

pytestmark = pytest.mark.unit

PRODUCTION = {
    "ZNJJ_ENVIRONMENT": "production",
    "ZNJJ_DATABASE__DSN": "postgresql+asyncpg://app:db-secret@db/x",
    "ZNJJ_AUTH__KEY_PEPPER": "pepper-secret",
    "ZNJJ_FASTGPT__BASE_URL": "https://fastgpt.internal",
    "ZNJJ_FASTGPT__API_KEY": "fastgpt-secret",
    "ZNJJ_FASTGPT__CHAT_SECRET": "chat-secret",
    "ZNJJ_LLM__BASE_URL": "https://llm.internal/v1",
    "ZNJJ_LLM__API_KEY": "llm-secret",
    "ZNJJ_LLM__MODEL": "m",
}


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    import os

    for name in list(os.environ):
        if name.startswith("ZNJJ_") or name in ("AGENT_BACKEND", "LANGGRAPH_SHADOW_ENABLED", "OTEL_ENABLED"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_production_starts_with_everything_given_and_nothing_made_up(monkeypatch):
    for name, value in PRODUCTION.items():
        monkeypatch.setenv(name, value)
    assert Settings().is_production


@pytest.mark.parametrize("missing", [name for name in PRODUCTION if name != "ZNJJ_ENVIRONMENT"])
def test_production_names_what_is_missing_and_shows_no_value(monkeypatch, missing):
    for name, value in PRODUCTION.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError, match=missing) as refused:
        Settings()
    assert "secret" not in str(refused.value).replace("made-up secrets", "").replace("CHAT_SECRET", "")


def test_production_wants_a_role_for_each_job(monkeypatch):
    for name, value in PRODUCTION.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MissingDsn, match="SHADOW_DSN"), open_database(Settings()):
        pass


def test_the_three_switches_keep_their_short_names(monkeypatch):
    assert (Settings().agent_backend, Settings().shadow_enabled, Settings().otel_enabled) == (None, True, False)
    monkeypatch.setenv("AGENT_BACKEND", "langgraph")
    monkeypatch.setenv("LANGGRAPH_SHADOW_ENABLED", "false")
    monkeypatch.setenv("OTEL_ENABLED", "true")
    assert (Settings().agent_backend, Settings().shadow_enabled, Settings().otel_enabled) == (BackendName.LANGGRAPH, False, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("AGENT_BACKEND", "both"), ("ZNJJ_SERVER__PORT", "70000"), ("ZNJJ_LLM__UNKNOWN", "x"), ("ZNJJ_SESSION__LEASE_SECONDS", "0")],
)
def test_a_wrong_value_or_a_misspelt_name_stops_the_start(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        Settings()


def test_a_secret_does_not_show_itself(monkeypatch):
    for name, value in PRODUCTION.items():
        monkeypatch.setenv(name, value)
    shown = repr(Settings()) + str(Settings().model_dump())
    for secret in ("db-secret", "pepper-secret", "fastgpt-secret", "chat-secret", "llm-secret"):
        assert secret not in shown


def test_a_local_secret_is_made_once_and_is_its_owners_alone(tmp_path):
    made = secret_or_local(None, tmp_path / "state", "pepper")
    assert secret_or_local(None, tmp_path / "state", "pepper") == made
    assert (tmp_path / "state" / "pepper").stat().st_mode & 0o777 == 0o600
