//! The tools that a call of a tool may call.

use std::sync::Arc;

use toolhost_contract::{ResourceName, ToolCatalogItem, ToolPattern};

use super::ToolCatalog;
use super::tool_names::is_catalog_tool;

/// Most calls within each other, the outermost included.
pub(crate) const DEPTH_MAX: usize = 3;

/// Says which tools a call may call: those that the policy grants to its tool, but for the calling ones.
pub(crate) struct CallableTools {
    grant: Arc<[ToolPattern]>,
    /// The calling Tools, the outermost first.
    chain: Arc<[ResourceName]>,
}

impl CallableTools {
    pub(crate) fn new(grant: Arc<[ToolPattern]>, chain: Arc<[ResourceName]>) -> Self {
        Self { grant, chain }
    }

    pub(crate) fn chain(&self) -> &Arc<[ResourceName]> {
        &self.chain
    }

    pub(crate) fn is_granted(&self, item: &ToolCatalogItem) -> bool {
        let name = item.name.as_str();
        self.grant.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether it can be called from within a call, if it is granted: it is neither one of the calling tools nor
    /// `tools__call`, through which any of them could be called.
    pub(crate) fn is_callable_within(&self, item: &ToolCatalogItem) -> bool {
        !self.chain.contains(item.name.resource()) && !is_catalog_tool(item)
    }

    /// Whether calls lie within each other as deep as they may.
    pub(crate) fn is_deepest(&self) -> bool {
        self.chain.len() >= DEPTH_MAX
    }

    /// Whether the call may call this tool.
    pub(crate) fn admits(&self, item: &ToolCatalogItem) -> bool {
        !self.is_deepest() && self.is_granted(item) && self.is_callable_within(item)
    }

    /// The tools of a catalog that the call may call.
    pub(crate) fn of<'c>(
        &self,
        catalog: &'c ToolCatalog,
    ) -> impl Iterator<Item = &'c ToolCatalogItem> {
        let items = catalog.items().iter();
        items.filter(|item| self.admits(item))
    }
}
