-- What calls have used of their budgets, for each window. What a process has taken for its next calls counts as used
-- until it is given back. Times are Unix milliseconds.
CREATE TABLE budgets (
    bundle    TEXT COLLATE "C" NOT NULL,
    agent     TEXT COLLATE "C" NOT NULL, -- empty: of all agents
    tool      TEXT COLLATE "C" NOT NULL, -- empty: of all tools
    instance  TEXT COLLATE "C" NOT NULL, -- empty: of all instances; otherwise '=' and the key
    period    TEXT COLLATE "C" NOT NULL CHECK (period IN ('hour', 'day')),
    starts_ms BIGINT NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    used      BIGINT NOT NULL CHECK (used >= 0),
    PRIMARY KEY (bundle, period, starts_ms, agent, tool, instance, kind)
);
CREATE INDEX budgets_start ON budgets (starts_ms);
