//! The tables of pending calls.

use toolhost_store::Schema;

/// Schema of pending calls, as migration steps.
pub(crate) const SCHEMA: Schema = Schema {
    owner: "pending",
    steps: &[PENDING, PENDING_BYTES, PENDING_WORKDIR, PENDING_SUBJECT],
    legacy_versions: &[1, 3],
};

/// Pending calls.
///
/// A row belongs to a component that is polled (`guest_handle`) or to a process that runs it
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

/// The size of each owner's records, updated by triggers: messages, results, and 512 bytes for the rest
/// of a row. An ended call has no message.
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

/// The workdir of each call: the bytes of its path, and its inode number.
const PENDING_WORKDIR: &str = "
ALTER TABLE pending ADD COLUMN workdir BLOB;
ALTER TABLE pending ADD COLUMN workdir_inode INTEGER;
";

/// The subject of the turn of each call.
const PENDING_SUBJECT: &str = "
ALTER TABLE pending ADD COLUMN subject TEXT;
";
