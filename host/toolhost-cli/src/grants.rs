//! The grants of OAuthApps, in the user's state root.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use toolhost::oauth::{OAuth, OAuthConfig, OAuthEgress, OAuthKeyFile, OAuthStore};
use toolhost::state::database_of;
use toolhost::{Policy, Sandbox};

use crate::failure::Failure;
use crate::settings::Settings;
use crate::state_root::StateRoot;

/// Name of the file with the key, in the state root.
const KEY_FILE: &str = "oauth.key";

/// Opens the grants if the policy grants an OAuthApp. Without a state root there are none.
pub(crate) fn open_for(
    sandbox: &Sandbox,
    policy: &Policy,
    root: Option<&Path>,
    state_root: StateRoot,
) -> Result<Option<OAuth>, Failure> {
    let Some(root) = root.filter(|_| policy.grants_any_oauth_app()) else {
        return Ok(None);
    };
    match (open_at(sandbox, policy, policy, root), state_root) {
        (Ok(oauth), _) => Ok(Some(oauth)),
        (Err(_), StateRoot::Optional) => Ok(None),
        (Err(failure), StateRoot::Needed) => Err(failure),
    }
}

/// Opens the grants of the user's state root, or of the database that the policy `state` names.
pub(crate) fn open(
    sandbox: &Sandbox,
    policy: &Policy,
    state: &Policy,
    settings: &Settings,
) -> Result<OAuth, Failure> {
    let root = settings.dirs.state_root.as_deref().ok_or_else(|| {
        let error = anyhow!("the directory for the grants is not known");
        Failure::from(error).hint("Pass --state-root DIR, or set HOME.")
    })?;
    open_at(sandbox, policy, state, root)
}

fn open_at(
    sandbox: &Sandbox,
    policy: &Policy,
    state: &Policy,
    root: &Path,
) -> Result<OAuth, Failure> {
    let hint = "Pass --state-root DIR with a directory that only you can write.";
    let unusable = |error| Failure::from(error).hint(hint);
    let database = database_of(state, Some(root))?.unwrap_or_else(|| root.into());
    let store = OAuthStore::open_on(database, Some(root.to_owned())).map_err(unusable)?;
    let mut egress = OAuthEgress::new(sandbox.egress().clone());
    egress.private_networks = policy.oauth_networks();
    let key = Arc::new(OAuthKeyFile::new(root.join(KEY_FILE)));
    OAuth::open(OAuthConfig::new(store, key, egress)).map_err(unusable)
}
