"""Data on stdout, messages on stderr; tables only where a person looks."""

import sys
from collections.abc import Mapping
from typing import Any

import orjson
from rich.console import Console

console = Console()
messages = Console(stderr=True)


def print_json(document: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def complain(message: str) -> None:
    messages.print(f"[bold red]error[/] {message}", highlight=False)
