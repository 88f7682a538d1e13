"""The recorded completions calls that are not asked as we ask: whole answers, answers without detail, refusals. An answer may reach us in
any of these shapes, because what stands between changes requests; each decodes to the turn that the real server played, in all releases."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from backends.fastgpt.answer import FastGptAnswer
from backends.fastgpt.translate import FastGptReply
from domain.errors import BackendError, FailureKind
from tests.backends.fastgpt.test_recordings import ANSWER, GOLDEN, Refused, Served, streamed_with_detail, unknown_stage

pytestmark = pytest.mark.unit

K = FailureKind
ERAS = ("4.9.0", "4.11.1", "4.16.0")
PLAIN = Served(model_calls=0)  # without detail: the words, and nothing of fields or nodes
DETAILED = Served(patch={"ywrysw": False, "sgyy": "追尾", "hphm1": "京A12345"}, model_calls=2)  # whole, so every field is in time
EMPTY, FAILED = Refused(K.EMPTY), Refused(K.NODE_FAILED)
ASKED = Served(stage="1001", text="请先确认伤情。\n是否有人受伤？", violations=("interactive",), model_calls=0)
QUESTION_LOST = Served(stage="1001", text="请先确认伤情。", model_calls=0)  # what a choice asks is only told with detail
FIXED = unknown_stage("1003")
UNKNOWN_INJURY = ("invalid_field:ywrysw",)
UNNAMED = Refused(K.REFUSED, "unnamed")

# One value: all releases alike. A tuple: 4.9.0, 4.11.1, 4.16.0. In 4.11.1 a failed node without detail looks like an empty answer.
EXPECTED: dict[str, Served | Refused | tuple[Served | Refused, ...]] = {
    "01-nonstream-detail-false": PLAIN,
    "02-nonstream-detail-true": DETAILED,
    "03-stream-detail-false": PLAIN,
    "10-fixed-reply-nonstream-detail-false": FIXED,
    "11-fixed-reply-nonstream-detail-true": FIXED,
    "12-fixed-reply-stream-detail-false": FIXED,
    "16-code-http-ifelse-nonstream-detail-true": (Served(), unknown_stage("1004"), unknown_stage("1004")),  # labels count from 4.11.1 on
    "18-code-error-nonstream-detail-false": (Served(text="代码之后", model_calls=0), EMPTY, FAILED),
    "20-http-500-catch-off-nonstream-detail-false": (PLAIN, EMPTY, FAILED),
    "27-select-stream-detail-false-ask": QUESTION_LOST,
    "28-select-stream-detail-false-wrong-answer": EMPTY,
    "30-select-nonstream-detail-true-ask": ASKED,
    "31-select-nonstream-detail-true-continue-option1": unknown_stage("1005"),
    "32-select-nonstream-detail-false-ask": QUESTION_LOST,
    "35-form-nonstream-detail-true-ask": Refused(K.MALFORMED, "missing"),
    "36-form-continue-free-text": Served(),
    "37-select-first-node-no-chatid": ASKED,
    "40-bad-key-nonstream": Refused(K.CONFIGURATION, "unAuthApiKey"),
    "41-bad-key-stream-detail-false": Refused(K.CONFIGURATION, "unAuthApiKey"),
    "43-no-auth-header-nonstream": Refused(K.CONFIGURATION, "unAuthorization"),
    "44-no-auth-header-stream": Refused(K.CONFIGURATION, "unAuthorization"),
    "45-key-without-bearer-nonstream": Refused(K.CONFIGURATION, "unAuthorization"),
    "46-account-key-no-appid-nonstream": (
        Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "error_500"),
    ),
    "47-account-key-with-appid-nonstream": FIXED,
    "48-three-part-key-nonstream": FIXED,
    "50-empty-messages-nonstream": (UNNAMED, UNNAMED, Refused(K.REFUSED, "error_500")),
    "52-messages-not-array-nonstream": (UNNAMED, UNNAMED, Refused(K.REFUSED, "error_400")),
    "53-empty-content-nonstream": FAILED,
    "54-invalid-json-body": Refused(K.REFUSED, "http_400"),
    "55-get-method": (UNNAMED, UNNAMED, Refused(K.REFUSED, "error_400")),
    "61-model-401-stream-detail-false": EMPTY,
    "62-model-401-nonstream-detail-false": (FAILED, EMPTY, FAILED),
    "63-model-401-nonstream-detail-true": FAILED,
    "65-model-429-nonstream-detail-false": (FAILED, EMPTY, FAILED),
    "67-model-cut-mid-stream-detail-false": (
        Refused(K.MALFORMED, "malformed"), Refused(K.MALFORMED, "malformed"), Served(text="好的，", model_calls=0),
    ),
    "69-model-empty-nonstream-detail-false": (FAILED, EMPTY, FAILED),
    "71-extract-model-error-nonstream-detail-false": (FAILED, EMPTY, FAILED),
    "73-extract-empty-strings-nonstream-detail-true": Served(violations=UNKNOWN_INJURY, model_calls=2),
    "75-finish-content-filter-nonstream-detail-true": DETAILED,
    "77-reasoning-stream-detail-false": PLAIN,
    "78-reasoning-nonstream-detail-false": PLAIN,
    "79-reasoning-nonstream-detail-true": DETAILED,
    "81-one-char-chunks-stream-detail-false": PLAIN,
    "84-cite-mark-stream-detail-false": (
        Served(text="依据[64f1a2b3c4d5e6f708192a3b](CITE)处理。", model_calls=0),
        Served(text="依据处理。", model_calls=0),
        Served(text="依据处理。", model_calls=0),
    ),
    "85-heartbeat-stream-detail-false": PLAIN,
    "91-empty-string-variable-nonstream-detail-true": EMPTY,
    "92-empty-string-variable-turn2": EMPTY,
    "93-empty-string-variable-turn3": EMPTY,
    "94-null-variable-nonstream-detail-true": EMPTY,
    "96-no-output-nonstream-detail-false": EMPTY,
    "98-parallel-nodes-nonstream-detail-false": Served(text="甲1甲2甲3甲4乙乙1乙2乙3乙4", model_calls=0),
    "99-fixed-then-chat-stream-detail-false": Served(text=f"正在为您处理。{ANSWER}", violations=("duplicate_late",), model_calls=0),
    "100-fixed-then-chat-nonstream-detail-true": Served(text=f"正在为您处理。{ANSWER}", violations=("duplicate_late",), model_calls=1),
    "102-hidden-ai-then-fixed-nonstream-detail-false": unknown_stage("1006"),
    "110-no-chatid-nonstream": FIXED,
    "111-empty-chatid-nonstream": FIXED,
    "112-no-record-histories": FIXED,
    "114-duplicate-response-id": (FIXED, FIXED, Refused(K.REFUSED, "error_500")),
    "120-reuse-deleted-chatid": EMPTY,
    "132-system-and-history-with-chatid": Served(patch={"hphm1": "京B67890"}, violations=UNKNOWN_INJURY, model_calls=2),
    "133-last-message-assistant": FIXED,
    "134-content-array-text": PLAIN,
    "137-keepalive-stream": FIXED,
    "138-if-none-match": Refused(K.MALFORMED, "http_304"),
    "141-v2-stream-detail-false": PLAIN,
    "142-v2-nonstream-detail-true": DETAILED,
    "143-v2-nonstream-detail-false-no-chatid": PLAIN,
    "150-deleted-app": (
        Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "appUnExist"),
    ),
    "151-deleted-app-stream": (
        Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "unnamed"), Refused(K.CONFIGURATION, "appUnExist"),
    ),
    "162-v2-parallel-calls-b-nonstream": Refused(K.REFUSED, "chatIsGenerating"),
    "163-v1-parallel-calls-b-nonstream": Refused(K.REFUSED, "chatIsGenerating"),
    "171-qpm-exceeded-nonstream": Refused(K.REFUSED, "error_429"),
}  # fmt: skip

NOT_ANSWERS = {
    "126-client-disconnect-nonstream": "the caller left, so no byte of a response was recorded",
    "135-gzip-nonstream": "compressed, which this adapter never asks for",
    "83-very-long-nonstream-detail-false": "its text is compared by length below",
}


def completions() -> list[str]:
    paths = sorted(GOLDEN.glob("*/*.json"))
    return [f"{path.parent.name}/{path.stem}" for path in paths if "completions" in json.loads(path.read_text("utf-8"))["request"]["path"]]


OTHERS = [name for name in completions() if name not in set(streamed_with_detail()) and "82-very-long" not in name]


def test_every_recorded_completions_call_is_in_a_table() -> None:
    assert len(completions()) >= 340
    assert {name.split("/")[1] for name in OTHERS} == {*EXPECTED, *NOT_ANSWERS}


@pytest.fixture
def decoded(make_config: Callable[..., Any], session: Any, now: Any, recording: Callable[[str], Any]) -> Callable[..., Any]:
    def decode(name: str, *, cut: int | None = None) -> Served | Refused:
        recorded = recording(name)
        answer = FastGptAnswer(recorded.status, FastGptReply(make_config(), session, now))
        pieces = recorded.chunks if cut is None else [recorded.body[:cut], recorded.body[cut:]]
        try:
            for piece in pieces:
                answer.feed(piece)
            finished = answer.finish()
        except BackendError as error:
            return Refused(error.failure.kind, error.failure.note)
        reply = finished.reply
        return Served(
            stage=reply.stage, text=reply.text, patch=reply.patch, violations=finished.violations, model_calls=finished.model_calls
        )

    return decode


@pytest.mark.parametrize("name", [name for name in OTHERS if name.split("/")[1] in EXPECTED])
def test_a_recorded_call_decodes_to_the_turn_it_was(name: str, decoded: Callable[..., Any]) -> None:
    era, call = name.split("/")
    expected = EXPECTED[call]
    assert decoded(name) == (expected[ERAS.index(era)] if isinstance(expected, tuple) else expected)


@pytest.mark.parametrize("era", ERAS)
def test_a_very_long_whole_answer_arrives_whole(era: str, decoded: Callable[..., Any]) -> None:
    result = decoded(f"{era}/83-very-long-nonstream-detail-false")
    assert (len(result.text), result.text[:5]) == (21892, "第1条：请")


@pytest.mark.parametrize("name", ["4.9.0/30-select-nonstream-detail-true-ask", "4.16.0/79-reasoning-nonstream-detail-true"])
def test_a_whole_answer_does_not_depend_on_where_it_is_cut(name: str, decoded: Callable[..., Any], recording: Callable[[str], Any]) -> None:
    whole = decoded(name)
    for cut in range(0, len(recording(name).body) + 1, 7):
        assert decoded(name, cut=cut) == whole, cut
