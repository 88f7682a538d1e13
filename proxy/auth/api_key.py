"""API keys: `cfk_<key id>_<secret>`. Only a keyed hash of the secret is stored; the pepper that keys it is not in the database.

A verified key is remembered for a second, so that a turn costs no lookup and a disabled key is refused within that second.
"""

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from contract.ports import Client, ClientDirectory, Clock
from domain.errors import ErrorType, Refusal

REMEMBER_MS = 1_000.0
REMEMBER_KEYS = 10_000
_SHAPE = re.compile(r"cfk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class NewKey:
    key: str  # shown once, stored nowhere
    key_id: str
    secret_hash: str


def hash_secret(pepper: str, key_id: str, secret: str) -> str:
    """The key id is part of the message: a hash copied to another row opens nothing."""
    return hmac.new(pepper.encode(), f"{key_id}:{secret}".encode(), hashlib.sha256).hexdigest()


def new_key(pepper: str) -> NewKey:
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return NewKey(key=f"cfk_{key_id}_{secret}", key_id=key_id, secret_hash=hash_secret(pepper, key_id, secret))


class ApiKeyAuth:
    def __init__(self, directory: ClientDirectory, clock: Clock, *, pepper: str) -> None:
        self._directory = directory
        self._clock = clock
        self._pepper = pepper
        self._known: OrderedDict[str, tuple[Client, float]] = OrderedDict()

    async def client(self, api_key: str | None, authorization: str | None) -> Client:
        """The caller of a request from its X-API-Key or `Authorization: Bearer` header.

        Raises Refusal(AUTHENTICATION_FAILED), the same for a missing, unknown, wrong, disabled or expired key; StoreUnavailable.
        """
        presented = api_key or _bearer(authorization)
        match = _SHAPE.fullmatch(presented or "")
        if match is None:
            raise Refusal(ErrorType.AUTHENTICATION_FAILED)
        key_id, digest = match[1], hash_secret(self._pepper, match[1], match[2])
        known = self._known.get(digest)
        if known is not None and self._clock.monotonic_ms() < known[1]:
            return known[0]
        return await self._verified(key_id, digest)

    async def _verified(self, key_id: str, digest: str) -> Client:
        self._known.pop(digest, None)
        found = await self._directory.find(key_id)
        if found is None or not hmac.compare_digest(found[1], digest):
            raise Refusal(ErrorType.AUTHENTICATION_FAILED)
        self._known[digest] = found[0], self._clock.monotonic_ms() + REMEMBER_MS
        if len(self._known) > REMEMBER_KEYS:
            self._known.popitem(last=False)
        return found[0]


def _bearer(authorization: str | None) -> str | None:
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def require_scope(client: Client, scope: str) -> None:
    """Raises Refusal(PERMISSION_DENIED)."""
    if scope not in client.scopes:
        raise Refusal(ErrorType.PERMISSION_DENIED)
