//! The cost of checking arguments, computed when a schema is compiled.
//!
//! The validator follows every reference each time: thirty definitions, each of which refers twice to the
//! next one, are a billion visits. (It caches results only in recursive schemas, and never when it
//! explains an error.) So the visits of subschemas are counted on their graph, and with them the
//! comparisons with values of the schema and the states of patterns, which read each byte of a string.
//! Schemas that cost too much are refused, and arguments that are too large for their schema. An error
//! whose explanation would take too long is not explained.

mod graph;
pub(super) mod pattern;
mod walk;

use std::collections::HashMap;

use serde_json::Value;

use super::error::SchemaError;
use super::json::{self, Measure};
use graph::{Graph, Weigh};
use pattern::PatternBudget;

/// Maximum number of subschemas that apply to one value of the arguments. Real schemas have fewer than
/// 500.
const VISITS_MAX: u64 = 2_000;

/// Maximum number of visits and comparisons of a check, at 10 ns to 50 ns each.
const CHECK_MAX: u64 = 50_000_000;

/// Maximum number of visits of an explanation, at about 2 µs each.
const EXPLAIN_MAX: u64 = 200_000;

/// Maximum number of states that read the bytes of the strings, at up to 20 ns each.
const READ_MAX: u64 = 50_000_000;

/// A check is short if it costs at most this part of the maximum, which takes some milliseconds.
const SHORT: u64 = 100;

/// The number of comparisons that take as long as one visit of an explanation.
const COMPARED_PER_VISIT: u64 = 100;

/// Maximum depth of arguments for which errors are explained.
const EXPLAINED_DEPTH: usize = 64;

/// The cost of a schema.
#[derive(Debug)]
pub(super) struct Cost {
    /// Visits and comparisons for each value of the arguments.
    check: u64,
    /// States for each byte of a string.
    read: u64,
    /// The same for strings in each of the schema's own properties.
    read_in: HashMap<String, u64>,
    /// The cost of an explanation, by the depth of the arguments.
    explain: Vec<Explain>,
}

#[derive(Debug, Clone, Copy)]
struct Explain {
    /// Visits for each value of the arguments.
    visits: u64,
    /// States for each byte of a string.
    read: u64,
}

impl Explain {
    fn is_within(self, part: u64, size: Measure) -> bool {
        self.visits.saturating_mul(size.values) <= EXPLAIN_MAX / part
            && self.read.saturating_mul(size.text) <= READ_MAX / part
    }
}

impl Cost {
    /// Returns whether arguments of this size are checked.
    pub(super) fn allows_check(&self, args: &Value, size: Measure) -> bool {
        self.is_within(1, args, size)
    }

    /// Returns whether checking arguments of this size, and explaining an error, takes at most some
    /// milliseconds.
    pub(super) fn is_short(&self, args: &Value, size: Measure) -> bool {
        let explain = self.explain.get(size.depth);
        self.is_within(SHORT, args, size)
            && explain.is_none_or(|explain| explain.is_within(SHORT, size))
    }

    /// Returns whether errors in arguments of this size are explained.
    pub(super) fn allows_explanation(&self, size: Measure) -> bool {
        let explain = self.explain.get(size.depth);
        explain.is_some_and(|explain| explain.is_within(1, size))
    }

    /// Returns whether a check costs at most a part of the maximum. A long string that no pattern reads,
    /// such as the content of a file beside its path, costs nothing.
    fn is_within(&self, part: u64, args: &Value, size: Measure) -> bool {
        if self.check.saturating_mul(size.values) > CHECK_MAX / part {
            return false;
        }
        if self.read.saturating_mul(size.text) <= READ_MAX / part {
            return true;
        }
        let members = args.as_object().into_iter().flatten();
        let states = members.map(|(name, value)| {
            let states = self.read_in.get(name).unwrap_or(&self.read);
            let text = json::measure(value).text.saturating_add(name.len() as u64);
            states.saturating_mul(text)
        });
        states.fold(0, u64::saturating_add) <= READ_MAX / part
    }
}

/// Computes the cost of a schema.
///
/// # Errors
/// [`SchemaError`] if it is too high, or if a reference leaves the schema, is unresolved or circular.
pub(super) fn assess(schema: &Value, budget: &mut PatternBudget) -> Result<Cost, SchemaError> {
    let graph = Graph::of(schema, budget)?;
    let order = graph.order_within_a_value()?;
    let at_root = |weights: &[u64]| weights.first().copied().unwrap_or(1);
    if at_root(&graph.to_check(|_| 1)) > VISITS_MAX {
        return Err(SchemaError::Limit(format!(
            "the schema applies more than {VISITS_MAX} subschemas on the way to one value"
        )));
    }
    let readers: Weigh = |subschema| subschema.readers;
    let visits: Weigh = |subschema| 1 + subschema.compared / COMPARED_PER_VISIT;
    let mut explain = Vec::new();
    let (mut shallower, mut shallower_read) = (Vec::new(), Vec::new());
    for _depth in 0..=EXPLAINED_DEPTH {
        shallower = graph.to_explain(&order, &shallower, visits);
        shallower_read = graph.to_explain(&order, &shallower_read, readers);
        let of_depth = Explain {
            visits: at_root(&shallower),
            read: at_root(&shallower_read),
        };
        if of_depth.visits > EXPLAIN_MAX {
            break;
        }
        explain.push(of_depth);
    }
    let read = graph.to_check(readers);
    Ok(Cost {
        check: at_root(&graph.to_check(|subschema| 1 + subschema.compared)),
        read: at_root(&read),
        read_in: graph.by_property(&read, readers),
        explain,
    })
}

#[cfg(test)]
mod tests;
