"""The table of cells: where a turn is stopped, how, on which backend, asked for in which manner. Names are what --only matches."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

from tests.chaos.pg_wire import Moment
from tests.chaos.script import Kind

Backend = Literal["fastgpt", "langgraph"]
Identity = Literal["key", "event", "none"]
How = Literal["kill", "cancel", "hang_up", "pause", "cut"]
ANYWHERE = "anywhere"  # at a moment the seed draws, wherever the turn then is

BACKENDS: tuple[Backend, ...] = ("fastgpt", "langgraph")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`step` is a fail-point (wrappers.py), or a statement on the wire (WIRE_STEPS). `moment` says where in its exchange a statement is
    stopped; `dark`: the database then stays away for a while. `then`: the first retry is killed too, at that step."""

    backend: Backend
    stream: bool
    identity: Identity
    step: str
    how: How
    kind: Kind = "chat"
    moment: Moment | None = None
    dark: bool = False
    then: str = ""

    @property
    def name(self) -> str:
        manner = "stream" if self.stream else "json"
        how = f"cut_{self.moment}" if self.moment and self.how == "cut" else self.how
        parts = [self.backend, manner, self.identity, self.kind, self.step, how + ("_dark" if self.dark else "")]
        return "/".join([*parts, f"then_{self.then}"] if self.then else parts)


# A statement of the turn's path by what its text holds; `needle` in its arguments is the armed request's id, or the session's (open).
WIRE_STEPS = {
    "open_statement": "app.open_session",
    "commit_statement": "INSERT INTO app.accident_events",
    "checkpoint_statement": 'INSERT INTO "langgraph".checkpoints',
    "failure_statement": "VALUES ($1, $2, $3, $4, $5, $6, $7",
    "acknowledge_statement": "FROM lease\nRETURNING 1",
    "settle_statement": "INSERT INTO shadow.comparisons",
}

BEFORE_THE_MODEL = ("accepted", "parsed", "plan_read", "opened", "routed", "backend_next", "model_next")
TALKING = ("model_called", "stage_told", "first_text", "mid_text")
ENDING = ("reply_ended", "commit_next")
COMMITTED = ("committed", "lease_back", "before_done", "done_sent")
CHECKPOINT = ("checkpoint_next", "checkpoint_written")
CHAT_STEPS = (*BEFORE_THE_MODEL, *TALKING, *ENDING, *COMMITTED)


def _steps(backend: Backend) -> tuple[str, ...]:
    return CHAT_STEPS if backend == "fastgpt" else (*CHAT_STEPS, *CHECKPOINT)


def _identities() -> Iterator[Identity]:
    """Most partners retry with a key."""
    return cycle(("key", "key", "event", "key", "none"))


def _killed() -> Iterator[Cell]:
    identities = _identities()
    for backend in BACKENDS:
        for step in _steps(backend):
            for stream in (True, False):
                yield Cell(backend=backend, stream=stream, identity=next(identities), step=step, how="kill")
        for stream in (True, False):
            for identity in ("key", "event"):
                yield Cell(backend=backend, stream=stream, identity=identity, step="commit_statement", how="kill", moment="held")


def _cancelled() -> Iterator[Cell]:
    identities, manners = _identities(), cycle((True, True, False))
    for backend in BACKENDS:
        for step in _steps(backend):
            yield Cell(backend=backend, stream=next(manners), identity=next(identities), step=step, how="cancel")
        yield Cell(backend=backend, stream=True, identity="key", step="commit_statement", how="cancel", moment="held")


def _hung_up() -> Iterator[Cell]:
    identities = _identities()
    for backend in BACKENDS:
        steps = ("opened", *TALKING, *ENDING, *COMMITTED[:-1], *(CHECKPOINT if backend == "langgraph" else ()))
        for step in steps:
            yield Cell(backend=backend, stream=True, identity=next(identities), step=step, how="hang_up")
        yield Cell(backend=backend, stream=True, identity="key", step="commit_statement", how="hang_up", moment="held")
        yield Cell(backend=backend, stream=False, identity="key", step="model_called", how="hang_up")


