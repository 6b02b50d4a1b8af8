//! What a schema may have at most.

/// Longest schema, as JSON, in bytes.
pub(super) const SCHEMA_MAX_BYTES: usize = 256 * 1024;

/// Deepest schema, as JSON: what arguments may be, with the schema's own two levels for each.
pub(super) const SCHEMA_MAX_DEPTH: usize = 128;

/// Most patterns of one schema.
pub(super) const PATTERNS_MAX: usize = 100;

/// Most subschemas of one schema.
pub(super) const SUBSCHEMAS_MAX: usize = 10_000;

/// Most subschemas applied on the way to one value of the arguments. Schemas in use stay below 500.
pub(super) const VISITS_MAX: u64 = 2_000;

/// Largest compiled pattern, in bytes: eight classes of letters of all languages. Compiling takes
/// about 10 ms for each MiB.
pub(super) const PATTERN_MAX_BYTES: usize = 256 * 1024;

/// Largest compiled patterns of one bundle together, in bytes. They are kept as long as it is loaded,
/// at about three times this size.
pub(super) const PATTERNS_MAX_BYTES: usize = 16 << 20;
