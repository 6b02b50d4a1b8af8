//! The subschemas of a schema, and which applies which.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::walk::{self, Walked};
use crate::schema::SchemaError;

/// One subschema: what it applies, by index.
#[derive(Debug)]
pub(super) struct Subschema<'s> {
    /// To the same value.
    pub(super) same_value: Vec<usize>,
    /// To the same value, by reference.
    pub(super) references: Vec<(usize, &'s str)>,
    /// To the values inside, one of them to each.
    pub(super) one_inside: Vec<usize>,
    /// To the values inside, perhaps all of them to each.
    pub(super) all_inside: Vec<usize>,
}

impl Subschema<'_> {
    fn within_a_value(&self) -> impl Iterator<Item = usize> {
        let referred = self.references.iter().map(|(target, _)| *target);
        self.same_value.iter().copied().chain(referred)
    }

    fn everywhere(&self) -> impl Iterator<Item = usize> {
        let inside = self.one_inside.iter().chain(&self.all_inside).copied();
        self.within_a_value().chain(inside)
    }
}

/// Every subschema that the first one can come to.
#[derive(Debug)]
pub(super) struct Graph<'s> {
    subschemas: Vec<Subschema<'s>>,
    patterns: usize,
}

impl<'s> Graph<'s> {
    /// Finds what a schema is made of.
    ///
    /// # Errors
    /// [`SchemaError`] for too many subschemas, and for references that leave or lead nowhere.
    pub(super) fn of(schema: &'s Value) -> Result<Self, SchemaError> {
        let Walked {
            subschemas,
            patterns,
        } = walk::walk(schema)?;
        Ok(Self {
            subschemas,
            patterns,
        })
    }

    /// How many regular expressions it compiles.
    pub(super) fn patterns(&self) -> usize {
        self.patterns
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

    /// Counts the visits on the way to one value when results within a recursion are remembered:
    /// a way back to a subschema that is still open counts once.
    pub(super) fn visits_to_check(&self) -> u64 {
        let order = self.postorder(|subschema| subschema.everywhere().collect());
        let mut visits: HashMap<usize, u64> = HashMap::new();
        for (index, subschema) in self.in_order(&order) {
            let of = |to: usize| visits.get(&to).copied().unwrap_or(1);
            let count = sum(subschema.within_a_value().map(of))
                .saturating_add(sum(subschema.all_inside.iter().copied().map(of)))
                .saturating_add(
                    subschema
                        .one_inside
                        .iter()
                        .copied()
                        .map(of)
                        .max()
                        .unwrap_or(0),
                );
            visits.insert(index, count.saturating_add(1));
        }
        visits.get(&0).copied().unwrap_or(1)
    }

    /// Counts, for each subschema, the visits on the way to one value when nothing is remembered,
    /// given those for values that are one level shallower.
    pub(super) fn visits_to_explain(&self, order: &[usize], shallower: &[u64]) -> Vec<u64> {
        let mut visits = vec![1_u64; self.subschemas.len()];
        let inside = |to: &usize| shallower.get(*to).copied().unwrap_or(0);
        for (index, subschema) in self.in_order(order) {
            let same = sum(subschema
                .within_a_value()
                .map(|to| visits.get(to).copied().unwrap_or(1)));
            let count = same
                .saturating_add(sum(subschema.all_inside.iter().map(inside)))
                .saturating_add(subschema.one_inside.iter().map(inside).max().unwrap_or(0));
            if let Some(slot) = visits.get_mut(index) {
                *slot = count.saturating_add(1);
            }
        }
        visits
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
