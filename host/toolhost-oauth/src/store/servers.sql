-- The table of MCP servers. record is a BLOB that Cipher encrypted for its place; none if
-- only a lease is held.
CREATE TABLE oauth_servers (
    server         TEXT    NOT NULL,
    url            TEXT    NOT NULL,
    record         BLOB,
    lease          TEXT,
    lease_until_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (server, url)
) STRICT;
