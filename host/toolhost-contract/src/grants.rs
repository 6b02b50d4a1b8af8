//! Grants of the operator's policy.

use std::fmt;
use std::sync::Arc;

use crate::HttpGrant;

/// Whether a call may change its workdir.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkdirAccess {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read only. Every change fails with `read-only`.
    ReadOnly,
}

/// When the changes that a call makes in its workdir take effect: `workdir` in a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkdirChanges {
    /// At once, also if the call fails afterwards.
    #[default]
    Direct,
    /// All together when the call has succeeded, and otherwise not at all.
    Transactional,
    /// As [`Self::Transactional`], and they are on the disk before the call returns.
    Durable,
}

impl WorkdirChanges {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Transactional, Self::Durable];

    /// Returns `direct`, `transactional` or `durable`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Transactional => "transactional",
            Self::Durable => "durable",
        }
    }
}

/// What the operator's policy grants to one tool.
///
/// Denied by default, and by [`Grants::none`]:
/// - the network: TCP, UDP, DNS, HTTP
/// - the environment and the arguments: both empty
/// - stdin: empty
/// - all directories except the workdir
/// - processes: there is no interface for them
/// - the host's stdout and stderr: the guest's output is captured
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Grants {
    /// Access to the workdir. Default: read and write.
    pub workdir: WorkdirAccess,
    /// Environment variables of the guest. Default: none.
    pub env: Vec<(String, String)>,
    /// HTTP grant. Default: none, no requests.
    pub http: Option<Arc<HttpGrant>>,
}

/// Omits the values of variables, which may be secret.
impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Grants")
            .field("workdir", &self.workdir)
            .field("env", &names)
            .field("http", &self.http)
            .finish()
    }
}

impl Grants {
    /// Returns grants for a writable workdir only.
    pub fn none() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_omits_the_values_of_variables() {
        let grants = Grants {
            env: vec![("TOKEN".to_owned(), "sk-12345".to_owned())],
            ..Grants::none()
        };
        assert_eq!(
            format!("{grants:?}"),
            "Grants { workdir: ReadWrite, env: [\"TOKEN\"], http: None }"
        );
    }
}
