//! The text of a listing: a line for each public item.

use std::collections::{BTreeMap, BTreeSet};

mod item;

pub(super) use item::Item;

/// A listing that was read. Its first line is `# CRATE VERSION`.
#[derive(Debug, PartialEq)]
pub(super) struct Listing<'a> {
    version: &'a str,
    items: BTreeSet<Item<'a>>,
}

impl<'a> Listing<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty());
        let (comments, items): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("# "));
        let first = comments.first().copied().unwrap_or_default();
        Self {
            version: first.split(' ').next_back().unwrap_or_default(),
            items: items.into_iter().map(Item).collect(),
        }
    }

    pub(super) fn version(&self) -> &'a str {
        self.version
    }

    /// Returns the items that another listing does not have.
    pub(super) fn without<'b>(&'b self, other: &'b Self) -> impl Iterator<Item = Item<'a>> + 'b {
        self.items.difference(&other.items).copied()
    }

    /// Returns the traits, types and variants, by their paths.
    pub(super) fn containers(&self) -> BTreeMap<String, Item<'a>> {
        let items = self.items.iter().copied();
        items
            .filter(|item| item.is_container())
            .map(|item| (item.path(), item))
            .collect()
    }
}
