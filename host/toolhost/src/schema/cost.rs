//! What a schema can cost the host, found before it is used.
//!
//! The validator follows every reference every time: thirty definitions that each name the next one
//! twice are a billion visits. (It remembers results only within recursive schemas, and only for
//! yes or no; explaining a refusal remembers nothing.) So the visits are counted here, once, on the
//! graph of subschemas: at compile time to refuse such schemas, at call time to refuse arguments
//! too large for the schema, and to leave out explanations that would take too long.

mod graph;
mod walk;

use serde_json::Value;

use super::SchemaError;
use super::json::Measure;
use graph::Graph;

/// Most patterns of one schema: compiling one takes up to 10 ms.
pub(super) const PATTERNS_MAX: usize = 100;

/// Most subschemas of one schema.
pub(super) const SUBSCHEMAS_MAX: usize = 10_000;

/// Most subschemas applied on the way to one value of the arguments. Schemas in use stay below 500.
pub(super) const VISITS_MAX: u64 = 2_000;

/// Most visits of one check, at 10 ns to 50 ns each.
const CHECK_MAX: u64 = 50_000_000;

/// Most visits of one explanation, at about 2 µs each.
const EXPLAIN_MAX: u64 = 200_000;

/// Deepest arguments for which the cost of an explanation is known; deeper ones go unexplained.
const EXPLAINED_DEPTH: usize = 64;

/// What asking a schema costs, in visits of subschemas.
#[derive(Debug)]
pub(super) struct Cost {
    /// To check one value of the arguments.
    check: u64,
    /// To explain why one value does not fit, by depth of the arguments.
    explain: Vec<u64>,
}

impl Cost {
    /// Whether arguments of this size are checked at all.
    pub(super) fn allows_check(&self, args: Measure) -> bool {
        self.check.saturating_mul(args.values) <= CHECK_MAX
    }

    /// Whether a refusal of arguments of this size is explained.
    pub(super) fn allows_explanation(&self, args: Measure) -> bool {
        self.explain
            .get(args.depth)
            .is_some_and(|visits| visits.saturating_mul(args.values) <= EXPLAIN_MAX)
    }
}

/// Counts what a schema costs.
///
/// # Errors
/// [`SchemaError`] where it is too much, or where a reference leaves the schema, leads nowhere or
/// leads back to itself.
pub(super) fn assess(schema: &Value) -> Result<Cost, SchemaError> {
    let graph = Graph::of(schema)?;
    if graph.patterns() > PATTERNS_MAX {
        return Err(SchemaError::TooManyPatterns {
            patterns: graph.patterns(),
        });
    }
    let order = graph.order_within_a_value()?;
    let check = graph.visits_to_check();
    if check > VISITS_MAX {
        return Err(SchemaError::TooManyVisits);
    }
    let mut explain = Vec::new();
    let mut shallower = Vec::new();
    for _depth in 0..=EXPLAINED_DEPTH {
        let visits = graph.visits_to_explain(&order, &shallower);
        let at_root = visits.first().copied().unwrap_or(1);
        if at_root > EXPLAIN_MAX {
            break;
        }
        explain.push(at_root);
        shallower = visits;
    }
    Ok(Cost { check, explain })
}

#[cfg(test)]
mod tests;
