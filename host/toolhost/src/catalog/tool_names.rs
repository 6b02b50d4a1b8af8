//! The tools that search a catalog and call what they find.

use toolhost_contract::ToolCatalogItem;

/// Name of the tool that searches the catalog.
pub(crate) const SEARCH: &str = "tools__search";

/// Name of the tool that calls a tool of the catalog.
pub(crate) const CALL: &str = "tools__call";

/// Returns the description of `tools__search`: who reads it calls tools with `tools__call`, or in programs alone.
pub(crate) fn search_description(by_name: bool) -> String {
    let call = if by_name {
        "with tools__call"
    } else {
        "in a program"
    };
    format!(
        "Finds tools by what they do. Returns those that fit, the best first, with their parameters; call one {call}. \
         Returns none if no tool fits."
    )
}

/// Whether this is one of the tools that search the catalog and call what they find.
pub(crate) fn is_catalog_tool(item: &ToolCatalogItem) -> bool {
    [SEARCH, CALL].contains(&item.name.as_str())
}
