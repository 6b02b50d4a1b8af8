-- Calls with handles, and what they wait for: the tables of all steps in SQLite together. Times are Unix milliseconds.
--
-- A row belongs to a component that is polled (guest_handle), to a process that runs it (run_id), or waits for somebody's
-- consent ('held'): it may then have the handle of its component, and a run_id if a call of that process waits for it. The
-- workdir is the bytes of its path, and its inode number.
CREATE TABLE pending (
    handle        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bundle        TEXT COLLATE "C" NOT NULL,
    agent         TEXT COLLATE "C" NOT NULL,
    instance_key  TEXT COLLATE "C" NOT NULL,
    call_id       TEXT COLLATE "C" NOT NULL,
    tool_name     TEXT COLLATE "C" NOT NULL,
    turn_id       TEXT COLLATE "C" NOT NULL,
    trace_id      TEXT COLLATE "C",
    message       TEXT COLLATE "C" NOT NULL,
    guest_handle  TEXT COLLATE "C",
    run_id        TEXT COLLATE "C",
    state         TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('running', 'waiting', 'held', 'done', 'cancelled')),
    result        TEXT COLLATE "C",
    created_ms    BIGINT NOT NULL,
    expires_ms    BIGINT NOT NULL,
    workdir       BYTEA,
    workdir_inode BIGINT,
    subject       TEXT COLLATE "C",
    CHECK (state <> 'waiting' OR guest_handle IS NOT NULL),
    CHECK (state <> 'running' OR run_id IS NOT NULL),
    CHECK ((result IS NOT NULL) = (state = 'done'))
);
CREATE INDEX pending_open ON pending (bundle, agent, instance_key, expires_ms)
    WHERE state IN ('running', 'waiting', 'held');
CREATE INDEX pending_running ON pending (run_id) WHERE state IN ('running', 'held');
CREATE INDEX pending_expiry ON pending (expires_ms);
-- The size of each owner's records, updated by triggers: messages, results, and 512 bytes for the rest
-- of a row. An ended call has no message.
CREATE TABLE pending_bytes (
    bundle       TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    instance_key TEXT COLLATE "C" NOT NULL,
    bytes        BIGINT NOT NULL,
    PRIMARY KEY (bundle, agent, instance_key)
);
-- What calls wait to do, and what was decided. The newest one of a handle counts, and is open while the call is held.
-- From due_ms on there is something to do: it was decided, or has expired. It is NULL for one that is not open.
CREATE TABLE approvals (
    number       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           TEXT COLLATE "C" NOT NULL UNIQUE,
    handle       TEXT COLLATE "C" NOT NULL,
    bundle       TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    instance_key TEXT COLLATE "C" NOT NULL,
    effect       TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    bound        TEXT COLLATE "C" NOT NULL,
    staging      TEXT COLLATE "C",
    bytes        BIGINT NOT NULL,
    created_ms   BIGINT NOT NULL,
    expires_ms   BIGINT NOT NULL,
    due_ms       BIGINT,
    decision     TEXT COLLATE "C" CHECK (decision IN ('approved', 'denied')),
    decided_ms   BIGINT,
    decided_by   TEXT COLLATE "C",
    why          TEXT COLLATE "C",
    released_by  TEXT COLLATE "C",
    CHECK ((decision IS NULL) = (decided_ms IS NULL)),
    CHECK (released_by IS NULL OR decision = 'approved')
);
CREATE INDEX approvals_of ON approvals (handle, number);
CREATE INDEX approvals_open ON approvals (bundle, agent, instance_key, due_ms, bytes)
    WHERE due_ms IS NOT NULL;
