-- What is filtered by. Names are numbers that are derived from them, so that a row is short and a million are read in
-- milliseconds; `details` has the texts.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    tool INTEGER NOT NULL,
    code INTEGER,
    agent INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    call INTEGER NOT NULL,
    parent INTEGER
) STRICT;
CREATE INDEX calls_time ON calls (time, kind, status);
CREATE INDEX calls_status ON calls (status) WHERE status > 0;
CREATE INDEX calls_tool ON calls (tool);
CREATE INDEX calls_code ON calls (code) WHERE code IS NOT NULL;
CREATE INDEX calls_agent ON calls (agent);
CREATE INDEX calls_instance ON calls (instance);
CREATE INDEX calls_call ON calls (call);
CREATE INDEX calls_parent ON calls (parent) WHERE parent IS NOT NULL;
CREATE TABLE details (
    id INTEGER PRIMARY KEY,
    duration REAL,
    agent TEXT NOT NULL,
    instance TEXT NOT NULL,
    turn TEXT NOT NULL,
    step TEXT NOT NULL,
    call TEXT NOT NULL,
    parent TEXT,
    tool TEXT NOT NULL,
    code TEXT,
    message TEXT,
    handle TEXT,
    usage TEXT NOT NULL,
    recording TEXT,
    arguments TEXT,
    output TEXT
) STRICT;
CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', contentless_delete = 1, detail = none);
-- Calls that were not written, because too many waited or the database could not be written.
CREATE TABLE losses (time INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;
