"""Every table that Alembic manages, as SQLAlchemy Core. LangGraph's own checkpoint tables are not here (backends/langgraph/checkpoints.py).

Schemas: `app` (business truth, by the app role), `shadow` (comparisons, by the shadow role), `langgraph` (live checkpoints).
Every business key begins with tenant_id: another tenant's row cannot be addressed, and the tables can be distributed by tenant.
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

APP, SHADOW, LANGGRAPH = "app", "shadow", "langgraph"

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _moment(name: str, *, nullable: bool = False, default: bool = True) -> Column[object]:
    """Aware; the database's clock unless a value is given."""
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=func.now() if default and not nullable else None)


api_clients = Table(
    "api_clients",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("client_id", Text, nullable=False, unique=True),
    Column("key_id", Text, nullable=False, unique=True),
    Column("credential_hash", Text, nullable=False),  # keyed hash of the secret; the secret is stored nowhere
    Column("scopes", ARRAY(Text), nullable=False),
    Column("status", Text, nullable=False, server_default="active"),
    Column("profile", JSONB, nullable=False, server_default=text("'{}'")),
    _moment("expires_at", nullable=True),
    _moment("created_at"),
    _moment("updated_at"),
    CheckConstraint("status IN ('active', 'disabled')", name="status"),
    schema=APP,
)

