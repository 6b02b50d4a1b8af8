//! The graph of the subschemas of a schema, and the cost of visiting them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::pattern::PatternBudget;
use super::walk::{Subschema, walk};
use crate::error::SchemaError;
use toolhost_contract::text::short;

/// Returns the weight of one application of a subschema.
pub(super) type Weigh = fn(&Subschema<'_>) -> u64;

/// A schema and all subschemas that it may apply. The schema is the first.
#[derive(Debug)]
pub(super) struct Graph<'s> {
    subschemas: Vec<Subschema<'s>>,
    /// The subschemas of the first one's properties, by index.
    properties: HashMap<&'s str, usize>,
}

impl<'s> Graph<'s> {
    /// Finds the subschemas.
    ///
    /// # Errors
    /// [`SchemaError`] if there are too many subschemas or patterns, or if a reference leaves the schema or
    /// is unresolved.
    pub(super) fn of(schema: &'s Value, budget: &mut PatternBudget) -> Result<Self, SchemaError> {
        let (subschemas, properties) = walk(schema, budget)?;
        Ok(Self {
            subschemas,
            properties,
        })
    }

    /// Orders the subschemas so that each comes after those that it applies to the same value.
    ///
    /// # Errors
    /// [`SchemaError::CircularRef`] if one applies itself to the same value.
    pub(super) fn order_within_a_value(&self) -> Result<Vec<usize>, SchemaError> {
        let order = self.postorder(|subschema| subschema.within_a_value().collect());
        let mut done = HashSet::new();
        for (index, subschema) in self.in_order(&order) {
            let mut references = subschema.references.iter();
            if let Some((_, reference)) = references.find(|(to, _)| !done.contains(to)) {
                return Err(SchemaError::CircularRef(short(reference)));
            }
            done.insert(index);
        }
        Ok(order)
    }

    /// Returns, for each subschema, the weight of all subschemas that it applies on the way to one value, if
    /// results in a recursion are cached: a subschema that is applied again within itself counts once.
    pub(super) fn to_check(&self, weigh: Weigh) -> Vec<u64> {
        let order = self.postorder(|subschema| subschema.everywhere().collect());
        self.weights(&order, weigh, None)
    }

    /// The same if nothing is cached. `shallower` are the weights for values of one level less.
    pub(super) fn to_explain(&self, order: &[usize], shallower: &[u64], weigh: Weigh) -> Vec<u64> {
        self.weights(order, weigh, Some(shallower))
    }

    /// Adds up the weights in this order. `inside` are the weights for members and items; if it is `None`,
    /// these are the same, and a subschema later in the order has its own weight alone.
    fn weights(&self, order: &[usize], weigh: Weigh, inside: Option<&[u64]>) -> Vec<u64> {
        let mut weights: Vec<u64> = self.subschemas.iter().map(weigh).collect();
        for (index, subschema) in self.in_order(order) {
            let inside = inside.unwrap_or(&weights);
            let one = subschema.one_inside.iter().map(|to| at(inside, *to)).max();
            let weight =
                always(subschema, weigh, &weights, inside).saturating_add(one.unwrap_or(0));
            if let Some(slot) = weights.get_mut(index) {
                *slot = weight;
            }
        }
        weights
    }

    /// Returns, for each of the root's properties, the weight of all subschemas that apply to its value.
    /// `weights` are those of [`to_check`](Self::to_check).
    pub(super) fn by_property(&self, weights: &[u64], weigh: Weigh) -> HashMap<String, u64> {
        let root = self.subschemas.first();
        let root = root.map_or(0, |root| always(root, weigh, weights, weights));
        let property = |(name, index): (&&str, &usize)| {
            let weight = root.saturating_add(at(weights, *index));
            ((*name).to_owned(), weight)
        };
        self.properties.iter().map(property).collect()
    }

    fn in_order<'g>(
        &'g self,
        order: &'g [usize],
    ) -> impl Iterator<Item = (usize, &'g Subschema<'s>)> {
        order
            .iter()
            .filter_map(|index| Some((*index, self.subschemas.get(*index)?)))
    }

    /// Lists the subschemas, each after those that it has edges to, except in circles.
    fn postorder(&self, edges: impl Fn(&Subschema<'s>) -> Vec<usize>) -> Vec<usize> {
        let next_of = |index: usize| {
            let next = self.subschemas.get(index).map(&edges);
            next.unwrap_or_default().into_iter()
        };
        let mut order = Vec::with_capacity(self.subschemas.len());
        let mut seen = HashSet::new();
        for start in 0..self.subschemas.len() {
            if !seen.insert(start) {
                continue;
            }
            let mut open = vec![(start, next_of(start))];
            while let Some((index, rest)) = open.last_mut() {
                match rest.next() {
                    Some(next) if seen.insert(next) => open.push((next, next_of(next))),
                    Some(_) => {}
                    None => {
                        order.push(*index);
                        open.pop();
                    }
                }
            }
        }
        order
    }
}

/// Returns the weight of a subschema and of those that it always applies: to the same value, by `same`,
/// and to all members and items, by `inside`.
fn always(subschema: &Subschema<'_>, weigh: Weigh, same: &[u64], inside: &[u64]) -> u64 {
    let same = subschema.within_a_value().map(|to| at(same, to));
    let inside = subschema.all_inside.iter().map(|to| at(inside, *to));
    same.chain(inside)
        .fold(weigh(subschema), u64::saturating_add)
}

fn at(weights: &[u64], index: usize) -> u64 {
    weights.get(index).copied().unwrap_or(0)
}
