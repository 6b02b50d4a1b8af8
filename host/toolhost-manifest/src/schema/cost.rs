//! What a schema can cost the host, found before it is used.
//!
//! The validator follows every reference every time: thirty definitions that each name the next one
//! twice are a billion visits. (It remembers results only within recursive schemas, and only for
//! yes or no; explaining a refusal remembers nothing.) So the visits are counted here, once, on the
//! graph of subschemas: at compile time to refuse such schemas, at call time to refuse arguments
//! too large for the schema, and to leave out explanations that would take too long. So are the
//! values they compare with, and the bytes of text that patterns read: matching is linear in the
//! text, and for each byte as dear as the pattern has states.

mod graph;
pub(super) mod pattern;
mod subschema;
mod walk;

use std::collections::HashMap;

use serde_json::Value;

use super::error::SchemaError;
use super::json::{self, Measure};
use super::limits::VISITS_MAX;
use graph::Graph;
use pattern::PatternBudget;
use subschema::Subschema;

/// Most visits and comparisons of one check, at 10 ns to 50 ns each.
const CHECK_MAX: u64 = 50_000_000;

/// Most visits of one explanation, at about 2 µs each.
const EXPLAIN_MAX: u64 = 200_000;

/// What of each of these takes some milliseconds is no more than this part of the most.
const SHORT: u64 = 100;

/// Comparisons that take as long as one visit of an explanation.
const COMPARED_PER_VISIT: u64 = 100;

/// Most states visited for the bytes of the texts, at about 20 ns each where a pattern is dear.
const READ_MAX: u64 = 50_000_000;

/// Deepest arguments for which the cost of an explanation is known; deeper ones go unexplained.
const EXPLAINED_DEPTH: usize = 64;

/// What asking a schema costs.
#[derive(Debug)]
pub(super) struct Cost {
    /// Visits and comparisons to check one value of the arguments.
    check: u64,
    /// States to check one byte of text.
    read: Read,
    /// The same to explain why one value does not fit, by depth of the arguments.
    explain: Vec<Explain>,
}

/// States to check one byte of text.
#[derive(Debug)]
struct Read {
    /// Wherever it stands.
    anywhere: u64,
    /// Within one of the schema's own properties.
    properties: HashMap<String, u64>,
}

#[derive(Debug, Clone, Copy)]
struct Explain {
    visits: u64,
    read: u64,
}

impl Cost {
    /// Whether arguments of this size are checked at all.
    pub(super) fn allows_check(&self, args: &Value, size: Measure) -> bool {
        self.check.saturating_mul(size.values) <= CHECK_MAX
            && self.read.is_within(READ_MAX, args, size)
    }

    /// Whether arguments of this size are checked, and a refusal explained, within some milliseconds.
    pub(super) fn is_short(&self, args: &Value, size: Measure) -> bool {
        let explained = self.explain.get(size.depth).is_none_or(|explain| {
            explain.visits.saturating_mul(size.values) <= EXPLAIN_MAX / SHORT
                && explain.read.saturating_mul(size.text) <= READ_MAX / SHORT
        });
        let checked = self.check.saturating_mul(size.values) <= CHECK_MAX / SHORT;
        checked && explained && self.read.is_within(READ_MAX / SHORT, args, size)
    }

    /// Whether a refusal of arguments of this size is explained.
    pub(super) fn allows_explanation(&self, size: Measure) -> bool {
        self.explain.get(size.depth).is_some_and(|explain| {
            explain.visits.saturating_mul(size.values) <= EXPLAIN_MAX
                && explain.read.saturating_mul(size.text) <= READ_MAX
        })
    }
}

impl Read {
    /// Whether patterns visit no more states than these where they read the arguments. A long text that no pattern is for costs nothing:
    /// the content of a file beside its path.
    fn is_within(&self, most: u64, args: &Value, size: Measure) -> bool {
        if self.anywhere.saturating_mul(size.text) <= most {
            return true;
        }
        let members = args.as_object().into_iter().flatten();
        let states = members.map(|(name, value)| {
            let each = self.properties.get(name).unwrap_or(&self.anywhere);
            let text = json::measure(value).text.saturating_add(name.len() as u64);
            each.saturating_mul(text)
        });
        states.fold(0, u64::saturating_add) <= most
    }
}

/// Counts what a schema costs.
///
/// # Errors
/// [`SchemaError`] where it is too much, or where a reference leaves the schema, leads nowhere or
/// leads back to itself.
pub(super) fn assess(schema: &Value, budget: &mut PatternBudget) -> Result<Cost, SchemaError> {
    let graph = Graph::of(schema, budget)?;
    let order = graph.order_within_a_value()?;
    let at_root = |weights: &[u64]| weights.first().copied().unwrap_or(1);
    if at_root(&graph.to_check(|_| 1)) > VISITS_MAX {
        return Err(SchemaError::TooManyVisits);
    }
    let readers: graph::Weigh = |subschema| subschema.readers;
    let visits: graph::Weigh = |subschema| 1 + subschema.compared / COMPARED_PER_VISIT;
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
        check: at_root(&graph.to_check(|subschema: &Subschema<'_>| 1 + subschema.compared)),
        read: Read {
            anywhere: at_root(&read),
            properties: graph.by_property(&read, readers),
        },
        explain,
    })
}

#[cfg(test)]
mod tests;
