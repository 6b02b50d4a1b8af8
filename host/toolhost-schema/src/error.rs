//! Errors of schemas.

/// Why a schema cannot be used to check arguments or outputs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema is too large, or checking arguments with it costs too much. The message names the limit.
    #[error("{0}")]
    Limit(String),
    /// A reference leaves the schema.
    #[error("$ref '{0}' leaves the schema: only references within it (#/…) are followed")]
    OuterRef(String),
    /// A reference is unresolved.
    #[error("$ref '{0}' is an unresolved reference: the schema has nothing at that place")]
    DanglingRef(String),
    /// A schema applies itself to the same value again.
    #[error("$ref '{0}' is a circular reference: it applies itself to the same value")]
    CircularRef(String),
    /// A pattern is not a regular expression, or matching it may take more than linear time.
    #[error("'{pattern}' at {place} is not a pattern that can be matched in linear time")]
    Pattern {
        /// The pattern, shortened.
        pattern: String,
        /// Its place, such as `parameters.properties.a.pattern`.
        place: String,
        /// Its place as a JSON pointer into the schema.
        pointer: String,
    },
    /// Anything else that is not valid JSON Schema.
    #[error("{place}: {problem}")]
    Invalid {
        /// The place, such as `parameters.properties.a.type`.
        place: String,
        /// The place as a JSON pointer into the schema.
        pointer: String,
        /// The problem.
        problem: String,
    },
}

impl SchemaError {
    /// Returns the place in the schema as a JSON pointer; empty for the whole schema.
    pub fn pointer(&self) -> &str {
        if let Self::Pattern { pointer, .. } | Self::Invalid { pointer, .. } = self {
            pointer
        } else {
            ""
        }
    }

    /// Returns the next step for the author of the schema.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Limit(_) => "Write a smaller schema: a model must read it.",
            Self::OuterRef(_) | Self::DanglingRef(_) => {
                "Put the definition under $defs and write $ref: '#/$defs/name'."
            }
            Self::CircularRef(_) => "Refer to the schema from a property or an item instead.",
            Self::Pattern { .. } => {
                "Write it without look-around and back-references, and with small repetitions."
            }
            Self::Invalid { .. } => "Write it as JSON Schema, draft 2020-12.",
        }
    }
}
