//! MCP servers that a bundle names and a policy grants. The crate `toolhost-mcp-client` starts them.

pub use crate::loaded_bundle::GrantedMcpServer;
pub use toolhost_contract::{McpServerResource, McpServerSpec, McpSource, McpTransportSpec};
pub use toolhost_manifest::{McpGrant, McpOAuth, McpOAuthGrant, McpReach};
