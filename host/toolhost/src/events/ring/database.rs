//! The database of past calls.

use toolhost_store::Schema;

/// Its name in the state root.
pub(super) const FILE_NAME: &str = "calls.db";

pub(super) const SCHEMA: Schema = Schema {
    owner: "calls",
    steps: &[include_str!("calls.sql")],
    // Always a file of SQLite.
    postgres: &[],
    legacy_versions: &[],
};
