"""Secrets of a developer's machine: made once, kept in the state folder, readable by their owner only. Production brings its own."""

import os
import secrets
from pathlib import Path

from pydantic import SecretStr


def secret_or_local(given: SecretStr | None, state_dir: Path, name: str) -> str:
    """The given secret, else the one in `state_dir/name`, made now if need be; two processes that race agree on one."""
    if given is not None:
        return given.get_secret_value()
    state_dir.mkdir(parents=True, exist_ok=True)
    path = state_dir / name
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return _written(path)
    with os.fdopen(descriptor, "w") as file:
        made = secrets.token_urlsafe(32)
        file.write(made)
    return made


def _written(path: Path) -> str:
    """Its maker may be between creating and writing it."""
    for _ in range(1000):
        if text := path.read_text():
            return text
    raise RuntimeError(f"{path} is empty: delete it")
