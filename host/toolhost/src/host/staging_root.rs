//! Where the calls of a host stage the changes of transactions.

use std::path::Path;

use toolhost_manifest::policy::Policy;
use toolhost_sandbox::{StagingError, StagingRoot};

/// Opens the staging directory of a state root, and takes back the commits that processes began and did not
/// end before they died. None if there is none, and the policy has no transactions.
pub(crate) fn open(
    state_root: &Path,
    policy: &Policy,
) -> Result<Option<StagingRoot>, StagingError> {
    if !policy.has_transactions() && !state_root.join("staging").exists() {
        return Ok(None);
    }
    let root = StagingRoot::open(state_root)?;
    let recovered = root.recover()?;
    if recovered.taken_back > 0 {
        let commits = recovered.taken_back;
        tracing::warn!(commits, "commits of processes that died were taken back");
    }
    Ok(Some(root))
}
