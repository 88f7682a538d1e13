"""What every long-running command does around its work: settings, logs, traces, a watch on its parent, a database."""

from collections.abc import Generator
from contextlib import contextmanager

from telemetry.setup import set_up_logging, set_up_tracing
from wiring.database import Database, open_database
from wiring.processes import end_with_stdin
from wiring.settings import Settings


@contextmanager
def service(name: str, *, exit_with_stdin: bool) -> Generator[tuple[Settings, Database]]:
    settings = Settings()
    observability = settings.observability
    set_up_logging(level=observability.log_level, as_json=observability.log_format == "json")
    end_tracing = set_up_tracing(
        exporter=observability.trace_exporter if settings.otel_enabled else "none", service=name, sample_ratio=observability.trace_ratio
    )
    if exit_with_stdin:
        end_with_stdin()
    try:
        with open_database(settings) as database:
            yield settings, database
    finally:
        end_tracing()