def _overtaken() -> Iterator[Cell]:
    """The owner stands still for longer than its lease; the partner's retry is served elsewhere; then the owner goes on."""
    identities, manners = _identities(), cycle((True, False))
    for backend in BACKENDS:
        for step in ("opened", "model_next", "model_called", "mid_text", *ENDING, *(CHECKPOINT if backend == "langgraph" else ())):
            yield Cell(backend=backend, stream=next(manners), identity=next(identities), step=step, how="pause")


def _cut() -> Iterator[Cell]:
    identities = cycle(("key", "key", "event"))
    moments: tuple[Moment, ...] = ("before", "unsynced", "during", "after")
    for backend in BACKENDS:
        for moment in moments:
            for stream, dark in ((True, False), (False, False), (True, True)):
                yield Cell(
                    backend=backend, stream=stream, identity=next(identities), step="commit_statement", how="cut", moment=moment, dark=dark
                )
        for moment in ("before", "after"):
            yield Cell(backend=backend, stream=True, identity="key", step="open_statement", how="cut", moment=moment)
            yield Cell(backend=backend, stream=False, identity="none", step="commit_statement", how="cut", moment=moment)
    for moment in ("before", "after"):
        yield Cell(backend="langgraph", stream=True, identity="key", step="checkpoint_statement", how="cut", moment=moment)


def _other_turns() -> Iterator[Cell]:
    for backend in BACKENDS:
        for step in ("opened", "commit_next", "committed", "before_done"):
            yield Cell(backend=backend, stream=False, identity="key", step=step, how="kill", kind="write")
        yield Cell(backend=backend, stream=False, identity="key", step="commit_statement", how="kill", kind="write", moment="held")
        yield Cell(backend=backend, stream=False, identity="key", step="commit_statement", how="cut", kind="write", moment="after")
        yield Cell(backend=backend, stream=True, identity="key", step="commit_statement", how="kill", kind="silence", moment="held")
        yield Cell(backend=backend, stream=True, identity="key", step="reply_ended", how="kill", kind="silence")
    for step in ("acknowledge_next", "acknowledged"):
        yield Cell(backend="langgraph", stream=False, identity="key", step=step, how="kill", kind="same_write")
    for moment in ("before", "after"):
        yield Cell(
            backend="langgraph", stream=False, identity="key", step="acknowledge_statement", how="cut", kind="same_write", moment=moment
        )


def _twice() -> Iterator[Cell]:
    """Killed, and killed again while it recovers; killed while a failure is being written down."""
    for backend in BACKENDS:
        for step, then in (
            ("model_called", "opened"),
            ("commit_next", "model_called"),
            ("committed", "opened"),
            ("first_text", "committed"),
        ):
            yield Cell(backend=backend, stream=True, identity="key", step=step, how="kill", then=then)
        for step in ("fail_next", "failed"):
            yield Cell(backend=backend, stream=True, identity="key", step=step, how="kill", moment="before")


def _anywhere() -> Iterator[Cell]:
    """Where nobody thought of a step."""
    identities = _identities()
    ways: tuple[How, ...] = ("kill", "cancel", "hang_up", "cut")
    for backend in BACKENDS:
        for how in ways:
            for stream in (True, False):
                yield Cell(backend=backend, stream=stream, identity=next(identities), step=ANYWHERE, how=how, dark=how == "cut")


SHADOW_STEPS = ("take_next", "taken", "backend_next", "reply_ended", "settle_next", "settled", "give_back_next")


def _shadow_worker() -> Iterator[Cell]:
    """The turns are good; what happens, happens to the worker that replays them."""
    moments: tuple[Moment, ...] = ("before", "unsynced", "during", "after")
    for backend in BACKENDS:
        for step in SHADOW_STEPS:
            yield Cell(backend=backend, stream=False, identity="key", kind="shadow", step=step, how="kill")
        for step in ("taken", "reply_ended", "settle_next"):
            yield Cell(backend=backend, stream=False, identity="key", kind="shadow", step=step, how="pause")
        yield Cell(backend=backend, stream=False, identity="key", kind="shadow", step="settle_statement", how="kill", moment="held")
        for moment in moments:
            yield Cell(backend=backend, stream=False, identity="key", kind="shadow", step="settle_statement", how="cut", moment=moment)


CELLS: tuple[Cell, ...] = (
    *_killed(), *_cancelled(), *_hung_up(), *_overtaken(), *_cut(), *_other_turns(), *_twice(), *_anywhere(),
    *_shadow_worker(),
)  # fmt: skip
