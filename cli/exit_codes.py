"""The exit codes of every command: bad news and a broken tool are told apart."""

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    CONFLICT = 5
    UNREACHABLE = 6
    BREACHED = 10
