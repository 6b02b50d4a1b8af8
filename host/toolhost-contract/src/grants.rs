//! What one call is allowed beyond its workdir.

use std::fmt;
use std::sync::Arc;

use crate::HttpGrant;

/// How much of the workdir a call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkdirAccess {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read; every change answers `read-only`.
    ReadOnly,
}

/// What the operator's policy gives to one tool. The sandbox is told; it never asks.
///
/// Closed by default, and by [`Grants::none`]:
/// - the network: TCP, UDP, DNS, HTTP
/// - the environment and the arguments: both empty
/// - stdin: at its end
/// - every directory but the workdir
/// - processes: they do not exist
/// - the host's own stdout and stderr: captured, never inherited
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Use of the workdir. Default: read and write.
    pub workdir: WorkdirAccess,
    /// Environment variables the guest sees. Default: none.
    pub env: Vec<(String, String)>,
    /// Where it may send HTTP requests. Default: nowhere.
    pub http: Option<Arc<HttpGrant>>,
}

/// Of the environment the names: values may be secret.
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
    /// Opens nothing beyond the workdir, which may be read and written.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_of_a_variable_is_in_the_debug_form() {
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
