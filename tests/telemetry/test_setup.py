"""Logs and traces go to stderr, as JSON lines without a person's data; without an exporter nothing is recorded."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

SCRIPT = """
import structlog
from opentelemetry import trace
from telemetry.setup import set_up_logging, set_up_tracing

set_up_logging(level="info", as_json=True)
end = set_up_tracing(exporter="{exporter}", service="crossfade-test", sample_ratio=1.0)
log = structlog.get_logger("x")
with trace.get_tracer("t").start_as_current_span("turn", attributes={{"backend": "fastgpt"}}):
    log.info("turn_served", note="13800138000")
    log.debug("not_told")
    try:
        raise ValueError("13800138000")
    except ValueError:
        log.exception("turn_broke")
end()
"""


def lines(exporter: str) -> list[dict[str, object]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(exporter=exporter)], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "13800138000" not in done.stderr
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_traced_turn_is_a_span_and_its_log_lines_carry_its_trace():
    served, broke, span = lines("console")
    assert (served["event"], broke["event"], span["name"]) == ("turn_served", "turn_broke", "turn")
    assert span["attributes"] == {"backend": "fastgpt"}
    assert span["context"]["trace_id"] == f"0x{served['trace_id']}" == f"0x{broke['trace_id']}"
    assert broke["exception"][0].startswith("ValueError at ")


def test_without_an_exporter_there_is_no_span_and_no_trace_id():
    served, broke = lines("none")
    assert "trace_id" not in served
    assert broke["event"] == "turn_broke"
