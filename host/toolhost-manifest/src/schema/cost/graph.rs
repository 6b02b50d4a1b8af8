//! The subschemas of a schema, and which applies which.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::pattern::PatternBudget;
use super::subschema::Subschema;
use super::walk::{self, Walked};
use crate::schema::error::SchemaError;

/// What one application of a subschema counts.
pub(super) type Weigh = fn(&Subschema<'_>) -> u64;

/// Every subschema that the first one can come to.
#[derive(Debug)]
pub(super) struct Graph<'s> {
    subschemas: Vec<Subschema<'s>>,
    /// Which subschema the root has for each of its properties.
    properties: HashMap<&'s str, usize>,
}

impl<'s> Graph<'s> {
    /// Finds what a schema is made of.
    ///
    /// # Errors
    /// [`SchemaError`] for too many subschemas or patterns, and for references that leave or lead
    /// nowhere.
    pub(super) fn of(schema: &'s Value, budget: &mut PatternBudget) -> Result<Self, SchemaError> {
        let Walked {
            subschemas,
            properties,
        } = walk::walk(schema, budget)?;
        Ok(Self {
            subschemas,
            properties,
        })
    }

    /// Orders the subschemas so that each comes after those it applies to the same value.
    ///
    /// # Errors
    /// [`SchemaError::CircularRef`] where one applies itself to the same value.
    pub(super) fn order_within_a_value(&self) -> Result<Vec<usize>, SchemaError> {
        let order = self.postorder(|subschema| subschema.within_a_value().collect());
        let mut done = HashSet::new();
        for (index, subschema) in self.in_order(&order) {
            let circular = subschema
                .references
                .iter()
                .find(|(to, _)| !done.contains(to));
            if let Some((_, reference)) = circular {
                return Err(SchemaError::CircularRef {
                    reference: walk::shown(reference),
                });
            }
            done.insert(index);
        }
        Ok(order)
    }

    /// Weighs, for each subschema, what is applied on the way to one value when results within a
    /// recursion are remembered: a way back to a subschema that is still open counts once.
    pub(super) fn to_check(&self, weigh: Weigh) -> Vec<u64> {
        let order = self.postorder(|subschema| subschema.everywhere().collect());
        let mut weights: Vec<Option<u64>> = vec![None; self.subschemas.len()];
        for (index, subschema) in self.in_order(&order) {
            let of = |to: usize| match weights.get(to) {
                Some(Some(weight)) => *weight,
                Some(None) | None => self.subschemas.get(to).map_or(0, weigh),
            };
            let one_inside = subschema.one_inside.iter().copied().map(of).max();
            let weight = weigh(subschema)
                .saturating_add(sum(subschema.within_a_value().map(of)))
                .saturating_add(sum(subschema.all_inside.iter().copied().map(of)))
                .saturating_add(one_inside.unwrap_or(0));
            if let Some(slot) = weights.get_mut(index) {
                *slot = Some(weight);
            }
        }
        weights.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Of the weights that [`to_check`](Self::to_check) gives: what is applied to the value of each
    /// of the root's properties, and to the root for it.
    pub(super) fn by_property(&self, weights: &[u64], weigh: Weigh) -> HashMap<String, u64> {
        let of = |to: usize| weights.get(to).copied().unwrap_or(0);
        let Some(root) = self.subschemas.first() else {
            return HashMap::new();
        };
        let everywhere = weigh(root)
            .saturating_add(sum(root.within_a_value().map(of)))
            .saturating_add(sum(root.all_inside.iter().copied().map(of)));
        let property = |(name, index): (&&str, &usize)| {
            let weight = everywhere.saturating_add(of(*index));
            ((*name).to_owned(), weight)
        };
        self.properties.iter().map(property).collect()
    }

    /// Weighs, for each subschema, what is applied on the way to one value when nothing is
    /// remembered, given the weights for values that are one level shallower.
    pub(super) fn to_explain(&self, order: &[usize], shallower: &[u64], weigh: Weigh) -> Vec<u64> {
        let mut weights: Vec<u64> = self.subschemas.iter().map(weigh).collect();
        let inside = |to: &usize| shallower.get(*to).copied().unwrap_or(0);
        for (index, subschema) in self.in_order(order) {
            let same = sum(subschema
                .within_a_value()
                .map(|to| weights.get(to).copied().unwrap_or(0)));
            let weight = same
                .saturating_add(sum(subschema.all_inside.iter().map(inside)))
                .saturating_add(subschema.one_inside.iter().map(inside).max().unwrap_or(0));
            if let Some(slot) = weights.get_mut(index) {
                *slot = slot.saturating_add(weight);
            }
        }
        weights
    }

    fn in_order<'g>(
        &'g self,
        order: &'g [usize],
    ) -> impl Iterator<Item = (usize, &'g Subschema<'s>)> {
        order
            .iter()
            .filter_map(|index| Some((*index, self.subschemas.get(*index)?)))
    }

    /// Lists the subschemas, each after those that `edges` leads to, ways back left out.
    fn postorder(&self, edges: impl Fn(&Subschema<'s>) -> Vec<usize>) -> Vec<usize> {
        let next_of = |index: usize| {
            self.subschemas
                .get(index)
                .map(&edges)
                .unwrap_or_default()
                .into_iter()
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

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
