-- Pending calls.
--
-- A row belongs to a component that is polled (guest_handle) or to a process that runs it
-- (run_id). Times are Unix milliseconds.
CREATE TABLE pending (
    handle       TEXT    NOT NULL PRIMARY KEY,
    bundle       TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    instance_key TEXT    NOT NULL,
    call_id      TEXT    NOT NULL,
    tool_name    TEXT    NOT NULL,
    turn_id      TEXT    NOT NULL,
    trace_id     TEXT,
    message      TEXT    NOT NULL,
    guest_handle TEXT,
    run_id       TEXT,
    state        TEXT    NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'cancelled')),
    result       TEXT,
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    CHECK ((guest_handle IS NULL) <> (run_id IS NULL)),
    CHECK ((result IS NOT NULL) = (state = 'done'))
) STRICT;
CREATE INDEX pending_open ON pending (bundle, agent, instance_key, expires_ms)
    WHERE state IN ('running', 'waiting');
CREATE INDEX pending_running ON pending (run_id) WHERE state = 'running';
CREATE INDEX pending_expiry ON pending (expires_ms);
