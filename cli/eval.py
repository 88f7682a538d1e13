"""`crossfade eval`: is the configured model good enough?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.progress import Progress
from rich.table import Table

from cli.exit_codes import Exit
from cli.loop import run
from cli.output import complain, console, messages, print_json
from evals.golden import scenarios
from evals.page import as_facts, as_html, headline
from evals.play import Seen, play
from evals.probes import probes
from evals.scorecard import Score, Scorecard, UnknownLine, checked, scorecard
from evals.seen import Subject
from telemetry.setup import set_up_logging
from wiring.evaluation import ModelUnreachable, open_subject
from wiring.processes import ChildFailed
from wiring.settings import Settings

LOGS = Path("build") / "logs"
_SIGNS = {"holds": "[green]✓[/]", "fails": "[bold red]✗[/]", "no_data": "[bold red]✗[/]", "not_told": "[dim]…[/]"}


def evaluate(
    *,
    json: bool = False,
    html: Annotated[Path | None, Parameter(help="Write one self-contained HTML file here, in English and Chinese.")] = None,
    threshold: Annotated[tuple[str, ...], Parameter(help="LINE=SHARE, repeatable: another threshold than the built-in one.")] = (),
    lanes: Annotated[int, Parameter(help="Conversations at once.")] = 4,
) -> int:
    """Play the golden conversations and the probes with the configured model; exit 0 only if every threshold holds.

    The model is the one of ZNJJ_LLM__BASE_URL, _API_KEY and _MODEL; without an address the scripted model is started.

    Parameters
    ----------
    json
        Print one JSON document instead of tables.
    """
    settings = Settings()
    set_up_logging(level="error", as_json=False)
    try:
        wanted = checked(_shares(threshold))
        seen, model = run(_seen(settings, max(1, lanes)))
    except UnknownLine as error:
        complain(f"--threshold: {error}")
        return Exit.USAGE
    except ChildFailed as error:
        complain(str(error))
        return Exit.FAILED
    except ModelUnreachable as error:
        complain(f"the model cannot be asked: {error}")
        return Exit.UNREACHABLE
    return tell(scorecard(seen, wanted), model=model, made_at=datetime.now(UTC), json=json, html=html)


def tell(card: Scorecard, *, model: str, made_at: datetime, json: bool, html: Path | None) -> int:
    """Print, write and judge. Every line that does not hold is named on stderr."""
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(as_html(card, model=model, made_at=made_at), encoding="utf-8")
        messages.print(f"written: {html}")
    if json:
        print_json(as_facts(card, model=model, made_at=made_at))
    else:
        _print_table(card, model)
    for score in card.broken:
        complain(f"{score.name}: {_why(score)}")
    return Exit.FAILED if card.broken else Exit.OK


def _why(score: Score) -> str:
    if score.verdict == "no_data":
        return f"{score.n} observations are no data"
    return f"{score.hits} of {score.n} ({_percent(score.rate)}), at least {_percent(score.threshold)} is needed"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _shares(given: tuple[str, ...]) -> dict[str, float]:
    """LINE=SHARE pairs. Raises UnknownLine."""
    shares: dict[str, float] = {}
    for pair in given:
        name, _, share = pair.partition("=")
        try:
            shares[name] = float(share)
        except ValueError as error:
            raise UnknownLine(f"{pair} is not LINE=SHARE") from error
    return shares


async def _seen(settings: Settings, lanes: int) -> tuple[Seen, str]:
    async with open_subject(settings, LOGS) as evaluated:
        return await observe(evaluated.subject, lanes), evaluated.model


async def observe(subject: Subject, lanes: int) -> Seen:
    """Everything there is to ask, with a bar where somebody looks."""
    asked, written = probes(), scenarios()
    with Progress(console=messages, disable=not messages.is_terminal, transient=True) as bar:
        task = bar.add_task("asking", total=len(asked) + len(written))
        return await play(subject, asked, written, lanes=lanes, tick=lambda: bar.advance(task))


def _print_table(card: Scorecard, model: str) -> None:
    drawn = Table(title=f"{headline(card)} · {model}", title_justify="left", title_style="bold")
    for column in ("", "line", "hits", "rate", "95 %", "needs"):
        drawn.add_column(column, justify="left" if column in ("", "line") else "right", no_wrap=True)
    for score in card.scores:
        interval = "–" if score.low is None else f"{_percent(score.low)}–{_percent(score.high)}"
        cells = (f"{score.hits}/{score.n}", _percent(score.rate), interval, _percent(score.threshold))
        drawn.add_row(_SIGNS[score.verdict], score.name, *cells)
    console.print(drawn)
    spent = card.spent
    tokens = "not told by the client" if spent.tokens_a_turn is None else f"{spent.tokens_a_turn:.0f} a turn, at most {spent.most_tokens}"
    calls = "–" if spent.calls_a_turn is None else f"{spent.calls_a_turn:.2f}"
    console.print(f"{spent.turns} turns, {spent.calls} calls ({calls} a turn, at most {spent.most_calls}); tokens: {tokens}")
