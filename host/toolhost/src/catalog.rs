//! The Tool Catalog: what one step shows the model, and therefore all it may call.

pub(crate) mod descriptions;
mod formats;

use std::collections::HashMap;
use std::sync::Arc;

use toolhost_contract::{Locale, ToolCatalogItem, ToolError, ToolErrorCode};

use toolhost_contract::text;
use toolhost_manifest::closest;

/// Longest name quoted from a call, in characters: as long as a tool name may be.
const NAME_SHOWN: usize = 64;

/// The tools of one step, in the order the model is shown them. A snapshot: what is registered or
/// removed later does not change it. Cheap to clone.
///
/// Spec: tool-spec-v2 §3, §13.
#[derive(Debug, Clone, Default)]
pub struct ToolCatalog {
    shown: Arc<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    items: Vec<ToolCatalogItem>,
    places: HashMap<Box<str>, usize>,
}

impl ToolCatalog {
    /// Makes a catalog. Of two items of one name the later one holds, at the place of the earlier.
    #[must_use]
    pub fn new(items: impl IntoIterator<Item = ToolCatalogItem>) -> Self {
        let mut shown = Shown::default();
        for item in items {
            let next = shown.items.len();
            let place = *shown
                .places
                .entry(item.name.as_str().into())
                .or_insert(next);
            match shown.items.get_mut(place) {
                Some(earlier) => *earlier = item,
                None => shown.items.push(item),
            }
        }
        Self {
            shown: Arc::new(shown),
        }
    }

    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[ToolCatalogItem] {
        &self.shown.items
    }

    /// Finds the item of exactly this name, in constant time; none for any other spelling.
    ///
    /// Spec: tool-spec-v2 §9.1.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolCatalogItem> {
        self.shown.items.get(*self.shown.places.get(name)?)
    }

    /// The name that was probably meant by one that is not there: at most two letters away.
    #[must_use]
    pub fn closest(&self, name: &str) -> Option<&str> {
        let known: Vec<&str> = self.items().iter().map(|item| item.name.as_str()).collect();
        closest(name, &known)
    }

    /// Admits a call by the name the model gave.
    ///
    /// # Errors
    /// `E_TOOL_NOT_IN_CATALOG` for a name that is not in the catalog.
    ///
    /// Spec: tool-spec-v2 §9.1, §9.2.
    pub(crate) fn admit(&self, name: &str, locale: Locale) -> Result<&ToolCatalogItem, ToolError> {
        self.get(name).ok_or_else(|| {
            let name = text::shorten(name, NAME_SHOWN);
            let message = format!("Tool '{name}' is not available in the current Tool Catalog.");
            let mut refusal = ToolError::host(ToolErrorCode::NotInCatalog, message, locale);
            if let (Some(meant), Some(known)) = (self.closest(&name), &mut refusal.suggestion) {
                known.insert_str(
                    0,
                    &match locale {
                        Locale::En => format!("Did you mean '{meant}'? "),
                        Locale::Ko => format!("'{meant}'을(를) 말하는 건가요? "),
                    },
                );
            }
            refusal
        })
    }
}

impl FromIterator<ToolCatalogItem> for ToolCatalog {
    fn from_iter<I: IntoIterator<Item = ToolCatalogItem>>(items: I) -> Self {
        Self::new(items)
    }
}

#[cfg(test)]
mod tests;
