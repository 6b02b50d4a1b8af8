-- The size of each owner's records, updated by triggers: messages, results, and 512 bytes for the rest
-- of a row. An ended call has no message.
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
