"""Wrong designs, each switched on in a victim's process by name: what the harness must catch (test_designs.py).

They are mistakes that somebody could make in good faith. Each replaces one function or one statement of the product.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.designs import storing, telling


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """`install` puts it in before wiring builds the proxy. `broken` is the invariant that must notice, in one of the cells like `cells`."""

    install: Callable[[], None]
    broken: str = ""
    cells: str = ""


def _nothing() -> None:
    """The product as it is."""


DESIGNS: dict[str, Design] = {
    "": Design(install=_nothing),
    "done_before_commit": Design(install=telling.done_before_commit, broken="I2", cells="stream/key/chat/done_sent/kill"),
    "no_key_row": Design(install=storing.no_key_row, broken="I3", cells="json/key/chat/committed/kill"),
    "no_fencing": Design(install=storing.no_fencing, broken="I4", cells="none pause"),
    "retry_asks_again": Design(install=telling.retry_asks_again, broken="I13", cells="stream/key/chat/committed/kill"),
    "outbox_apart": Design(install=storing.outbox_apart, broken="I10", cells="stream/key/chat/commit_statement/kill"),
    "dedup_apart": Design(install=storing.dedup_apart, broken="I3", cells="event/chat/commit_statement/kill"),
    "replies_in_memory": Design(install=storing.replies_in_memory, broken="I3", cells="stream/key/chat/before_done/kill"),
    "checkpoint_is_right": Design(install=telling.checkpoint_is_right, broken="T1", cells="key/chat/checkpoint_written/kill"),
    "no_failure_row": Design(install=storing.no_failure_row, broken="I10", cells="langgraph/stream model_called/cancel"),
    "lost_turns_forgotten": Design(install=storing.lost_turns_forgotten, broken="I10", cells="model_called/kill"),
    "lost_commit_is_failure": Design(
        install=storing.lost_commit_is_failure, broken="I21", cells="stream/key/chat/commit_statement/cut_after"
    ),
    "lost_commit_is_success": Design(
        install=storing.lost_commit_is_success, broken="I2", cells="stream/key/chat/commit_statement/cut_before"
    ),
    "errors_without_an_end": Design(install=telling.errors_without_an_end, broken="I8", cells="stream model_next/cancel"),
    "replay_in_one_piece": Design(install=telling.replay_in_one_piece, broken="I5", cells="stream/key/chat/committed/kill"),
    "projection_apart": Design(install=storing.projection_apart, broken="I6", cells="key/chat/commit_statement/kill"),
    "reads_from_memory": Design(install=storing.reads_from_memory, broken="I6", cells="stream/key/chat/committed/kill"),
    "connection_kept": Design(install=storing.connection_kept, broken="I14", cells="stream model_called/cancel"),
    "ledger_first": Design(install=storing.ledger_first, broken="I10", cells="shadow/settle_next/kill"),
}
