"""What the newest release refuses before a workflow starts: a second call on a chat whose answer is being made, too many calls."""

from collections import deque
from collections.abc import Callable

from sim.fastgpt.auth import Refusal

SECONDS = 60


class ChatGenerating(Refusal):
    @property
    def message(self) -> str:
        return "common:code_error.chat_error.chat_generating"


GENERATING = ChatGenerating(code=504001, status_text="chatIsGenerating")


class Limits:
    """`per_minute` None: no limit. `now` in seconds, monotonic."""

    def __init__(self, *, locks_chats: bool, per_minute: int | None, now: Callable[[], float]) -> None:
        self._locks_chats = locks_chats
        self._per_minute = per_minute
        self._now = now
        self._busy: set[str] = set()
        self._calls: deque[float] = deque()

    def take(self, chat_id: str) -> bool:
        """False: the chat is busy. True must be followed by `give_back`."""
        if not self._locks_chats:
            return True
        if chat_id in self._busy:
            return False
        self._busy.add(chat_id)
        return True

    def give_back(self, chat_id: str) -> None:
        self._busy.discard(chat_id)

    def too_many(self) -> str | None:
        """The refusal's message, or None when this call may go on; counts it then."""
        if self._per_minute is None:
            return None
        now = self._now()
        while self._calls and self._calls[0] <= now - SECONDS:
            self._calls.popleft()
        if len(self._calls) >= self._per_minute:
            wait = max(1, round(self._calls[0] + SECONDS - now))
            return (
                f"Rate limit exceeded. Maximum {self._per_minute} requests per {SECONDS} seconds for this team. "
                f"Please try again in {wait} seconds."
            )
        self._calls.append(now)
        return None