accident_sessions = Table(
    "accident_sessions",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("client_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("stage_code", Text, nullable=False),
    Column("state_version", Integer, nullable=False),
    Column("backend", Text, nullable=False),  # the pin, given at the first turn
    Column("route_reason", Text, nullable=False),
    Column("plan_version", BigInteger, nullable=False),
    Column("bucket", Integer, nullable=False),
    Column("is_sampled", Boolean, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    _moment("last_activity_at"),
    _moment("completed_at", nullable=True),
    CheckConstraint("status IN ('active', 'handed_off', 'completed', 'erased')", name="status"),
    schema=APP,
)

session_moves = Table(
    "session_moves",  # append-only: who was handed over from where to where, and what stood in the way
    metadata,
    Column("move_id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("from_backend", Text, nullable=False),
    Column("to_backend", Text, nullable=False),
    Column("cause", Text, nullable=False),  # carry, override, process, operator, pin
    Column("outcome", Text, nullable=False),
    Column("lost", ARRAY(Text), nullable=False),  # names of what the target cannot hold; no values
    Column("author", Text, nullable=False, server_default=""),
    Column("reason", Text, nullable=False, server_default=""),
    Column("plan_version", BigInteger, nullable=False),
    Column("state_version", Integer, nullable=False),
    _moment("created_at"),
    CheckConstraint("outcome IN ('moved', 'refused')", name="outcome"),
    Index("ix_session_moves_session", "tenant_id", "session_id", "move_id"),
    schema=APP,
)

accident_state = Table(
    "accident_state",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("form_data", JSONB, nullable=False),
    Column("dialogue", JSONB, nullable=False),
    Column("state_version", Integer, nullable=False),
    _moment("updated_at"),
    ForeignKeyConstraint(["tenant_id", "session_id"], [accident_sessions.c.tenant_id, accident_sessions.c.session_id]),
    schema=APP,
)

accident_events = Table(
    "accident_events",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("actor_client_id", Text, nullable=False),
    Column("payload", JSONB, nullable=False),
    Column("previous_version", Integer, nullable=False),
    Column("new_version", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
    _moment("created_at"),
    UniqueConstraint("tenant_id", "session_id", "new_version"),
    ForeignKeyConstraint(["tenant_id", "session_id"], [accident_sessions.c.tenant_id, accident_sessions.c.session_id]),
    schema=APP,
)

turns = Table(
    "turns",
    metadata,
    Column("turn_id", Uuid, primary_key=True),
    Column("tenant_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("client_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("version", Integer, nullable=False),  # committed: the version it made; failed: the one it started from
    Column("status", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("input", JSONB, nullable=False),  # {"text": …, "event": …}
    Column("after", JSONB),  # the whole state after the turn: the next one starts from it
    Column("output_text", Text),
    Column("outcome", JSONB, nullable=False),
    Column("backend", Text, nullable=False),
    Column("route_reason", Text, nullable=False),
    Column("plan_version", BigInteger, nullable=False),
    Column("request_id", Text, nullable=False),
    _moment("received_at", default=False),
    _moment("committed_at"),
    CheckConstraint("status IN ('committed', 'failed', 'cancelled')", name="status"),
    Index("ix_turns_session", "tenant_id", "session_id", "version"),
    Index("uq_turns_committed_version", "tenant_id", "session_id", "version", unique=True, postgresql_where=text("status = 'committed'")),
    schema=APP,
)

turn_outbox = Table(
    "turn_outbox",  # append-only: pending shadow work = outbox minus ledger
    metadata,
    Column("outbox_id", BigInteger, Identity(always=True), primary_key=True),
    Column("turn_id", Uuid, ForeignKey(turns.c.turn_id), nullable=False, unique=True),
    Column("tenant_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    _moment("created_at"),
    CheckConstraint("kind IN ('committed', 'failed', 'cancelled')", name="kind"),
    Index("ix_turn_outbox_session", "tenant_id", "session_id", "outbox_id"),
    schema=APP,
)

idempotency_records = Table(
    "idempotency_records",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("client_id", Text, primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("request_hash", LargeBinary, nullable=False),
    Column("turn_id", Uuid, nullable=False),
    Column("response_data", JSONB, nullable=False),
    _moment("expires_at", default=False),
    _moment("created_at"),
    Column("session_id", Text, nullable=False, server_default=""),
    schema=APP,
)

session_leases = Table(
    "session_leases",  # unlogged: after a crash of the server every lease is void anyway
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("token", Uuid, nullable=False),
    _moment("until", default=False),
    schema=APP,
    prefixes=["UNLOGGED"],
)

rollout_plans = Table(
    "rollout_plans",
    metadata,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("document", JSONB, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    _moment("created_at"),
    Column("evidence_hash", Text),
    Column("approved_by", Text),
    Column("prev_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
    schema=APP,
)

ledger = Table(
    "ledger",
    metadata,
    Column("outbox_id", BigInteger, primary_key=True, autoincrement=False),
    Column("turn_id", Uuid, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("worker", Text, nullable=False),
    _moment("settled_at"),
    CheckConstraint("state IN ('compared', 'dropped', 'failed', 'unreplayable')", name="state"),
    schema=SHADOW,
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("comparison_id", BigInteger, Identity(always=True), primary_key=True),
    Column("outbox_id", BigInteger, ForeignKey(ledger.c.outbox_id), nullable=False, unique=True),
    Column("turn_id", Uuid, nullable=False),
    Column("tenant_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("client_id", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("primary_backend", Text, nullable=False),
    Column("shadow_backend", Text, nullable=False),
    Column("from_stage", Text),
    Column("primary_stage", Text),
    Column("shadow_stage", Text),
    Column("compared", ARRAY(Text), nullable=False),
    Column("shadow_outcome", JSONB, nullable=False),
    _moment("created_at"),
    Index("ix_comparisons_created", "created_at"),
    schema=SHADOW,
)

diffs = Table(
    "diffs",
    metadata,
    Column("diff_id", BigInteger, Identity(always=True), primary_key=True),
    Column("comparison_id", BigInteger, ForeignKey(comparisons.c.comparison_id), nullable=False),
    Column("kind", Text, nullable=False),
    Column("signature", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("detail", JSONB, nullable=False),
    _moment("created_at"),
    CheckConstraint("severity IN ('critical', 'major', 'minor', 'info')", name="severity"),
    Index("ix_diffs_comparison", "comparison_id"),
    Index("ix_diffs_signature", "kind", "signature"),
    schema=SHADOW,
)

claims = Table(
    "claims",  # one worker a session at a time; an expired claim is free
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("attempts", Integer, nullable=False, server_default="0"),  # outages in a row: each makes the session rest longer
    _moment("until", default=False),
    schema=SHADOW,
)

progress = Table(
    "progress",  # one row: every outbox row up to here is settled, so that looking for work does not read the whole history
    metadata,
    Column("settled_through", BigInteger, nullable=False),
    schema=SHADOW,
)
