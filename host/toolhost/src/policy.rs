//! STUB: the operator's policy; replaced by the policy module being written.
use crate::bundle::{Bundle, Diagnostic};
use toolhost_contract::{Locale, ResourceName};
use toolhost_sandbox::{Grants, Limits};
/// Stub.
#[derive(Debug, Clone, Default)]
pub struct Policy;
impl Policy {
    /// Stub.
    pub fn parse(_text: &str, _file: &str) -> Result<Self, Vec<Diagnostic>> { Ok(Self) }
    /// Stub.
    pub fn resolve(&self, _agent: &str, _tool: &ResourceName) -> (Grants, Limits) { let mut l = Limits::default(); l.deadline = std::time::Duration::from_millis(500); (Grants::none(), l) }
    /// Stub.
    pub fn unknown_names(&self, _bundle: &Bundle) -> Vec<Diagnostic> { Vec::new() }
    /// Stub.
    pub fn locale(&self) -> Locale { Locale::En }
    /// Stub.
    pub fn registry_direct_call(&self) -> bool { false }
}
