//! The tables of the orchestrator.

use toolhost_store::Schema;

/// The tables of the orchestrator, as the steps that make them.
pub(crate) const SCHEMA: Schema = Schema {
    owner: "agents",
    steps: &[include_str!("schema.sql")],
    postgres: &[include_str!("schema.postgres.sql")],
    legacy_versions: &[2],
};
