//! What one call is allowed beyond its workdir.

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
/// - the network: TCP, UDP, DNS
/// - the environment and the arguments: both empty
/// - stdin: at its end
/// - every directory but the workdir
/// - processes: they do not exist
/// - the host's own stdout and stderr: captured, never inherited
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    /// Use of the workdir. Default: read and write.
    pub workdir: WorkdirAccess,
    /// Environment variables the guest sees. Default: none.
    pub env: Vec<(String, String)>,
}

impl Grants {
    /// Opens nothing beyond the workdir, which may be read and written.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }
}
