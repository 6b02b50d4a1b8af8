//! What an artifact holds beside compiled code.

use serde::{Deserialize, Serialize};
use toolhost_contract::HandlerSpec;

use crate::component::facts::ComponentFacts;
use crate::component::inspect::InspectionRules;

/// What is known of a component whose code was compiled. All of it follows from the component's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ComponentRecord {
    pub(crate) facts: ComponentFacts,
    /// The rules that it was checked against.
    pub(crate) rules: InspectionRules,
    /// What `describe` answered.
    pub(crate) handlers: Vec<HandlerSpec>,
    /// Digest of what was compiled, if that is the component without its initial data.
    pub(crate) code: Option<String>,
}
