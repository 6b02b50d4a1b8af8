//! The tables, as the steps that made them.

/// Step `n` leads from version `n` to version `n + 1` (`PRAGMA user_version`). What has been
/// released is never changed: a change is one more step at the end.
pub(super) const MIGRATIONS: &[&str] = &[PENDING, AGENTS, PENDING_BYTES];

/// Calls that were answered with a handle.
///
/// A row belongs to a component that is asked again (`guest_handle`) or to a process that runs it
/// (`run_id`). Times are Unix milliseconds.
const PENDING: &str = "
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
";

/// What agents are told, in three tables: events that are owed a turn, the ids of those that had
/// theirs, and answers that nobody has taken yet.
///
/// An event and an answer belong to the run that took them in (`run_id`). `mode` is how the answer
/// gets to the one who asked.
const AGENTS: &str = "
CREATE TABLE agent_events (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id     TEXT    NOT NULL UNIQUE,
    run_id       TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    instance_key TEXT    NOT NULL,
    mode         TEXT    NOT NULL CHECK (mode IN ('send', 'wait', 'async', 'delegate')),
    asker_agent  TEXT,
    asker_key    TEXT,
    attempts     INTEGER NOT NULL DEFAULT 0,
    event        TEXT    NOT NULL,
    CHECK ((mode = 'send') = (asker_agent IS NULL)),
    CHECK ((asker_agent IS NULL) = (asker_key IS NULL))
) STRICT;
CREATE INDEX agent_events_owed ON agent_events (agent, run_id, seq);
CREATE INDEX agent_events_asked ON agent_events (asker_agent, asker_key)
    WHERE mode IN ('async', 'delegate');
CREATE TABLE agent_handled (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT    NOT NULL UNIQUE
) STRICT;
CREATE TABLE agent_responses (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    correlation_id TEXT    NOT NULL,
    run_id         TEXT    NOT NULL,
    agent          TEXT    NOT NULL,
    instance_key   TEXT    NOT NULL,
    mode           TEXT    NOT NULL CHECK (mode IN ('async', 'delegate')),
    event          TEXT    NOT NULL,
    created_ms     INTEGER NOT NULL,
    UNIQUE (agent, instance_key, correlation_id)
) STRICT;
CREATE INDEX agent_responses_age ON agent_responses (created_ms);
";

/// What the records of each owner take, kept up to date by the table itself: messages, results, and
/// 512 bytes for the rest of a row. An ended call has no message.
const PENDING_BYTES: &str = "
UPDATE pending SET message = '' WHERE state IN ('done', 'cancelled');
CREATE TABLE pending_bytes (
    bundle       TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    instance_key TEXT    NOT NULL,
    bytes        INTEGER NOT NULL,
    PRIMARY KEY (bundle, agent, instance_key)
) STRICT, WITHOUT ROWID;
INSERT INTO pending_bytes
    SELECT bundle, agent, instance_key,
        sum(512 + octet_length(message) + coalesce(octet_length(result), 0))
    FROM pending GROUP BY bundle, agent, instance_key;
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
END;
";
