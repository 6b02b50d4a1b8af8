//! The formats of a catalog.

use serde::Deserialize;
use serde_json::Value;
use toolhost::ToolCatalog;

/// Format of a catalog, as of `toolhost list --format`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CatalogFormat {
    /// That of the specification.
    #[default]
    Json,
    Openai,
    Anthropic,
    Mcp,
}

impl CatalogFormat {
    pub(crate) fn export(self, catalog: &ToolCatalog) -> Value {
        match self {
            Self::Json => catalog.to_json(),
            Self::Openai => catalog.to_openai(),
            Self::Anthropic => catalog.to_anthropic(),
            Self::Mcp => catalog.to_mcp(),
        }
    }
}
