//! Opens the workdir of a stored call again.

use std::path::Path;
use std::sync::Arc;

use toolhost_files::PrivateDir;
use toolhost_sandbox::Workdir;

use crate::agent::Agent;
use crate::call::scope::InstanceScope;
use crate::pending::record::{CallWorkdir, PendingCall};

/// Returns the instance in the workdir that a stored call ran in; none if the workdir is gone.
pub(super) async fn instance_of(
    instance: &Arc<InstanceScope>,
    call: &PendingCall,
) -> Option<Arc<InstanceScope>> {
    let Some(workdir) = call.workdir.clone() else {
        return Some(Arc::clone(instance));
    };
    let current = CallWorkdir::of(&instance.workdir);
    if current
        .as_ref()
        .is_some_and(|current| current.path == workdir.path)
    {
        return Some(Arc::clone(instance));
    }
    let (scope, inode) = (Arc::clone(instance), workdir.inode);
    let open = move || reopen(&scope.agent, &scope.key, &workdir);
    let sandbox = &instance.agent.0.host.sandbox;
    match sandbox.threads().compute(open).await.ok()? {
        Some(workdir) => Some(instance.in_workdir(workdir)),
        // Its path has changed since.
        None => current
            .is_some_and(|current| current.inode == inode)
            .then(|| Arc::clone(instance)),
    }
}

/// Opens the workdir of an instance by its path, if that is still the same directory.
pub(super) fn reopen(agent: &Agent, key: &str, workdir: &CallWorkdir) -> Option<Workdir> {
    let (host, path) = (&agent.0.host, workdir.path.as_path());
    let directory = if is_own_workspace(agent, key, path) {
        host.sandbox.open_own_workdir(path)
    } else {
        host.sandbox.open_workdir(path, &host.protection.rules)
    };
    let directory = directory.ok()?;
    let identity = CallWorkdir::of(&directory)?;
    (identity == *workdir).then_some(directory)
}

/// Returns whether a path is that of the instance's workspace, which lies within the state root.
fn is_own_workspace(agent: &Agent, key: &str, path: &Path) -> bool {
    let agent = &agent.0;
    let is_own = |root: &Path| {
        let workspace = agent.bundle.workspace(root, key);
        // A link in its place leads to a directory of someone else.
        PrivateDir::open_beneath(root, &workspace).is_ok()
            && workspace
                .canonicalize()
                .is_ok_and(|workspace| workspace == path)
    };
    agent.host.state_root.as_deref().is_some_and(is_own)
}
