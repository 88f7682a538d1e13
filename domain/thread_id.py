"""The checkpoint thread of a session. Parts are escaped, so that no two pairs of tenant and session share a thread.
A shadow never has an id of its own: it writes into its own schema, so no caller can name a shadow's thread."""

from urllib.parse import quote


def thread_id(tenant_id: str, session_id: str) -> str:
    return f"{quote(tenant_id, safe='')}:{quote(session_id, safe='')}"
