"""Addresses, keys and refusals of the configuration."""

from collections.abc import Callable
from typing import Any

import pytest

from domain.fields import FIELDS

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "given",
    [
        "http://fastgpt:3000",
        "http://fastgpt:3000/",
        "http://fastgpt:3000/api",
        "http://fastgpt:3000/api/",
        "http://fastgpt:3000/api/v1",
        "http://fastgpt:3000/api/v1/",
        "http://fastgpt:3000/api/v2",
        " http://fastgpt:3000/api/v1/chat/completions ",
    ],
)
def test_every_common_way_to_write_the_address_means_the_same_server(given: str, make_config: Callable[..., Any]) -> None:
    assert make_config(base_url=given).completions_url == "http://fastgpt:3000/api/v1/chat/completions"
    assert make_config(base_url=given, api="v2").completions_url == "http://fastgpt:3000/api/v2/chat/completions"


def test_a_path_in_front_of_the_server_is_kept(make_config: Callable[..., Any]) -> None:
    assert make_config(base_url="https://gate/llm/api").completions_url == "https://gate/llm/api/v1/chat/completions"


@pytest.mark.parametrize("given", ["fastgpt-k", " fastgpt-k\n", "Bearer fastgpt-k"])
def test_the_key_goes_out_with_the_word_bearer_once(given: str, make_config: Callable[..., Any]) -> None:
    assert make_config(api_key=given).authorization == "Bearer fastgpt-k"


def test_neither_key_nor_secret_shows_in_a_repr(make_config: Callable[..., Any]) -> None:
    shown = repr(make_config())
    assert "fastgpt-made-up-key" not in shown
    assert "made-up-secret" not in shown


def test_fields_go_by_their_own_names_unless_told_otherwise(make_config: Callable[..., Any]) -> None:
    config = type(make_config())(base_url="http://x", api_key="k", chat_secret="s")
    assert config.variables == {key: key for key in FIELDS}


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"variables": {"plate": "plateNo"}}, "plate"),
        ({"idle_s": 0}, "time limit"),
        ({"chat_id_template": "{nobody}"}, "chat_id_template"),
        ({"chat_id_template": "{"}, "chat_id_template"),
        ({"chat_id_template": "{session}"}, "must hold {digest}"),
        ({"chat_id_template": "{tenant}_{session}"}, "must hold {digest}"),
    ],
)
def test_a_wrong_configuration_is_refused_when_it_is_made(wrong: dict[str, Any], message: str, make_config: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=message):
        make_config(**wrong)
