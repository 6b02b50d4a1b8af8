//! What changed between two listings, and whether it breaks users.

use std::collections::BTreeMap;
use std::fmt;

use super::listing::{Item, Listing};

/// Changes from one listing to another.
pub(super) struct Comparison<'a> {
    pub(super) breaking: Vec<Change<'a>>,
    pub(super) compatible: Vec<Change<'a>>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Change<'a> {
    Removed(Item<'a>),
    Changed(Item<'a>, Item<'a>),
    Added(Item<'a>),
}

impl<'a> Comparison<'a> {
    pub(super) fn of(old: &Listing<'a>, new: &Listing<'a>) -> Self {
        let containers = old.containers();
        let mut added: Vec<Item<'a>> = new.without(old).collect();
        let mut changes = Self {
            breaking: Vec::new(),
            compatible: Vec::new(),
        };
        for item in old.without(new) {
            match successor(item, &added) {
                None => changes.breaking.push(Change::Removed(item)),
                Some(now) => {
                    added.retain(|other| *other != now);
                    changes.add(Change::Changed(item, now), !item.may_become(now));
                }
            }
        }
        for item in added {
            changes.add(Change::Added(item), is_unexpected(item, &containers));
        }
        changes
    }

    fn add(&mut self, change: Change<'a>, is_breaking: bool) {
        if is_breaking {
            self.breaking.push(change);
        } else {
            self.compatible.push(change);
        }
    }
}

/// Returns the added item that takes the place of a removed one.
fn successor<'a>(removed: Item<'a>, added: &[Item<'a>]) -> Option<Item<'a>> {
    if removed.is_impl() {
        return None;
    }
    let path = removed.path();
    let same = |item: &&Item<'a>| !item.is_impl() && item.path() == path;
    added.iter().find(same).copied()
}

/// Returns whether users of a type or implementors of a trait do not expect this addition to it: a variant
/// of an enum that they match, a field of a struct that they make, an item that their implementation lacks.
fn is_unexpected(item: Item<'_>, containers: &BTreeMap<String, Item<'_>>) -> bool {
    let path = item.path();
    let container = path
        .rsplit_once("::")
        .and_then(|(container, _)| containers.get(container));
    let Some(container) = container.filter(|container| !container.is_non_exhaustive()) else {
        return false;
    };
    match container.keyword() {
        "trait" => item.is_required(),
        "struct" | "union" => item.is_part() && container.has_public_fields_only(),
        _ => item.is_part(),
    }
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breaking = self.breaking.iter().map(|change| ("breaking: ", change));
        let compatible = self.compatible.iter().map(|change| ("", change));
        for (kind, change) in breaking.chain(compatible) {
            match change {
                Change::Removed(item) => writeln!(f, "  {kind}removed {}", item.0)?,
                Change::Added(item) => writeln!(f, "  {kind}added {}", item.0)?,
                Change::Changed(old, new) => {
                    writeln!(f, "  {kind}changed {}\n    to {}", old.0, new.0)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
