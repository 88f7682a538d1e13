"""Sessions move between backends, are adopted from a running FastGPT, and can be erased; a turn whose owner died leaves a row.

Downgrade puts the first functions back; moves are forgotten, and an erased session becomes a finished one.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import context, op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


# As before, but what an erased turn said is no answer any more.
STORED_ANSWER = """
CREATE OR REPLACE FUNCTION app.stored_answer(p_tenant text, p_client text, p_key text, p_event text)
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
        WHERE e.tenant_id = p_tenant AND e.event_id = p_event AND t.outcome #> '{reply,stage}' IS NOT NULL;
END
$$
"""

# A lease that is taken over was never given back: its owner died in the middle of a turn, and an upstream's memory may have moved. That
# turn gets a row, so that the next one does not trust that memory, and so that the shadow's ledger counts it.
LOST_TURN = """
CREATE FUNCTION app.record_lost_turn(p_tenant text, p_session text, p_client text, p_note text)
RETURNS void LANGUAGE sql SET search_path = pg_catalog AS $$
    WITH turn AS (
        INSERT INTO app.turns (turn_id, tenant_id, session_id, client_id, event_id, version, status, event_type, input, outcome,
                               backend, route_reason, plan_version, request_id, received_at)
        SELECT one.id, p_tenant, p_session, coalesce(s.client_id, p_client), one.id::text, coalesce(s.state_version, 0), 'cancelled',
               'unknown', '{}',
               jsonb_build_object('backend', coalesce(s.backend, 'unknown'),
                                  'failure', jsonb_build_object('kind', 'interrupted', 'note', p_note)),
               coalesce(s.backend, 'unknown'), p_note, coalesce(s.plan_version, 0), '', clock_timestamp()
        FROM (SELECT gen_random_uuid() AS id) AS one
        LEFT JOIN app.accident_sessions s ON s.tenant_id = p_tenant AND s.session_id = p_session
        RETURNING turn_id, version
    )
    INSERT INTO app.turn_outbox (turn_id, tenant_id, session_id, kind)
    SELECT turn.turn_id, p_tenant, p_session, 'cancelled'
    FROM turn JOIN app.accident_sessions s ON s.tenant_id = p_tenant AND s.session_id = p_session AND s.is_sampled
$$
"""

# The first version's care holds: READ COMMITTED gives every statement of a VOLATILE function its own snapshot, so whoever waited for the
# lease row sees what the former holder committed; hence the second look for a stored answer.
OPEN_SESSION = """
CREATE FUNCTION app.open_session(
    p_tenant text, p_session text, p_client text, p_key text, p_event text,
    p_token uuid, p_lease_seconds double precision, p_transcript integer
) RETURNS TABLE (
    stored_hash bytea, stored_reply jsonb, form_data jsonb, dialogue jsonb, stage_code text, state_version integer,
    backend text, route_reason text, plan_version bigint, bucket integer, is_sampled boolean, transcript jsonb, invalid_turns bigint,
    memory text, loose_turns bigint, served_by text, is_erased boolean
) LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    answer record;
    is_taken_over boolean;
