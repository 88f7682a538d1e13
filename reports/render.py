"""Draw a report: for a terminal, as JSON, as one HTML file that needs nothing else. No report knows how it is drawn."""

from pathlib import Path

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from reports.table import Report, Table, Tone

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "warn": "yellow", "bad": "bold red", "muted": "dim"}
_SIGNS: dict[Tone, str] = {"plain": "•", "good": "✓", "warn": "!", "bad": "✗", "muted": "…"}

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=select_autoescape(), undefined=StrictUndefined
)


def as_json(report: Report) -> bytes:
    return orjson.dumps(dict(report.facts), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_html(report: Report) -> str:
    """Self-contained: styles inside, no script, no request to anywhere."""
    return _templates.get_template("report.html").render(report=report, signs=_SIGNS)


def print_terminal(report: Report, console: Console) -> None:
    console.print(Text(f"{_SIGNS[report.headline_tone]} {report.headline}", style=_STYLES[report.headline_tone] or "bold"))
    for table in report.tables:
        console.print()
        if table.narrow is not None and _width(table) > console.width:
            table = table.narrow
        if table.rows:
            console.print(_rich(table))
        else:
            console.print(Text(f"{table.title}: none", style="dim"))


def _width(table: Table) -> int:
    """Columns of characters the drawn table takes."""
    widest = [max([len(column), *(len(row[position].text) for row in table.rows)]) for position, column in enumerate(table.columns)]
    return sum(widest) + 3 * len(widest) + 1


def _rich(table: Table) -> RichTable:
    drawn = RichTable(title=table.title, title_justify="left", title_style="bold", caption=table.note or None, caption_justify="left")
    for position, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if position >= table.numeric_from else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in row))
    return drawn
