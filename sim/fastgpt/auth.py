"""Who may call: the Authorization header read the way the real server reads it. Pure.

The part after the first space is the key. It is split on `-`: two parts are a key, three are prefix-key-appId, anything else is refused.
A key this server was started with is taken as it stands first, so that readable demo keys with more hyphens work too.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An entry of the server's error table."""

    code: int
    status_text: str
    clears_cookie: bool = False

    @property
    def message(self) -> str:
        return f"common:code_error.error_message.{self.code}"


UNAUTHORISED = Refusal(code=403, status_text="unAuthorization", clears_cookie=True)
UNKNOWN_KEY = Refusal(code=514, status_text="unAuthApiKey")


def refusal_of(header: str | None, keys: frozenset[str]) -> Refusal | None:
    """None when the header names a known key."""
    _, separator, token = (header or "").partition(" ")
    token = token.strip()
    if not separator or not token:
        return UNAUTHORISED
    if token in keys:
        return None
    parts = token.split("-")
    if len(parts) not in (2, 3):
        return UNAUTHORISED
    return None if "-".join(parts[:2]) in keys else UNKNOWN_KEY
