//! The tools that search a catalog and call what they find.

use toolhost_contract::ToolCatalogItem;

/// Name of the tool that searches the catalog.
pub(crate) const SEARCH: &str = "tools__search";

/// Name of the tool that calls a tool of the catalog.
pub(crate) const CALL: &str = "tools__call";

/// Whether this is one of the tools that search the catalog and call what they find.
pub(crate) fn is_catalog_tool(item: &ToolCatalogItem) -> bool {
    [SEARCH, CALL].contains(&item.name.as_str())
}
