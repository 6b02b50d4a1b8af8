//! The kinds of resources, and what each resource has.

use toolhost_contract::ResourceMetadata;

use crate::diagnostic::Place;

/// A kind of resource that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ResourceKind {
    Tool,
    Agent,
    McpServer,
    OAuthApp,
}

impl ResourceKind {
    pub(super) const ALL: [Self; 4] = [Self::Tool, Self::Agent, Self::McpServer, Self::OAuthApp];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "Tool",
            Self::Agent => "Agent",
            Self::McpServer => "McpServer",
            Self::OAuthApp => "OAuthApp",
        }
    }
}

/// The metadata of a resource, and the place of its name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) metadata: ResourceMetadata,
    pub(super) place: Place,
}
