CREATE TABLE changesets (
    id TEXT NOT NULL PRIMARY KEY,
    bundle TEXT NOT NULL,
    agent TEXT NOT NULL,
    instance TEXT NOT NULL,
    state TEXT NOT NULL,
    run_id TEXT,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX changesets_of ON changesets (bundle, agent, instance, state);
CREATE TABLE changeset_files (
    changeset TEXT NOT NULL,
    path TEXT NOT NULL,
    base TEXT,
    content TEXT,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (changeset, path)
) STRICT;
