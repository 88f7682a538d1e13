"""What differs between releases, in one table. 4.11.1 is complete; the other rows change only the parts named here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """`flow_responses_first`: node records come before [DONE] on v1. `error_key`: a failed node carries `error` beside `errorText`."""

    release: str
    flow_responses_first: bool = False
    has_workflow_duration: bool = True
    has_v2: bool = True
    error_key: bool = False
    id_without_chat: bool = True
    empty_detail_is_array: bool = True
    security_headers: bool = True
    locks_chats: bool = False  # one answer a chat at a time
    names_requests: bool = False  # x-request-id on every response


ERAS = {
    era.release: era
    for era in (
        Era(release="4.9.0", has_workflow_duration=False, has_v2=False, error_key=True, id_without_chat=False, security_headers=False),
        Era(release="4.11.1"),
        Era(
            release="4.16.0", flow_responses_first=True, error_key=True, empty_detail_is_array=False, names_requests=True, locks_chats=True
        ),
    )
}
