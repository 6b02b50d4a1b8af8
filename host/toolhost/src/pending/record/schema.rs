//! The tables of pending calls.

use toolhost_store::Schema;

/// Schema of pending calls, as migration steps.
pub(crate) const SCHEMA: Schema = Schema {
    owner: "pending",
    steps: &[
        include_str!("pending.sql"),
        include_str!("pending_bytes.sql"),
        include_str!("pending_workdir.sql"),
        include_str!("pending_subject.sql"),
        include_str!("pending_held.sql"),
        include_str!("pending_notices.sql"),
    ],
    postgres: &[include_str!("pending.postgres.sql")],
    legacy_versions: &[1, 3],
};
