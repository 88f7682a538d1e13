"""Which database, and as whom: a DSN for each role, from the settings or from an embedded server that this process holds."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from storage.embedded import EmbeddedPostgres
from storage.engine import plain_dsn
from storage.roles import Role
from wiring.settings import Settings


class MissingDsn(Exception):
    """Production does not let one role do another's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """`admin_dsn` may create roles (and, embedded, the database): None when the operator did that."""

    app_dsn: str
    migrator_dsn: str
    shadow_dsn: str
    reader_dsn: str
    admin_dsn: str
    embedded: EmbeddedPostgres | None = None
    name: str = ""


@contextmanager
def open_database(settings: Settings) -> Generator[Database]:
    """Starts the embedded server when no DSN is set, and lets go of it at the end. Raises MissingDsn."""
    if settings.database.dsn is not None:
        yield _configured(settings, settings.database.dsn)
        return
    server = EmbeddedPostgres(settings.database.data_dir.resolve())
    try:
        yield embedded_database(server, settings.database.name)
    finally:
        server.close()


def embedded_database(server: EmbeddedPostgres, name: str) -> Database:
    return Database(
        app_dsn=server.dsn(user=Role.APP, database=name),
        migrator_dsn=server.dsn(user=Role.MIGRATOR, database=name),
        shadow_dsn=server.dsn(user=Role.SHADOW, database=name),
        reader_dsn=server.dsn(user=Role.READER, database=name),
        admin_dsn=server.dsn(database=name),
        embedded=server,
        name=name,
    )


def _configured(settings: Settings, app: SecretStr) -> Database:
    database = settings.database
    given = {"MIGRATOR_DSN": database.migrator_dsn, "SHADOW_DSN": database.shadow_dsn, "READER_DSN": database.reader_dsn}
    missing = [f"ZNJJ_DATABASE__{name}" for name, dsn in given.items() if dsn is None]
    if settings.is_production and missing:
        raise MissingDsn(f"production needs {', '.join(missing)}: one role must not do another's work")
    dsns = {name: plain_dsn((dsn or app).get_secret_value()) for name, dsn in given.items()}
    return Database(
        app_dsn=plain_dsn(app.get_secret_value()),
        migrator_dsn=dsns["MIGRATOR_DSN"],
        shadow_dsn=dsns["SHADOW_DSN"],
        reader_dsn=dsns["READER_DSN"],
        admin_dsn=dsns["MIGRATOR_DSN"],
    )
