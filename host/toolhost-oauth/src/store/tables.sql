-- Secrets are BLOBs that Cipher encrypted for their place. Times are Unix milliseconds, scopes have
-- spaces between them. subject is empty if a grant is shared by all users. client is a digest of what
-- the app's client is.
CREATE TABLE oauth_sessions (
    id            TEXT    NOT NULL PRIMARY KEY,
    app           TEXT    NOT NULL,
    subject       TEXT    NOT NULL,
    client        TEXT    NOT NULL,
    flow          TEXT    NOT NULL CHECK (flow IN ('code', 'device')),
    scopes        TEXT    NOT NULL,
    redirect      TEXT,
    state         BLOB,
    verifier      BLOB,
    device        BLOB,
    created_ms    INTEGER NOT NULL,
    expires_ms    INTEGER NOT NULL,
    interval_ms   INTEGER NOT NULL,
    poll_after_ms INTEGER NOT NULL,
    CHECK ((flow = 'code') = (state IS NOT NULL AND verifier IS NOT NULL AND redirect IS NOT NULL)),
    CHECK ((flow = 'device') = (device IS NOT NULL))
) STRICT;
CREATE INDEX oauth_sessions_expiry ON oauth_sessions (expires_ms);
CREATE TABLE oauth_grants (
    app            TEXT    NOT NULL,
    subject        TEXT    NOT NULL,
    client         TEXT    NOT NULL,
    asked          TEXT    NOT NULL,
    scopes         TEXT    NOT NULL,
    access         BLOB    NOT NULL,
    refresh        BLOB,
    granted_ms     INTEGER NOT NULL,
    issued_ms      INTEGER NOT NULL,
    expires_ms     INTEGER,
    revision       INTEGER NOT NULL,
    lease          TEXT,
    lease_until_ms INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    retry_ms       INTEGER NOT NULL,
    PRIMARY KEY (app, subject, client)
) STRICT;
