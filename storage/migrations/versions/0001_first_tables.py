"""First tables, the function that opens a session in one round trip, the grants of the four roles, and the first plan.

The roles exist before this runs (storage/roles.py). Downgrade drops every table: there is nothing older to go back to.
"""

import secrets
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from domain.plan import chain_hash

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# The answer a request already has: of its idempotency key (then with the fingerprint it was given under), or of its event (then with what
# that event was, for the caller of this function to compare).
STORED_ANSWER = """
CREATE FUNCTION app.stored_answer(p_tenant text, p_client text, p_key text, p_event text)
RETURNS TABLE (stored_hash bytea, stored_reply jsonb) LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    IF p_key IS NOT NULL THEN
        RETURN QUERY
            SELECT i.request_hash, i.response_data FROM app.idempotency_records i
            WHERE i.tenant_id = p_tenant AND i.client_id = p_client AND i.idempotency_key = p_key AND i.expires_at > clock_timestamp();
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
        SELECT NULL::bytea,
               jsonb_build_object(
                   'stage', t.outcome #> '{reply,stage}', 'patch', t.outcome #> '{reply,patch}', 'version', t.version,
                   'pieces', CASE WHEN t.outcome #> '{reply,patch}' = '{}' THEN jsonb_build_array(t.output_text)
                                  ELSE jsonb_build_array(NULL, t.output_text) END,
                   'given', jsonb_build_array(t.session_id, t.client_id, t.event_type, t.input))
        FROM app.accident_events e
        JOIN app.turns t ON t.tenant_id = e.tenant_id AND t.session_id = e.session_id
                        AND t.version = e.new_version AND t.status = 'committed'
        WHERE e.tenant_id = p_tenant AND e.event_id = p_event;
END
$$
"""

# READ COMMITTED gives every statement inside a VOLATILE plpgsql function its own snapshot: whoever waited for the lease row sees what the
# former holder committed. Hence the second look for a stored answer once the lease is ours: the first may have been too early.
# No row means that the lease is taken.
OPEN_SESSION = """
CREATE FUNCTION app.open_session(
    p_tenant text, p_session text, p_client text, p_key text, p_event text,
    p_token uuid, p_lease_seconds double precision, p_transcript integer
) RETURNS TABLE (
    stored_hash bytea, stored_reply jsonb, form_data jsonb, dialogue jsonb, stage_code text, state_version integer,
    backend text, route_reason text, plan_version bigint, bucket integer, is_sampled boolean, transcript jsonb, invalid_turns bigint,
    memory text, loose_turns bigint
) LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    answer record;
BEGIN
    SELECT * INTO answer FROM app.stored_answer(p_tenant, p_client, p_key, p_event);
    IF NOT FOUND THEN
        INSERT INTO app.session_leases AS held (tenant_id, session_id, token, until)
        VALUES (p_tenant, p_session, p_token, clock_timestamp() + make_interval(secs => p_lease_seconds))
        ON CONFLICT (tenant_id, session_id) DO UPDATE SET token = excluded.token, until = excluded.until
        WHERE held.until < clock_timestamp();
        IF NOT FOUND THEN
            RETURN;
        END IF;
        SELECT * INTO answer FROM app.stored_answer(p_tenant, p_client, p_key, p_event);
        IF FOUND THEN
            DELETE FROM app.session_leases l WHERE l.tenant_id = p_tenant AND l.session_id = p_session AND l.token = p_token;
        ELSE
            -- An expired key is free again; its old row would make the commit fail.
            DELETE FROM app.idempotency_records i
            WHERE i.tenant_id = p_tenant AND i.client_id = p_client AND i.idempotency_key = p_key;
        END IF;
    END IF;
    IF answer.stored_reply IS NOT NULL THEN
        RETURN QUERY
            SELECT answer.stored_hash, answer.stored_reply, NULL::jsonb, NULL::jsonb, NULL::text, 0,
                   NULL::text, NULL::text, NULL::bigint, NULL::integer, NULL::boolean, NULL::jsonb, 0::bigint, NULL::text, 0::bigint;
        RETURN;
    END IF;

    RETURN QUERY
        SELECT NULL::bytea, NULL::jsonb, st.form_data, st.dialogue, s.stage_code, coalesce(s.state_version, 0),
               s.backend, s.route_reason, s.plan_version, s.bucket, s.is_sampled,
               (SELECT jsonb_agg(jsonb_build_array(t.input ->> 'text', t.output_text) ORDER BY t.version)
                FROM (SELECT t.version, t.input, t.output_text FROM app.turns t
                      WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.status = 'committed' AND t.output_text IS NOT NULL
                      ORDER BY t.version DESC LIMIT p_transcript) t),
               (SELECT count(*) FROM app.turns f
                WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND f.version = coalesce(s.state_version, 0)
                  AND f.status = 'failed' AND f.outcome #>> '{failure,kind}' IN ('malformed', 'invalid_stage')),
               -- The upstream memory that holds the session: that of the newest spoken turn, if its backend has one.
               (SELECT t.outcome #>> '{receipt,memory}' FROM app.turns t
                WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.status = 'committed' AND t.output_text IS NOT NULL
                ORDER BY t.version DESC LIMIT 1),
               -- Turns that may have moved an upstream's memory without a commit of ours.
               (SELECT count(*) FROM app.turns f
                WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND f.version = coalesce(s.state_version, 0)
                  AND f.status <> 'committed' AND f.outcome #>> '{failure,kind}' IS DISTINCT FROM 'unreachable')
        FROM (SELECT 1) AS one
        LEFT JOIN app.accident_sessions s ON s.tenant_id = p_tenant AND s.session_id = p_session
        LEFT JOIN app.accident_state st ON st.tenant_id = p_tenant AND st.session_id = p_session;
END
$$
"""

