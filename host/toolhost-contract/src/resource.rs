//! The resources of a bundle that toolhost acts on: Tool and Agent.

use std::collections::BTreeMap;

use crate::{ExportName, JsonSchemaObject, ResourceName, ToolName};

/// `metadata` of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceMetadata {
    /// Name, unique among the resources of its kind.
    pub name: ResourceName,
    /// Labels, free for the author's use.
    pub labels: BTreeMap<String, String>,
}

/// `kind: Tool`.
///
/// Spec: tool-spec-v2 §4.1.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// What the tool is.
    pub spec: ToolSpec,
}

/// `spec` of a Tool.
///
/// Spec: tool-spec-v2 §4.2.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Path of the component, beneath the bundle's directory.
    pub entry: String,
    /// Longest error message given to the model.
    pub error_message_limit: ErrorMessageLimit,
    /// What the model sees of it; at least one, with unique names.
    pub exports: Vec<ToolExportSpec>,
}

/// One function of a Tool.
///
/// Spec: tool-spec-v2 §6.1.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolExportSpec {
    /// Name; the model sees `{tool}__{name}`.
    pub name: ExportName,
    /// Description for the model.
    pub description: Option<String>,
    /// JSON Schema of the arguments; none means any object.
    pub parameters: Option<JsonSchemaObject>,
}

/// Longest `error.message` given to the model, in UTF-16 code units; a positive integer.
///
/// Default: 1000. A Tool may say any, of which [`ErrorMessageLimit::MOST`] holds. Spec: tool-spec-v2
/// §2.4(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorMessageLimit(std::num::NonZeroU32);

impl ErrorMessageLimit {
    /// What holds where a Tool says nothing, and for calls that reach no Tool.
    pub const DEFAULT: Self = match std::num::NonZeroU32::new(1000) {
        Some(limit) => Self(limit),
        None => Self(std::num::NonZeroU32::MIN),
    };

    /// What holds where a Tool says more: 65,536. The limit is the tool's author's, the model's
    /// context is not.
    pub const MOST: Self = match std::num::NonZeroU32::new(64 << 10) {
        Some(limit) => Self(limit),
        None => Self::DEFAULT,
    };

    /// Makes a limit; none for 0.
    #[must_use]
    pub fn new(units: u32) -> Option<Self> {
        std::num::NonZeroU32::new(units).map(Self)
    }

    /// The limit, in UTF-16 code units.
    #[must_use]
    pub fn units(self) -> usize {
        self.0.get() as usize
    }
}

impl Default for ErrorMessageLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// `kind: Agent`, as far as tools are concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResource {
    /// Name and labels.
    pub metadata: ResourceMetadata,
    /// What the agent may call.
    pub spec: AgentSpec,
}

/// `spec` of an Agent, as far as tools are concerned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentSpec {
    /// Tools its steps start with, in the order declared.
    pub tools: Vec<ResourceName>,
    /// Tools of which at least one must have succeeded before a turn may end; none where it is empty.
    pub required_tools: Vec<ToolName>,
}
