"""What one reply of the model says, read with the very parsers the service uses. Total: an unreadable reply is a finding, not an error."""

from dataclasses import dataclass

from contract.state_prefix import FormBlock, Irregularity, MalformedReply, PrefixEvent, StatePrefixParser, StateTag
from domain.proposal import Proposal, proposal
from evals.seen import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """`proposal` is None when the reply does not begin as agreed; `problem` then says how it begins."""

    proposal: Proposal | None = None
    has_form: bool = False
    problem: str = ""

    def brief(self) -> str:
        """For the list of misses."""
        if self.proposal is None:
            return self.problem or "no answer"
        parts = [self.proposal.code]
        parts += [f"{key}={value}" for key, value in self.proposal.fields.items()]
        parts += [f"{name}={value}" for name in ("answer", "confirm", "safety") if (value := getattr(self.proposal, name)) is not None]
        return " ".join([*parts, *(["form is no JSON"] if self.proposal.is_form_invalid else [])])


def saying(call: Call) -> Saying:
    if call.failure and not call.text:
        return Saying(problem=call.failure)
    try:
        events = _events(call.text)
    except MalformedReply as error:
        return Saying(problem=error.reason)
    if any(isinstance(event, Irregularity) and event.name == "duplicate" for event in events):
        return Saying(problem="duplicate")
    code = next((event.code for event in events if isinstance(event, StateTag)), None)
    if code is None:
        return Saying(problem="missing")
    block = next((event.text for event in events if isinstance(event, FormBlock)), None)
    return Saying(proposal=proposal(code, block), has_form=block is not None)


def _events(text: str) -> list[PrefixEvent]:
    parser = StatePrefixParser()
    return [*parser.feed(text), *parser.finish()]
