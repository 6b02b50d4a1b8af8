//! Why a schema cannot be used.

use super::limits::{
    PATTERNS_MAX, PATTERNS_MAX_BYTES, SCHEMA_MAX_BYTES, SCHEMA_MAX_DEPTH, SUBSCHEMAS_MAX,
    VISITS_MAX,
};

/// Why `parameters` cannot be used to check arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Longer than a schema may be.
    #[error("the schema is {bytes} bytes of JSON: at most {SCHEMA_MAX_BYTES} are allowed")]
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// Nested deeper than a schema may be.
    #[error("the schema is nested {depth} deep: at most {SCHEMA_MAX_DEPTH} are allowed")]
    TooDeep {
        /// Its depth.
        depth: usize,
    },
    /// More patterns than a schema may have.
    #[error(
        "the schema has {patterns} patterns: at most {} are allowed",
        PATTERNS_MAX
    )]
    TooManyPatterns {
        /// How many.
        patterns: usize,
    },
    /// More and larger patterns than schemas that are loaded together may have.
    #[error(
        "the patterns up to here take more than {PATTERNS_MAX_BYTES} bytes, all schemas together"
    )]
    PatternsTooLarge,
    /// A reference that leaves the schema.
    #[error("$ref '{reference}' leaves the schema: only references within it (#/…) are followed")]
    OuterRef {
        /// The reference, cut.
        reference: String,
    },
    /// A reference to nothing.
    #[error("$ref '{reference}' is an unresolved reference: the schema has nothing at that place")]
    DanglingRef {
        /// The reference, cut.
        reference: String,
    },
    /// A schema that applies itself to the same value again.
    #[error("$ref '{reference}' is a circular reference: it applies itself to the same value")]
    CircularRef {
        /// The reference, cut.
        reference: String,
    },
    /// A schema of too many parts.
    #[error("the schema has more than {} subschemas", SUBSCHEMAS_MAX)]
    TooManySubschemas,
    /// A schema whose parts multiply.
    #[error(
        "the schema applies more than {} subschemas on the way to one value",
        VISITS_MAX
    )]
    TooManyVisits,
    /// A pattern that is no regular expression, or none that is matched in linear time.
    #[error("'{pattern}' at {place} is not a pattern that can be matched in linear time")]
    Pattern {
        /// The pattern, cut.
        pattern: String,
        /// Where it stands, such as `parameters.properties.a.pattern`.
        place: String,
        /// The same as a JSON pointer into the schema.
        pointer: String,
    },
    /// Something else that is not JSON Schema.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where it stands, such as `parameters.properties.a.type`.
        place: String,
        /// The same as a JSON pointer into the schema.
        pointer: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl SchemaError {
    /// Where in the schema it is, as a JSON pointer; empty for the schema as a whole.
    pub fn pointer(&self) -> &str {
        match self {
            Self::Pattern { pointer, .. } | Self::Invalid { pointer, .. } => pointer,
            Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::TooManyPatterns { .. }
            | Self::PatternsTooLarge
            | Self::OuterRef { .. }
            | Self::DanglingRef { .. }
            | Self::CircularRef { .. }
            | Self::TooManySubschemas
            | Self::TooManyVisits => "",
        }
    }
}
