"""Turn logs and traces on. Called once per process by wiring; libraries and rooms only ask for a logger or a tracer."""

import logging
import sys
from collections.abc import Callable
from typing import Any

import orjson
import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from telemetry.redaction import describe, frames_without_messages, redact


class _NamesOnly(logging.Formatter):
    """For the libraries' own loggers: who complains and where it broke. Their messages, and their exceptions', quote what they handle."""

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the standard library's name
        return "\n".join(describe(ei[1])) if ei[1] is not None else ""


def set_up_logging(*, level: str, as_json: bool) -> None:
    """One line an event on stderr: stdout belongs to a command's data."""
    renderer: Any = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    factory: Any = structlog.PrintLoggerFactory(sys.stderr)
    if as_json:  # bytes straight to the file: the line a turn writes is on the turn's path
        renderer = structlog.processors.JSONRenderer(serializer=_json_line)
        factory = structlog.BytesLoggerFactory(sys.stderr.buffer)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_trace_id,
            frames_without_messages,
            redact,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_NamesOnly("%(levelname)s %(name)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _json_line(event: Any, **_options: Any) -> bytes:
    return orjson.dumps(event, default=repr)


def _add_trace_id(_logger: object, _method: str, event: Any) -> Any:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = f"{context.trace_id:032x}"
    return event


def set_up_tracing(*, exporter: str, service: str, sample_ratio: float) -> Callable[[], None]:
    """`exporter`: none or console. Returns what flushes and ends it. Without an exporter no span is recorded and none costs anything."""
    if exporter == "none":
        return lambda: None
    provider = TracerProvider(resource=Resource.create({"service.name": service}), sampler=ParentBased(TraceIdRatioBased(sample_ratio)))
    provider.add_span_processor(
        BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n"))
    )
    trace.set_tracer_provider(provider)
    return provider.shutdown
