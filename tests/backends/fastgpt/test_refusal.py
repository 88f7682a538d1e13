"""What upstream errors mean: by the recorded bodies of three releases, and by pages that are no FastGPT at all."""

from collections.abc import Callable
from typing import Any

import pytest

from backends.fastgpt.refusal import BodyKind, error_from_body, error_from_payload, json_object, kind_of_body
from domain.errors import FailureKind

pytestmark = pytest.mark.unit

CONFIGURATION, REFUSED, MALFORMED, INTERRUPTED = (
    FailureKind.CONFIGURATION,
    FailureKind.REFUSED,
    FailureKind.MALFORMED,
    FailureKind.INTERRUPTED,
)
ALL = ("4.9.0", "4.11.1", "4.16.0")


@pytest.mark.parametrize(
    "name, eras, kind",
    [
        ("40-bad-key-nonstream", ALL, CONFIGURATION),
        ("43-no-auth-header-nonstream", ALL, CONFIGURATION),
        ("46-account-key-no-appid-nonstream", ALL, CONFIGURATION),
        ("50-empty-messages-nonstream", ALL, REFUSED),
        ("52-messages-not-array-nonstream", ALL, REFUSED),
        ("54-invalid-json-body", ALL, REFUSED),
        ("150-deleted-app", ALL, CONFIGURATION),
        ("171-qpm-exceeded-nonstream", ("4.16.0",), REFUSED),
    ],
)
def test_a_recorded_error_body_is_classified_alike_in_every_release(
    name: str, eras: tuple[str, ...], kind: FailureKind, recording: Callable[[str], Any]
) -> None:
    for era in eras:
        recorded = recording(f"{era}/{name}")
        assert error_from_body(recorded.status, recorded.body).failure.kind is kind, era


@pytest.mark.parametrize(
    "payload, kind, note",
    [
        ({"code": 514, "statusText": "unAuthApiKey", "message": "x"}, CONFIGURATION, "unAuthApiKey"),
        ({"code": 500001, "statusText": "appUnExist"}, CONFIGURATION, "appUnExist"),
        ({"code": 514}, CONFIGURATION, "unnamed"),
        ({"message": "common:code_error.error_message.514"}, CONFIGURATION, "unnamed"),
        ({"message": "您的工作流版本过低，请重新发布一次"}, CONFIGURATION, "unnamed"),
        ({"code": 504001, "statusText": "chatIsGenerating"}, REFUSED, "chatIsGenerating"),
        ({"code": 510, "statusText": "insufficientQuota"}, REFUSED, "insufficientQuota"),
        ({"code": 429, "statusText": "error", "message": "Rate limit exceeded."}, REFUSED, "error_429"),
        ({"code": 500, "statusText": "", "message": "x"}, REFUSED, "unnamed"),
        ({"message": "Cannot read properties of undefined (reading 'forEach')"}, REFUSED, "unnamed"),
        ({"statusText": "京A12345 is no name", "message": None}, REFUSED, "unnamed"),
        ({"statusText": "error"}, REFUSED, "unnamed"),
        ({}, REFUSED, "unnamed"),
    ],
)
def test_the_stable_name_decides_before_code_and_message(payload: dict[str, Any], kind: FailureKind, note: str) -> None:
    failure = error_from_payload(payload).failure
    assert (failure.kind, failure.note) == (kind, note)


@pytest.mark.parametrize(
    "status, body, kind, note",
    [
        (200, b'{"code":514,"statusText":"unAuthApiKey","message":"x","data":null}', CONFIGURATION, "unAuthApiKey"),
        (200, b'{"choices":[]}', MALFORMED, "json_200"),
        (200, b'{"cut', MALFORMED, "json_200"),
        (200, b"<!DOCTYPE html><html>", CONFIGURATION, "html_200"),
        (404, b"<html>not found", CONFIGURATION, "html_404"),
        (404, b"", CONFIGURATION, "http_404"),
        (504, b"<html>504 Gateway Time-out", REFUSED, "http_504"),
        (502, b"", REFUSED, "http_502"),
        (301, b"", CONFIGURATION, "http_301"),
        (304, b"", MALFORMED, "http_304"),
        (200, b"", INTERRUPTED, "no_body"),
        (200, b" \n", INTERRUPTED, "no_body"),
        (200, b"\x00\xff\x13garbage", MALFORMED, "http_200"),
        (413, b"too much", REFUSED, "http_413"),
    ],
)
def test_a_body_that_is_no_stream_is_classified_by_its_content(status: int, body: bytes, kind: FailureKind, note: str) -> None:
    failure = error_from_body(status, body).failure
    assert (failure.kind, failure.note) == (kind, note)


@pytest.mark.parametrize(
    "head, kind",
    [
        (b"data: ", BodyKind.STREAM),
        (b"event:", BodyKind.STREAM),
        (b": hear", BodyKind.STREAM),
        (b"\n\ndata: {", BodyKind.STREAM),
        (b"\xef\xbb\xbfdata: ", BodyKind.STREAM),
        (b"ev", BodyKind.STREAM),
        (b' {"code"', BodyKind.JSON),
        (b"<html>", BodyKind.HTML),
        (b"dates!", BodyKind.OTHER),
        (b"", BodyKind.OTHER),
    ],
)
def test_the_first_bytes_tell_what_a_body_is(head: bytes, kind: BodyKind) -> None:
    assert kind_of_body(head) is kind


@pytest.mark.parametrize("text", [b"", b"[1]", b'"x"', b"{", b"\xff"])
def test_what_is_no_json_object_is_none(text: bytes) -> None:
    assert json_object(text) is None


@pytest.mark.parametrize("code", [[514], {"a": 1}, "514", None, 1.5])
def test_a_code_that_is_no_number_is_passed_over(code: object) -> None:
    failure = error_from_payload({"code": code, "statusText": "error", "message": "x"}).failure
    assert (failure.kind, failure.note) == (REFUSED, "unnamed")
