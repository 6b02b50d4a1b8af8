//! What a model sees of a catalog.

use toolhost_contract::ToolCatalogItem;

use super::ToolCatalog;

/// What a model sees of a catalog. It may call all of it in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolExposure {
    /// All tools.
    #[default]
    Direct,
    /// The tools that search the catalog and call what they find: see [`catalog_tools`](crate::catalog_tools).
    Search,
}

/// Name of the tool that searches the catalog.
pub(crate) const SEARCH: &str = "tools__search";

/// Name of the tool that calls a tool of the catalog.
pub(crate) const CALL: &str = "tools__call";

/// Whether this is one of the tools that search the catalog and call what they find.
pub(crate) fn is_catalog_tool(item: &ToolCatalogItem) -> bool {
    [SEARCH, CALL].contains(&item.name.as_str())
}

impl ToolCatalog {
    /// Returns the tools of the catalog that a model sees.
    ///
    /// ```no_run
    /// # fn example(agent: &toolhost::Agent, step: &toolhost::Step) -> Result<(), Box<dyn std::error::Error>> {
    /// use toolhost::search::ToolExposure;
    ///
    /// agent.extend("tools", toolhost::catalog_tools)?; // once
    /// let tools = step.catalog().exposed(ToolExposure::Search).to_openai();
    /// # drop(tools);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn exposed(&self, exposure: ToolExposure) -> Self {
        match exposure {
            ToolExposure::Direct => self.clone(),
            ToolExposure::Search => {
                let items = self.items().iter();
                items
                    .filter(|item| is_catalog_tool(item))
                    .cloned()
                    .collect()
            }
        }
    }
}
