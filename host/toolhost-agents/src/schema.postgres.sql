-- Three tables: events that wait for their turn, ids of events that were handled, and responses that
-- were not yet taken.
--
-- An event or a response belongs to the run that accepted it (run_id). mode is how the response
-- reaches the requester.
CREATE TABLE agent_events (
    seq          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id     TEXT COLLATE "C" NOT NULL UNIQUE,
    run_id       TEXT COLLATE "C" NOT NULL,
    agent        TEXT COLLATE "C" NOT NULL,
    instance_key TEXT COLLATE "C" NOT NULL,
    mode         TEXT COLLATE "C" NOT NULL CHECK (mode IN ('send', 'wait', 'async', 'delegate')),
    asker_agent  TEXT COLLATE "C",
    asker_key    TEXT COLLATE "C",
    attempts     BIGINT NOT NULL DEFAULT 0,
    event        TEXT COLLATE "C" NOT NULL,
    CHECK ((mode = 'send') = (asker_agent IS NULL)),
    CHECK ((asker_agent IS NULL) = (asker_key IS NULL))
);
CREATE INDEX agent_events_owed ON agent_events (agent, run_id, seq);
CREATE INDEX agent_events_asked ON agent_events (asker_agent, asker_key)
    WHERE mode IN ('async', 'delegate');
CREATE TABLE agent_handled (
    seq      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id TEXT COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE agent_responses (
    seq            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    correlation_id TEXT COLLATE "C" NOT NULL,
    run_id         TEXT COLLATE "C" NOT NULL,
    agent          TEXT COLLATE "C" NOT NULL,
    instance_key   TEXT COLLATE "C" NOT NULL,
    mode           TEXT COLLATE "C" NOT NULL CHECK (mode IN ('async', 'delegate')),
    event          TEXT COLLATE "C" NOT NULL,
    created_ms     BIGINT NOT NULL,
    UNIQUE (agent, instance_key, correlation_id)
);
CREATE INDEX agent_responses_age ON agent_responses (created_ms);