# Least privilege: the shadow role reads what it replays and writes its own schema; nobody executes by default.
GRANTS = (
    "REVOKE EXECUTE ON FUNCTION app.open_session, app.stored_answer FROM PUBLIC",
    "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
    "GRANT USAGE ON SCHEMA app TO crossfade_app, crossfade_shadow, crossfade_reader",
    "GRANT USAGE ON SCHEMA shadow TO crossfade_shadow, crossfade_reader",
    "GRANT USAGE ON SCHEMA langgraph TO crossfade_app",
    "GRANT EXECUTE ON FUNCTION app.open_session, app.stored_answer TO crossfade_app",
    "GRANT SELECT ON app.api_clients TO crossfade_app",
    "GRANT SELECT, INSERT, UPDATE ON app.accident_sessions, app.accident_state TO crossfade_app",
    "GRANT SELECT, INSERT ON app.accident_events, app.turns, app.turn_outbox, app.rollout_plans TO crossfade_app",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON app.session_leases, app.idempotency_records TO crossfade_app",
    "GRANT SELECT ON app.turns, app.turn_outbox, app.rollout_plans TO crossfade_shadow",
    "GRANT SELECT, INSERT ON shadow.ledger, shadow.comparisons, shadow.diffs TO crossfade_shadow",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON shadow.claims TO crossfade_shadow",
    "GRANT SELECT, UPDATE ON shadow.progress TO crossfade_shadow",
    # The reader counts and routes; what people said, and what their forms hold, is not its business.
    "GRANT SELECT ON app.accident_sessions, app.turn_outbox, app.rollout_plans TO crossfade_reader",
    "GRANT SELECT (turn_id, tenant_id, session_id, client_id, version, status, event_type, backend, route_reason, plan_version,"
    " request_id, received_at, committed_at) ON app.turns TO crossfade_reader",
    "GRANT SELECT (tenant_id, event_id, session_id, event_type, actor_client_id, previous_version, new_version, request_id, created_at)"
    " ON app.accident_events TO crossfade_reader",
    "GRANT SELECT (id, tenant_id, client_id, key_id, scopes, status, profile, expires_at, created_at, updated_at)"
    " ON app.api_clients TO crossfade_reader",
    "GRANT SELECT ON shadow.ledger, shadow.diffs, shadow.claims, shadow.progress TO crossfade_reader",
    "GRANT SELECT (comparison_id, outbox_id, turn_id, tenant_id, session_id, client_id, event_type, mode, primary_backend, shadow_backend,"
    " from_stage, primary_stage, shadow_stage, compared, created_at) ON shadow.comparisons TO crossfade_reader",
    # LangGraph's tables are made by the same owner after this migration.
    "ALTER DEFAULT PRIVILEGES IN SCHEMA langgraph GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO crossfade_app",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA shadow GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO crossfade_shadow",
)


