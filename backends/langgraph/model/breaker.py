"""A circuit breaker in front of the model: after failures in a row nobody waits for a dead service, and one call at a time tries it again.

The states and their counting are purgatory's. Two things are ours, because its context manager knows them differently: a caller who hangs
up is neither a failure nor a success, and while the circuit is half open only one call may find out.
"""

from purgatory import SyncCircuitBreakerFactory
from purgatory.domain.model import HALF_OPENED, Context, OpenedState

from domain.errors import BackendError, FailureKind

_CIRCUIT = "model"
# A refusal for its content or its key says nothing about whether the service is alive; neither does a reply without a word.
_SPEAKS_OF_HEALTH = frozenset(
    {FailureKind.TIMEOUT, FailureKind.UNREACHABLE, FailureKind.INTERRUPTED, FailureKind.REFUSED, FailureKind.MALFORMED}
)


class Breaker:
    """`failures` in a row open it for `open_s` seconds."""

    def __init__(self, *, failures: int, open_s: float) -> None:
        self._context: Context = SyncCircuitBreakerFactory(failures, open_s).get_breaker(_CIRCUIT).context
        self._is_trying = False

    @property
    def state(self) -> str:
        """closed, opened or half-opened."""
        return self._context.state

    def admit(self) -> "Admission":
        """Raises BackendError UNREACHABLE at once while the circuit is open."""
        try:
            self._context.handle_new_request()
        except OpenedState:
            raise BackendError(FailureKind.UNREACHABLE, "model circuit open") from None
        is_trial = self._context.state == HALF_OPENED
        if is_trial and self._is_trying:
            raise BackendError(FailureKind.UNREACHABLE, "model circuit half open")
        self._is_trying = self._is_trying or is_trial
        return Admission(self, is_trial=is_trial)

    def settle(self, kind: FailureKind | None, *, is_trial: bool, is_abandoned: bool) -> None:
        """What one call taught. `kind` None: the service answered."""
        if is_trial:
            self._is_trying = False
        if is_abandoned:
            return
        if not is_trial and self._context.state == HALF_OPENED:
            return  # it began before the circuit opened: only the trial says how things are now
        if kind in _SPEAKS_OF_HEALTH:
            self._context.handle_exception(BackendError(kind or FailureKind.INTERNAL))
        else:
            self._context.handle_end_request()
        self._context.messages.clear()  # for stores shared by processes; ours is this process


class Admission:
    """One call that was let through. Its end is told once; what is told after that changes nothing."""

    __slots__ = ("_breaker", "_is_over", "_is_trial")

    def __init__(self, breaker: Breaker, *, is_trial: bool) -> None:
        self._breaker = breaker
        self._is_trial = is_trial
        self._is_over = False

    def failed(self, kind: FailureKind) -> None:
        self._end(kind, is_abandoned=False)

    def close(self, *, is_alive: bool) -> None:
        """The call is over, read to its end or not. `is_alive`: the service had begun to answer; without that nothing was learnt."""
        self._end(None, is_abandoned=not is_alive)

    def _end(self, kind: FailureKind | None, *, is_abandoned: bool) -> None:
        if not self._is_over:
            self._is_over = True
            self._breaker.settle(kind, is_trial=self._is_trial, is_abandoned=is_abandoned)
