"""What must not reach a log line does not."""

import pytest

from telemetry.redaction import MASK, describe, frames_without_messages, redact, redact_text

pytestmark = [pytest.mark.unit, pytest.mark.security]

SECRETS = ("13800138000", "11010519491231002X", "34052419800101001x", "京A12345", "粤BD12345", "cfk_0123456789ab_" + "s" * 43)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "号码{}。", "value={!r}", "a {} b"])
def test_numbers_plates_and_keys_are_masked_wherever_they_stand(secret, frame):
    told = redact_text(frame.format(secret))
    assert secret not in told
    assert MASK in told


@pytest.mark.parametrize("harmless", ["version 12", "2026-11-30T22:44:19", "turn_served", "c9c1a8ee-daa9-443a-8a88-c745013d7f7e", "1002"])
def test_ordinary_facts_stay(harmless):
    assert redact_text(harmless) == harmless


def test_every_text_of_an_event_passes_the_net():
    assert redact(None, "info", {"event": "x", "note": "13800138000", "count": 3}) == {"event": "x", "note": MASK, "count": 3}


def test_an_exception_keeps_its_frames_and_loses_its_message():
    try:
        try:
            raise ValueError("13800138000")
        except ValueError as inner:
            raise RuntimeError("张三") from inner
    except RuntimeError as error:
        lines = describe(error)
        event = frames_without_messages(None, "error", {"event": "x", "exc_info": True})
    assert [line.split(" at ")[0] for line in lines] == ["RuntimeError", "ValueError"]
    assert all("test_redaction.py" in line for line in lines)
    assert event["exception"] == lines
    assert "13800138000" not in str(event)
    assert "张三" not in str(event)