BEGIN
    SELECT * INTO answer FROM app.stored_answer(p_tenant, p_client, p_key, p_event);
    IF NOT FOUND THEN
        INSERT INTO app.session_leases AS held (tenant_id, session_id, token, until)
        VALUES (p_tenant, p_session, p_token, clock_timestamp() + make_interval(secs => p_lease_seconds))
        ON CONFLICT (tenant_id, session_id) DO UPDATE SET token = excluded.token, until = excluded.until
        WHERE held.until < clock_timestamp()
        RETURNING xmax::text <> '0' INTO is_taken_over;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        IF is_taken_over THEN
            PERFORM app.record_lost_turn(p_tenant, p_session, p_client, 'owner_gone');
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
                   NULL::text, NULL::text, NULL::bigint, NULL::integer, NULL::boolean, NULL::jsonb, 0::bigint, NULL::text, 0::bigint,
                   NULL::text, false;
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
               -- The upstream memory that holds the session: that of the newest turn that spoke, if its backend has one.
               spoken.memory,
               -- Turns since then that may have moved that memory without a commit of ours; a written field between them changes nothing.
               (SELECT count(*) FROM app.turns f
                WHERE f.tenant_id = p_tenant AND f.session_id = p_session AND f.version >= coalesce(spoken.version, 0)
                  AND f.status <> 'committed' AND f.event_type <> 'set_info'
                  AND f.outcome #>> '{failure,kind}' IS DISTINCT FROM 'unreachable'),
               spoken.backend, coalesce(s.status = 'erased', false)
        FROM (SELECT 1) AS one
        LEFT JOIN app.accident_sessions s ON s.tenant_id = p_tenant AND s.session_id = p_session
        LEFT JOIN app.accident_state st ON st.tenant_id = p_tenant AND st.session_id = p_session
        LEFT JOIN LATERAL (
            SELECT t.version, t.backend, t.outcome #>> '{receipt,memory}' AS memory FROM app.turns t
            WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND t.status = 'committed'
              AND (t.output_text IS NOT NULL OR t.outcome #>> '{receipt,memory}' IS NOT NULL)
            ORDER BY t.version DESC LIMIT 1
        ) AS spoken ON true;
END
$$
"""

# What people said leaves every table of ours; that there was a session, how often it changed and who served it stays. Runs as the owner,
# because nobody else may change a turn or an event. The caller holds the session's lease.
ERASE_SESSION = """
CREATE FUNCTION app.erase_session(p_tenant text, p_session text, p_token uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    DELETE FROM app.session_leases l WHERE l.tenant_id = p_tenant AND l.session_id = p_session AND l.token = p_token;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease is gone' USING ERRCODE = 'serialization_failure';
    END IF;
    DELETE FROM app.idempotency_records i USING app.turns t
        WHERE t.tenant_id = p_tenant AND t.session_id = p_session AND i.tenant_id = p_tenant AND i.turn_id = t.turn_id;
    DELETE FROM app.idempotency_records i
        WHERE i.tenant_id = p_tenant AND i.session_id = p_session;
    DELETE FROM shadow.diffs d USING shadow.comparisons c
        WHERE c.tenant_id = p_tenant AND c.session_id = p_session AND d.comparison_id = c.comparison_id;
    DELETE FROM shadow.comparisons c WHERE c.tenant_id = p_tenant AND c.session_id = p_session;
    UPDATE app.turns t SET input = '{}', after = NULL, output_text = NULL, outcome = t.outcome - 'reply'
        WHERE t.tenant_id = p_tenant AND t.session_id = p_session;
    UPDATE app.accident_events e SET payload = '{}' WHERE e.tenant_id = p_tenant AND e.session_id = p_session;
    UPDATE app.accident_state st SET form_data = '{}', dialogue = '{}', updated_at = now()
        WHERE st.tenant_id = p_tenant AND st.session_id = p_session;
    UPDATE app.accident_sessions s SET status = 'erased', updated_at = now(), completed_at = coalesce(s.completed_at, now())
        WHERE s.tenant_id = p_tenant AND s.session_id = p_session;
END
$$
"""

GRANTS = (
    "REVOKE EXECUTE ON FUNCTION app.open_session, app.record_lost_turn, app.erase_session FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION app.open_session, app.record_lost_turn, app.erase_session TO crossfade_app",
    "GRANT SELECT, INSERT ON app.session_moves TO crossfade_app",
    "GRANT SELECT ON app.session_moves TO crossfade_reader",
)
_STATUS = "ck_accident_sessions_status"


def upgrade() -> None:
    op.create_table(
        "session_moves",
        sa.Column("move_id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("from_backend", sa.Text(), nullable=False),
        sa.Column("to_backend", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("lost", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("author", sa.Text(), server_default="", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("plan_version", sa.BigInteger(), nullable=False),
        sa.Column("state_version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("outcome IN ('moved', 'refused')", name=op.f("ck_session_moves_outcome")),
        sa.PrimaryKeyConstraint("move_id", name=op.f("pk_session_moves")),
        schema="app",
    )
    op.create_index("ix_session_moves_session", "session_moves", ["tenant_id", "session_id", "move_id"], unique=False, schema="app")
    # Which session a kept reply belongs to: an acknowledged write has no turn to find it by.
    op.add_column("idempotency_records", sa.Column("session_id", sa.Text(), server_default="", nullable=False), schema="app")
    op.drop_constraint(_STATUS, "accident_sessions", schema="app")
    known = "status IN ('active', 'handed_off', 'completed', 'erased')"
    op.create_check_constraint(op.f(_STATUS), "accident_sessions", known, schema="app")
    op.execute("DROP FUNCTION app.open_session")
    for statement in (STORED_ANSWER, LOST_TURN, OPEN_SESSION, ERASE_SESSION, *GRANTS):
        op.execute(statement)


def downgrade() -> None:
    first = context.script.get_revision("0001").module
    for function in ("open_session", "record_lost_turn", "erase_session", "stored_answer"):
        op.execute(f"DROP FUNCTION app.{function}")
    op.execute("UPDATE app.accident_sessions SET status = 'completed' WHERE status = 'erased'")
    op.drop_constraint(_STATUS, "accident_sessions", schema="app")
    op.create_check_constraint(op.f(_STATUS), "accident_sessions", "status IN ('active', 'handed_off', 'completed')", schema="app")
    op.drop_column("idempotency_records", "session_id", schema="app")
    op.drop_table("session_moves", schema="app")
    op.execute(first.STORED_ANSWER)
    op.execute(first.OPEN_SESSION)
    op.execute("REVOKE EXECUTE ON FUNCTION app.open_session, app.stored_answer FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION app.open_session, app.stored_answer TO crossfade_app")
