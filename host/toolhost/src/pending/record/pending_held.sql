-- Calls that wait for somebody's consent: the state 'held'. A held call may have the handle of its component; and a run_id,
-- if a call of that process waits for it.
CREATE TABLE pending_new (
    handle        TEXT    NOT NULL PRIMARY KEY,
    bundle        TEXT    NOT NULL,
    agent         TEXT    NOT NULL,
    instance_key  TEXT    NOT NULL,
    call_id       TEXT    NOT NULL,
    tool_name     TEXT    NOT NULL,
    turn_id       TEXT    NOT NULL,
    trace_id      TEXT,
    message       TEXT    NOT NULL,
    guest_handle  TEXT,
    run_id        TEXT,
    state         TEXT    NOT NULL
        CHECK (state IN ('running', 'waiting', 'held', 'done', 'cancelled')),
    result        TEXT,
    created_ms    INTEGER NOT NULL,
    expires_ms    INTEGER NOT NULL,
    workdir       BLOB,
    workdir_inode INTEGER,
    subject       TEXT,
    CHECK (state <> 'waiting' OR guest_handle IS NOT NULL),
    CHECK (state <> 'running' OR run_id IS NOT NULL),
    CHECK ((result IS NOT NULL) = (state = 'done'))
) STRICT;
INSERT INTO pending_new
    SELECT handle, bundle, agent, instance_key, call_id, tool_name, turn_id, trace_id, message, guest_handle,
        run_id, state, result, created_ms, expires_ms, workdir, workdir_inode, subject
    FROM pending;
DROP TABLE pending;
ALTER TABLE pending_new RENAME TO pending;
CREATE INDEX pending_open ON pending (bundle, agent, instance_key, expires_ms)
    WHERE state IN ('running', 'waiting', 'held');
CREATE INDEX pending_running ON pending (run_id) WHERE state IN ('running', 'held');
CREATE INDEX pending_expiry ON pending (expires_ms);
CREATE TRIGGER pending_made AFTER INSERT ON pending BEGIN
    INSERT INTO pending_bytes VALUES (new.bundle, new.agent, new.instance_key,
        512 + octet_length(new.message) + coalesce(octet_length(new.result), 0))
    ON CONFLICT (bundle, agent, instance_key) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER pending_changed AFTER UPDATE OF message, result ON pending BEGIN
    UPDATE pending_bytes SET bytes = bytes
        + octet_length(new.message) + coalesce(octet_length(new.result), 0)
        - octet_length(old.message) - coalesce(octet_length(old.result), 0)
    WHERE bundle = new.bundle AND agent = new.agent AND instance_key = new.instance_key;
END;
CREATE TRIGGER pending_removed AFTER DELETE ON pending BEGIN
    UPDATE pending_bytes SET bytes = bytes
        - 512 - octet_length(old.message) - coalesce(octet_length(old.result), 0)
    WHERE bundle = old.bundle AND agent = old.agent AND instance_key = old.instance_key;
    DELETE FROM pending_bytes
    WHERE bundle = old.bundle AND agent = old.agent AND instance_key = old.instance_key
        AND bytes <= 0;
    DELETE FROM approval_contents
    WHERE number IN (SELECT number FROM approvals WHERE handle = old.handle);
    DELETE FROM approvals WHERE handle = old.handle;
END;
-- What calls wait to do, and what was decided. The newest one of a handle counts, and is open while the call is held.
-- From due_ms on there is something to do: it was decided, or has expired. It is NULL for one that is not open.
CREATE TABLE approvals (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    handle       TEXT    NOT NULL,
    bundle       TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    instance_key TEXT    NOT NULL,
    effect       TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    bound        TEXT    NOT NULL,
    staging      TEXT,
    bytes        INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    due_ms       INTEGER,
    decision     TEXT    CHECK (decision IN ('approved', 'denied')),
    decided_ms   INTEGER,
    decided_by   TEXT,
    why          TEXT,
    released_by  TEXT,
    CHECK ((decision IS NULL) = (decided_ms IS NULL)),
    CHECK (released_by IS NULL OR decision = 'approved')
) STRICT;
CREATE INDEX approvals_of ON approvals (handle, number);
CREATE INDEX approvals_open ON approvals (bundle, agent, instance_key, due_ms, bytes)
    WHERE due_ms IS NOT NULL;
-- What is large of them. Only of an open one are an answer and a prefix needed.
CREATE TABLE approval_contents (
    number INTEGER PRIMARY KEY,
    shown  TEXT    NOT NULL,
    answer TEXT,
    prefix BLOB
) STRICT;
CREATE TRIGGER approval_made AFTER INSERT ON approvals BEGIN
    UPDATE approvals SET due_ms = NULL
    WHERE handle = new.handle AND number < new.number AND due_ms IS NOT NULL;
END;
CREATE TRIGGER approval_closed AFTER UPDATE OF due_ms ON approvals WHEN new.due_ms IS NULL BEGIN
    UPDATE approval_contents SET answer = NULL, prefix = NULL WHERE number = new.number;
END;
CREATE TRIGGER pending_released AFTER UPDATE OF state ON pending
WHEN old.state = 'held' AND new.state <> 'held' BEGIN
    UPDATE approvals SET due_ms = NULL WHERE handle = new.handle AND due_ms IS NOT NULL;
    -- An agent may hold and cancel as often as it likes.
    DELETE FROM approval_contents WHERE new.state = 'cancelled'
        AND number IN (SELECT number FROM approvals WHERE handle = new.handle AND decision IS NULL);
END;
