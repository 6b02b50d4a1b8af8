//! The Tool Catalog: the tools that the model may call in one step.

pub(crate) mod callable;
mod declarations;
pub(crate) mod descriptions;
pub(crate) mod exposure;
mod formats;
pub(crate) mod provider;
pub(crate) mod script_language;
pub(crate) mod search;
pub(crate) mod tool_names;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use toolhost_contract::suggest::closest;
use toolhost_contract::{Locale, ToolCatalogItem, ToolError, ToolErrorCode, text};

use search::index::SearchIndex;
use search::parts::SearchParts;
use tool_names::SEARCH;

/// Longest name quoted from a call, in characters: the limit of a tool name.
const QUOTED_NAME_MAX: usize = 64;

/// Most names of tools in the refusal of another.
const NAMES_MAX: usize = 20;

/// The tools of one step, in the order given to the model. A snapshot: tools registered or removed
/// later do not change it. Cheap to clone.
///
/// ```no_run
/// # fn example(step: &toolhost::Step) {
/// let catalog = step.catalog();
/// let tools = catalog.to_anthropic(); // also: to_openai, to_gemini, to_mcp
/// for item in catalog.items() {
///     println!("{}: {:?}", item.name, item.description);
/// }
/// # let _ = tools;
/// # }
/// ```
///
/// Spec: tool-spec-v2 §3, §13.
#[derive(Debug, Clone, Default)]
pub struct ToolCatalog {
    inner: Arc<CatalogInner>,
}

#[derive(Debug, Default)]
struct CatalogInner {
    items: Vec<ToolCatalogItem>,
    /// Index in `items` by name.
    indexes: HashMap<Box<str>, usize>,
    /// Made by the first search.
    search_index: OnceLock<SearchIndex>,
}

impl ToolCatalog {
    /// Creates a catalog. An item replaces an earlier item of the same name, at its index.
    #[must_use]
    pub fn new(items: impl IntoIterator<Item = ToolCatalogItem>) -> Self {
        let mut inner = CatalogInner::default();
        for item in items {
            let next = inner.items.len();
            let index = *inner
                .indexes
                .entry(item.name.as_str().into())
                .or_insert(next);
            match inner.items.get_mut(index) {
                Some(earlier) => *earlier = item,
                None => inner.items.push(item),
            }
        }
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Creates a catalog of the items of another, whose searches use this index of them.
    fn with_index(items: Vec<ToolCatalogItem>, index: SearchIndex) -> Self {
        let mut inner = Arc::into_inner(Self::new(items).inner).unwrap_or_default();
        inner.search_index = index.into();
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the index of the items. Makes it first, once.
    fn search_index(&self) -> &SearchIndex {
        let make = || SearchIndex::new(self.items(), SearchParts::default());
        self.inner.search_index.get_or_init(make)
    }

    /// Whether the index of the items is made.
    pub(crate) fn has_search_index(&self) -> bool {
        self.inner.search_index.get().is_some()
    }

    /// Makes the index of the items, so that the first search does not.
    pub(crate) fn prepare_search(&self) {
        let _made = self.search_index();
    }

    /// Returns the items, in order.
    #[must_use]
    pub fn items(&self) -> &[ToolCatalogItem] {
        &self.inner.items
    }

    /// Returns the item with exactly this name, in constant time.
    ///
    /// Spec: tool-spec-v2 §9.1.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolCatalogItem> {
        self.inner.items.get(*self.inner.indexes.get(name)?)
    }

    /// Returns the name in the catalog that was probably meant: at most two edits away, or with a part that is.
    #[must_use]
    pub fn closest(&self, name: &str) -> Option<&str> {
        let names: Vec<&str> = self.items().iter().map(|item| item.name.as_str()).collect();
        closest(name, &names)
    }

    /// Returns the item for the name of a call.
    ///
    /// # Errors
    /// `E_TOOL_NOT_IN_CATALOG` for a name that is not in the catalog.
    ///
    /// Spec: tool-spec-v2 §9.1, §9.2.
    pub(crate) fn admit(&self, name: &str, locale: Locale) -> Result<&ToolCatalogItem, ToolError> {
        self.get(name).ok_or_else(|| {
            let advice = self.names_for_model(locale);
            not_in_catalog(name, self.closest(name), advice.as_deref(), locale)
        })
    }

    /// Says which tools there are; none if there is none.
    fn names_for_model(&self, locale: Locale) -> Option<String> {
        let items = self.items();
        if items.is_empty() {
            return None;
        }
        let names = items.iter().map(|item| item.name.as_str());
        let names = text::listed(names, NAMES_MAX);
        let mut advice = match locale {
            Locale::En => format!("The tools are: {names}"),
            Locale::Ko => format!("사용할 수 있는 도구: {names}"),
        };
        if self.get(SEARCH).is_some() {
            advice.push_str(match locale {
                Locale::En => ". Find others with tools__search.",
                Locale::Ko => ". 다른 도구는 tools__search로 찾으세요.",
            });
        }
        Some(advice)
    }
}

/// Returns the error of a name that is not in the catalog. `similar` is the one that was probably meant; `advice` takes the
/// place of what an operator would do.
pub(crate) fn not_in_catalog(
    name: &str,
    similar: Option<&str>,
    advice: Option<&str>,
    locale: Locale,
) -> ToolError {
    let name = text::shorten(name, QUOTED_NAME_MAX);
    let message = format!("Tool '{name}' is not available in the current Tool Catalog.");
    let mut error = ToolError::host(ToolErrorCode::NotInCatalog, message, locale);
    let Some(suggestion) = &mut error.suggestion else {
        return error;
    };
    if let Some(advice) = advice {
        advice.clone_into(suggestion);
    }
    if let Some(similar) = similar {
        let question = match locale {
            Locale::En => format!("Did you mean '{similar}'? "),
            Locale::Ko => format!("'{similar}'을(를) 말하는 건가요? "),
        };
        suggestion.insert_str(0, &question);
    }
    error
}

impl FromIterator<ToolCatalogItem> for ToolCatalog {
    fn from_iter<I: IntoIterator<Item = ToolCatalogItem>>(items: I) -> Self {
        Self::new(items)
    }
}

#[cfg(test)]
mod tests;