-- What is large of them. Only of an open one are an answer and a prefix needed.
CREATE TABLE approval_contents (
    number BIGINT PRIMARY KEY,
    shown  TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C",
    prefix BYTEA
);
-- What webhooks are told: that a call waits, and that somebody decided. It is sent at next_ms, until it was received or
-- until_ms has passed: then next_ms is NULL. The process taken_by sends it now; no other one does before next_ms, unless
-- that process has ended.
CREATE TABLE approval_notices (
    number   BIGINT NOT NULL,
    event    TEXT COLLATE "C" NOT NULL CHECK (event IN ('waiting', 'decided')),
    url      TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_ms  BIGINT,
    until_ms BIGINT NOT NULL,
    taken_by TEXT COLLATE "C",
    PRIMARY KEY (number, event)
);
CREATE INDEX approval_notices_due ON approval_notices (url, next_ms) WHERE next_ms IS NOT NULL;
CREATE FUNCTION pending_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO pending_bytes VALUES (new.bundle, new.agent, new.instance_key,
        512 + octet_length(new.message) + coalesce(octet_length(new.result), 0))
    ON CONFLICT (bundle, agent, instance_key) DO UPDATE SET bytes = pending_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_made AFTER INSERT ON pending FOR EACH ROW EXECUTE FUNCTION pending_made();
CREATE FUNCTION pending_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE pending_bytes SET bytes = bytes
        + octet_length(new.message) + coalesce(octet_length(new.result), 0)
        - octet_length(old.message) - coalesce(octet_length(old.result), 0)
    WHERE bundle = new.bundle AND agent = new.agent AND instance_key = new.instance_key;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_changed AFTER UPDATE OF message, result ON pending FOR EACH ROW EXECUTE FUNCTION pending_changed();
CREATE FUNCTION pending_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE pending_bytes SET bytes = bytes
        - 512 - octet_length(old.message) - coalesce(octet_length(old.result), 0)
    WHERE bundle = old.bundle AND agent = old.agent AND instance_key = old.instance_key;
    DELETE FROM pending_bytes
    WHERE bundle = old.bundle AND agent = old.agent AND instance_key = old.instance_key
        AND bytes <= 0;
    DELETE FROM approval_contents
    WHERE number IN (SELECT number FROM approvals WHERE handle = old.handle);
    DELETE FROM approvals WHERE handle = old.handle;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_removed AFTER DELETE ON pending FOR EACH ROW EXECUTE FUNCTION pending_removed();
CREATE FUNCTION approval_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE approvals SET due_ms = NULL
    WHERE handle = new.handle AND number < new.number AND due_ms IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER approval_made AFTER INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION approval_made();
CREATE FUNCTION approval_closed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE approval_contents SET answer = NULL, prefix = NULL WHERE number = new.number;
    RETURN NULL;
END $$;
CREATE TRIGGER approval_closed AFTER UPDATE OF due_ms ON approvals FOR EACH ROW WHEN (new.due_ms IS NULL) EXECUTE FUNCTION approval_closed();
CREATE FUNCTION pending_released() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE approvals SET due_ms = NULL WHERE handle = new.handle AND due_ms IS NOT NULL;
    -- An agent may hold and cancel as often as it likes.
    DELETE FROM approval_contents WHERE new.state = 'cancelled'
        AND number IN (SELECT number FROM approvals WHERE handle = new.handle AND decision IS NULL);
    RETURN NULL;
END $$;
CREATE TRIGGER pending_released AFTER UPDATE OF state ON pending FOR EACH ROW
    WHEN (old.state = 'held' AND new.state <> 'held') EXECUTE FUNCTION pending_released();
-- Whoever decides, also a process that knows no webhook. A late decision is told for an hour.
CREATE FUNCTION approval_decided() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO approval_notices (number, event, url, next_ms, until_ms)
    SELECT number, 'decided', url, new.decided_ms, greatest(until_ms, new.decided_ms + 3600000)
    FROM approval_notices WHERE number = new.number AND event = 'waiting';
    RETURN NULL;
END $$;
CREATE TRIGGER approval_decided AFTER UPDATE OF decision ON approvals FOR EACH ROW
    WHEN (old.decision IS NULL AND new.decision IS NOT NULL) EXECUTE FUNCTION approval_decided();
CREATE FUNCTION approval_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM approval_notices WHERE number = old.number;
    RETURN NULL;
END $$;
CREATE TRIGGER approval_removed AFTER DELETE ON approvals FOR EACH ROW EXECUTE FUNCTION approval_removed();
