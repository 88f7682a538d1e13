"""The backends that can serve a turn. A new backend adds its line here and one in wiring/backends.py."""

from enum import StrEnum


class BackendName(StrEnum):
    FASTGPT = "fastgpt"
    LANGGRAPH = "langgraph"

    @property
    def other(self) -> "BackendName":
        """The backend that shadows this one."""
        return BackendName.LANGGRAPH if self is BackendName.FASTGPT else BackendName.FASTGPT