def publish_first_plan() -> None:
    """Everything to FastGPT, no shadow: there is always a plan, and putting Crossfade in front changes nothing."""
    author, reason = "migration", "first plan"
    document = {
        "default": "fastgpt",
        "override": None,
        "salt": f"znjj-{secrets.token_hex(8)}",
        "traffic": {"langgraph_ppm": 0},
        "callers": {},
        "existing_sessions": "stay",
        "shadow": {"sample_ppm": 0, "callers": {}},
    }
    op.bulk_insert(
        sa.table(
            "rollout_plans",
            *map(sa.column, ("version", "author", "reason", "prev_hash", "hash")),
            sa.column("document", postgresql.JSONB),
            schema="app",
        ),
        [
            {
                "version": 1,
                "document": document,
                "author": author,
                "reason": reason,
                "prev_hash": "",
                "hash": chain_hash("", document, author, reason),
            }
        ],
    )


def upgrade() -> None:
    # `app` exists already: Alembic keeps its version table there (storage/migrations/env.py).
    op.execute("CREATE SCHEMA IF NOT EXISTS shadow")
    op.execute("CREATE SCHEMA IF NOT EXISTS langgraph")
    op.create_table(
        "accident_sessions",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("stage_code", sa.Text(), nullable=False),
        sa.Column("state_version", sa.Integer(), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("route_reason", sa.Text(), nullable=False),
        sa.Column("plan_version", sa.BigInteger(), nullable=False),
        sa.Column("bucket", sa.Integer(), nullable=False),
        sa.Column("is_sampled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_activity_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("status IN ('active', 'handed_off', 'completed')", name=op.f("ck_accident_sessions_status")),
        sa.PrimaryKeyConstraint("tenant_id", "session_id", name=op.f("pk_accident_sessions")),
        schema="app",
    )
    op.create_table(
        "api_clients",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("credential_hash", sa.Text(), nullable=False),
        sa.Column("scopes", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("status", sa.Text(), server_default="active", nullable=False),
        sa.Column("profile", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("status IN ('active', 'disabled')", name=op.f("ck_api_clients_status")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_clients")),
        sa.UniqueConstraint("client_id", name=op.f("uq_api_clients_client_id")),
        sa.UniqueConstraint("key_id", name=op.f("uq_api_clients_key_id")),
        schema="app",
    )
    op.create_table(
        "idempotency_records",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("response_data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "client_id", "idempotency_key", name=op.f("pk_idempotency_records")),
        schema="app",
    )
    op.create_table(
        "rollout_plans",
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("document", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("evidence_hash", sa.Text(), nullable=True),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_rollout_plans")),
        schema="app",
    )
    op.create_table(
        "session_leases",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "session_id", name=op.f("pk_session_leases")),
        schema="app",
        prefixes=["UNLOGGED"],
    )
    op.create_table(
        "turns",
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("input", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("after", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("output_text", sa.Text(), nullable=True),
        sa.Column("outcome", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("backend", sa.Text(), nullable=False),
        sa.Column("route_reason", sa.Text(), nullable=False),
        sa.Column("plan_version", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("status IN ('committed', 'failed', 'cancelled')", name=op.f("ck_turns_status")),
        sa.PrimaryKeyConstraint("turn_id", name=op.f("pk_turns")),
        schema="app",
    )
    op.create_index("ix_turns_session", "turns", ["tenant_id", "session_id", "version"], unique=False, schema="app")
    op.create_index(
        "uq_turns_committed_version",
        "turns",
        ["tenant_id", "session_id", "version"],
        unique=True,
        schema="app",
        postgresql_where=sa.text("status = 'committed'"),
    )
    op.create_table(
        "claims",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "session_id", name=op.f("pk_claims")),
        schema="shadow",
    )
    op.create_table("progress", sa.Column("settled_through", sa.BigInteger(), nullable=False), schema="shadow")
    op.create_table(
        "ledger",
        sa.Column("outbox_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("state IN ('compared', 'dropped', 'failed', 'unreplayable')", name=op.f("ck_ledger_state")),
        sa.PrimaryKeyConstraint("outbox_id", name=op.f("pk_ledger")),
        sa.UniqueConstraint("turn_id", name=op.f("uq_ledger_turn_id")),
        schema="shadow",
    )
    op.create_table(
        "accident_events",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("actor_client_id", sa.Text(), nullable=False),
        sa.Column("payload", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("previous_version", sa.Integer(), nullable=False),
        sa.Column("new_version", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_id"],
            ["app.accident_sessions.tenant_id", "app.accident_sessions.session_id"],
            name=op.f("fk_accident_events_accident_sessions"),
        ),
        sa.PrimaryKeyConstraint("tenant_id", "event_id", name=op.f("pk_accident_events")),
        sa.UniqueConstraint("tenant_id", "session_id", "new_version", name=op.f("uq_accident_events_tenant_id_session_id_new_version")),
        schema="app",
    )
    op.create_table(
        "accident_state",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("form_data", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("dialogue", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("state_version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "session_id"],
            ["app.accident_sessions.tenant_id", "app.accident_sessions.session_id"],
            name=op.f("fk_accident_state_accident_sessions"),
        ),
        sa.PrimaryKeyConstraint("tenant_id", "session_id", name=op.f("pk_accident_state")),
        schema="app",
    )
    op.create_table(
        "turn_outbox",
        sa.Column("outbox_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind IN ('committed', 'failed', 'cancelled')", name=op.f("ck_turn_outbox_kind")),
        sa.ForeignKeyConstraint(["turn_id"], ["app.turns.turn_id"], name=op.f("fk_turn_outbox_turns")),
        sa.PrimaryKeyConstraint("outbox_id", name=op.f("pk_turn_outbox")),
        sa.UniqueConstraint("turn_id", name=op.f("uq_turn_outbox_turn_id")),
        schema="app",
    )
    op.create_index("ix_turn_outbox_session", "turn_outbox", ["tenant_id", "session_id", "outbox_id"], unique=False, schema="app")
    op.create_table(
        "comparisons",
        sa.Column("comparison_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("outbox_id", sa.BigInteger(), nullable=False),
        sa.Column("turn_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("event_type", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("primary_backend", sa.Text(), nullable=False),
        sa.Column("shadow_backend", sa.Text(), nullable=False),
        sa.Column("from_stage", sa.Text(), nullable=True),
        sa.Column("primary_stage", sa.Text(), nullable=True),
        sa.Column("shadow_stage", sa.Text(), nullable=True),
        sa.Column("compared", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("shadow_outcome", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["outbox_id"], ["shadow.ledger.outbox_id"], name=op.f("fk_comparisons_ledger")),
        sa.PrimaryKeyConstraint("comparison_id", name=op.f("pk_comparisons")),
        sa.UniqueConstraint("outbox_id", name=op.f("uq_comparisons_outbox_id")),
        schema="shadow",
    )
    op.create_index("ix_comparisons_created", "comparisons", ["created_at"], unique=False, schema="shadow")
    op.create_table(
        "diffs",
        sa.Column("diff_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("comparison_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("severity IN ('critical', 'major', 'minor', 'info')", name=op.f("ck_diffs_severity")),
        sa.ForeignKeyConstraint(["comparison_id"], ["shadow.comparisons.comparison_id"], name=op.f("fk_diffs_comparisons")),
        sa.PrimaryKeyConstraint("diff_id", name=op.f("pk_diffs")),
        schema="shadow",
    )
    op.create_index("ix_diffs_comparison", "diffs", ["comparison_id"], unique=False, schema="shadow")
    op.create_index("ix_diffs_signature", "diffs", ["kind", "signature"], unique=False, schema="shadow")
    op.execute(STORED_ANSWER)
    op.execute(OPEN_SESSION)
    op.execute("INSERT INTO shadow.progress (settled_through) VALUES (0)")
    for statement in GRANTS:
        op.execute(statement)
    publish_first_plan()


def downgrade() -> None:
    # The schema `app` stays: it holds Alembic's own table. The schema `shadow` stays too: LangGraph keeps checkpoints in it.
    op.execute("DROP FUNCTION app.open_session")
    op.execute("DROP FUNCTION app.stored_answer")
    for table in ("progress", "claims", "diffs", "comparisons", "ledger"):
        op.drop_table(table, schema="shadow")
    for table in (
        "rollout_plans",
        "session_leases",
        "idempotency_records",
        "turn_outbox",
        "turns",
        "accident_events",
        "accident_state",
        "accident_sessions",
        "api_clients",
    ):
        op.drop_table(table, schema="app")
