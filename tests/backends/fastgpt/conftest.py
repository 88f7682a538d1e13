"""What every test of the FastGPT room starts from. Time stands at half past three in the afternoon in Shanghai."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backends.fastgpt.config import FastGptConfig
from domain.session import SessionState
from domain.stages import StageCode
from domain.turn import Turn, UserMessage

GOLDEN = Path(__file__).parents[2] / "golden" / "fastgpt"
NOW = datetime(2026, 7, 27, 7, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    status: int
    chunks: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


@pytest.fixture(scope="session")
def recording() -> Callable[[str], Recording]:
    """A recorded exchange with a real server, by `<era>/NN-name`."""

    def read(name: str) -> Recording:
        row = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
        return Recording(status=row["status"], chunks=[base64.b64decode(chunk["b64"]) for chunk in row["chunks"]])

    return read


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def make_config() -> Callable[..., FastGptConfig]:
    """The names are those of the recorded workflows."""

    def make(**changes: Any) -> FastGptConfig:
        given: dict[str, Any] = {
            "base_url": "http://fastgpt.test",
            "api_key": "fastgpt-made-up-key",
            "chat_secret": "made-up-secret",
            "app_id": "app-1",
            "recovery_s": 0.05,
            "variables": {"hphm1": "plateNo", "ywrysw": "injured", "sgyy": "accidentType"},
        }
        return FastGptConfig(**(given | changes))

    return make


@pytest.fixture
def session() -> SessionState:
    return SessionState(stage=StageCode.COLLECTING, version=3)


@pytest.fixture
def make_turn() -> Callable[..., Turn]:
    def make(text: str = "车牌京A12345", **changes: Any) -> Turn:
        given: dict[str, Any] = {
            "tenant_id": "tenant-1",
            "client_id": "client-1",
            "session_id": "session-1",
            "turn_id": "turn-1",
            "event_id": "event-1",
            "text": text,
            "event": UserMessage(text),
            "received_at": NOW,
        }
        return Turn(**(given | changes))

    return make
