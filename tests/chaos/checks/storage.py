"""What the tables say of one another."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from domain.stages import StageCode
from domain.transitions import edges_between
from tests.chaos.evidence import Evidence


def gapless(evidence: Evidence) -> Iterator[str]:
    events = [(event["previous_version"], event["new_version"]) for event in evidence.events]
    expected = [(version, version + 1) for version in range(len(events))]
    if events != expected:
        yield f"events step {events}"
    if (versions := [turn["version"] for turn in evidence.committed]) != [new for _, new in expected]:
        yield f"committed turns have versions {versions}, events {[new for _, new in events]}"


def projection(evidence: Evidence) -> Iterator[str]:
    """One turn after the other, its patch over the form before it: what comes out is the projection."""
    session, state, committed = evidence.session, evidence.state, evidence.committed
    if session is None or state is None:
        if committed:
            yield "turns are committed, and there is no session"
        return
    newest = max((event["new_version"] for event in evidence.events), default=0)
    if len({session["state_version"], state["state_version"], newest}) != 1:
        yield f"version {session['state_version']} of the session, {state['state_version']} of its state, {newest} of its events"
    if not committed:
        return
    last = committed[-1]["after"]
    if (session["stage_code"], state["form_data"], state["dialogue"]) != (last["stage"], last["form"], last["dialogue"]):
        yield f"the projection is not what turn {committed[-1]['version']} left"
    form: dict[str, Any] = {}
    for turn in committed:
        form |= turn["outcome"]["reply"]["patch"]
        if turn["after"]["form"] != form:
            yield f"turn {turn['version']} left another form than the patches up to it make"
            return


def legal_path(evidence: Evidence) -> Iterator[str]:
    stages = [None, *(StageCode(turn["after"]["stage"]) for turn in evidence.committed)]
    for number, (before, after) in enumerate(pairwise(stages), start=1):
        if after is not None and not edges_between(before, after):
            yield f"turn {number} went from {before} to {after}"


def one_tenant(evidence: Evidence) -> Iterator[str]:
    rows = (*evidence.events, *evidence.turns, *filter(None, (evidence.session, evidence.state)))
    if strangers := {row["tenant_id"] for row in rows} - {evidence.tenant}:
        yield f"rows of {sorted(strangers)}"
    callers = {row["client_id"] for row in evidence.turns} | {row["actor_client_id"] for row in evidence.events}
    if strangers := callers - {f"on-{evidence.backend}"}:
        yield f"turns of {sorted(strangers)}"


def checkpoint(evidence: Evidence) -> Iterator[str]:
    """A turn that was never committed may have left the newest checkpoint; it started from a version that is there, from what that
    version held, and the graph takes its state from the row at the next turn anyway."""
    if len(evidence.checkpoints) > 1:
        yield f"{len(evidence.checkpoints)} checkpoints of one thread"
    if evidence.checkpoints and evidence.session is None:
        yield "a checkpoint without a session"
        return
    committed = {turn["version"]: turn for turn in evidence.committed}
    by_id = {turn["turn_id"]: turn for turn in evidence.committed}
    for kept in evidence.checkpoints:
        if "version" not in kept:  # of a turn that was cancelled before the graph had looked at the row
            continue
        version = kept["version"]
        if version > max(committed, default=0):
            yield f"it started from version {version}, the newest is {max(committed, default=0)}"
            continue
        before: dict[str, Any] = committed[version]["after"] if version else {"stage": None, "form": {}}
        known = sorted(key for key, value in before["form"].items() if value is not None)
        if (kept["stage"], sorted(kept["known"])) != (before["stage"], known):
            yield f"it started from {kept['stage']} with {sorted(kept['known'])}, version {version} held {before['stage']} with {known}"
        if (turn := by_id.get(kept["turn_id"])) and kept["next_stage"] != turn["after"]["stage"]:
            yield f"it decided {kept['next_stage']}, its turn is stored with {turn['after']['stage']}"
    if evidence.checkpoints and not evidence.was_overtaken:
        spoken = [turn for turn in evidence.committed if turn["backend"] == "langgraph"]
        if evidence.checkpoints[0].get("turn_id") != spoken[-1]["turn_id"]:
            yield "the newest turn left no checkpoint"


def memory(evidence: Evidence) -> Iterator[str]:
    """The chat that FastGPT goes on with holds what was committed in it, once each and nothing else."""
    spoken = [turn for turn in evidence.committed if turn["outcome"].get("receipt", {}).get("memory")]
    if not spoken:
        return
    chat = spoken[-1]["outcome"]["receipt"]["memory"]
    said = [record["text"] for record in evidence.chats.get(chat, []) if record["side"] == "Human"]
    expected = [turn["text"] for turn in spoken if turn["outcome"]["receipt"]["memory"] == chat]
    if said != expected:
        yield f"the chat holds {said}, committed in it were {expected}"


def copies(evidence: Evidence) -> Iterator[str]:
    yield from checkpoint(evidence)
    yield from memory(evidence)


def routing(evidence: Evidence) -> Iterator[str]:
    served = {turn["backend"] for turn in evidence.turns if turn["event_type"] != "unknown"}  # nobody knows who served a lost turn
    if evidence.session:
        served.add(evidence.session["backend"])
    if strangers := served - {evidence.backend}:
        yield f"served by {sorted(strangers)}, routed to {evidence.backend}"
