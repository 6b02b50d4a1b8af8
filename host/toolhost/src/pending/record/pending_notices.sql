-- What webhooks are told: that a call waits, and that somebody decided. It is sent at next_ms, until it was received or
-- until_ms has passed: then next_ms is NULL. The process taken_by sends it now; no other one does before next_ms, unless
-- that process has ended.
CREATE TABLE approval_notices (
    number   INTEGER NOT NULL,
    event    TEXT    NOT NULL CHECK (event IN ('waiting', 'decided')),
    url      TEXT    NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_ms  INTEGER,
    until_ms INTEGER NOT NULL,
    taken_by TEXT,
    PRIMARY KEY (number, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_notices_due ON approval_notices (url, next_ms) WHERE next_ms IS NOT NULL;
-- Whoever decides, also a process that knows no webhook. A late decision is told for an hour.
CREATE TRIGGER approval_decided AFTER UPDATE OF decision ON approvals
WHEN old.decision IS NULL AND new.decision IS NOT NULL BEGIN
    INSERT INTO approval_notices (number, event, url, next_ms, until_ms)
    SELECT number, 'decided', url, new.decided_ms, max(until_ms, new.decided_ms + 3600000)
    FROM approval_notices WHERE number = new.number AND event = 'waiting';
END;
CREATE TRIGGER approval_removed AFTER DELETE ON approvals BEGIN
    DELETE FROM approval_notices WHERE number = old.number;
END;
