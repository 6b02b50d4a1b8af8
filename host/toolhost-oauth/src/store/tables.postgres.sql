-- Secrets are BLOBs that Cipher encrypted for their place. Times are Unix milliseconds, scopes have
-- spaces between them. subject is empty if a grant is shared by all users. client is a digest of what
-- the app's client is.
CREATE TABLE oauth_sessions (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    app           TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL,
    client        TEXT COLLATE "C" NOT NULL,
    flow          TEXT COLLATE "C" NOT NULL CHECK (flow IN ('code', 'device')),
    scopes        TEXT COLLATE "C" NOT NULL,
    redirect      TEXT COLLATE "C",
    state         BYTEA,
    verifier      BYTEA,
    device        BYTEA,
    created_ms    BIGINT NOT NULL,
    expires_ms    BIGINT NOT NULL,
    interval_ms   BIGINT NOT NULL,
    poll_after_ms BIGINT NOT NULL,
    CHECK ((flow = 'code') = (state IS NOT NULL AND verifier IS NOT NULL AND redirect IS NOT NULL)),
    CHECK ((flow = 'device') = (device IS NOT NULL))
);
CREATE INDEX oauth_sessions_expiry ON oauth_sessions (expires_ms);
CREATE TABLE oauth_grants (
    app            TEXT COLLATE "C" NOT NULL,
    subject        TEXT COLLATE "C" NOT NULL,
    client         TEXT COLLATE "C" NOT NULL,
    asked          TEXT COLLATE "C" NOT NULL,
    scopes         TEXT COLLATE "C" NOT NULL,
    access         BYTEA    NOT NULL,
    refresh        BYTEA,
    granted_ms     BIGINT NOT NULL,
    issued_ms      BIGINT NOT NULL,
    expires_ms     BIGINT,
    revision       BIGINT NOT NULL,
    lease          TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL,
    failures       BIGINT NOT NULL,
    retry_ms       BIGINT NOT NULL,
    PRIMARY KEY (app, subject, client)
);
-- The table of MCP servers. record is a BYTEA that Cipher encrypted for its place; none if
-- only a lease is held.
CREATE TABLE oauth_servers (
    server         TEXT COLLATE "C" NOT NULL,
    url            TEXT COLLATE "C" NOT NULL,
    record         BYTEA,
    lease          TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (server, url)
);
