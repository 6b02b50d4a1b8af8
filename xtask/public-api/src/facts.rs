//! What a listing says of an item beside its declaration.

use std::collections::HashSet;

use public_api::PublicItem;
use rustdoc_types::{Crate, Id, ItemEnum, StructKind};

/// Items that get a comment.
pub(crate) struct Facts<'a> {
    described: &'a Crate,
    required: HashSet<Id>,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(described: &'a Crate) -> Self {
        let required = described
            .index
            .values()
            .filter_map(|item| match &item.inner {
                ItemEnum::Trait(declared) => Some(&declared.items),
                _ => None,
            })
            .flatten()
            .filter(|id| has_no_default(described, **id))
            .copied()
            .collect();
        Self {
            described,
            required,
        }
    }

    /// Returns the line of an item, with its comment.
    pub(crate) fn annotate(&self, item: &PublicItem) -> String {
        let comment = if self.required.contains(&item.id()) {
            " // required"
        } else if self.is_made_by_its_fields(item)
            && !item.to_string().starts_with("#[non_exhaustive]")
        {
            " // every field is public"
        } else {
            ""
        };
        format!("{item}{comment}")
    }

    fn is_made_by_its_fields(&self, item: &PublicItem) -> bool {
        let Some(ItemEnum::Struct(declared)) = self
            .described
            .index
            .get(&item.id())
            .map(|found| &found.inner)
        else {
            return false;
        };
        match &declared.kind {
            StructKind::Unit => true,
            StructKind::Tuple(fields) => fields.iter().all(Option::is_some),
            StructKind::Plain {
                has_stripped_fields,
                ..
            } => !has_stripped_fields,
        }
    }
}

/// Returns whether whoever implements a trait must provide this item of it.
fn has_no_default(described: &Crate, id: Id) -> bool {
    match described.index.get(&id).map(|item| &item.inner) {
        Some(ItemEnum::Function(function)) => !function.has_body,
        Some(ItemEnum::AssocConst { value, .. }) => value.is_none(),
        Some(ItemEnum::AssocType { type_, .. }) => type_.is_none(),
        _ => false,
    }
}
