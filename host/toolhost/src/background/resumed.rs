//! Opens the workdir of a stored call again.

use std::path::Path;
use std::sync::Arc;

use toolhost_files::PrivateDir;
use toolhost_sandbox::Workdir;

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
    let own = CallWorkdir::of(&instance.workdir);
    if own.as_ref().is_some_and(|own| own.path == workdir.path) {
        return Some(Arc::clone(instance));
    }
    let (scope, inode) = (Arc::clone(instance), workdir.inode);
    let open = move || reopen(&scope, &workdir);
    let sandbox = &instance.agent.0.host.sandbox;
    match sandbox.threads().compute(open).await.ok()? {
        Some(workdir) => Some(instance.in_workdir(workdir)),
        // Its path has changed since.
        None => own
            .is_some_and(|own| own.inode == inode)
            .then(|| Arc::clone(instance)),
    }
}

/// Opens a workdir by its path, if that is still the same directory.
fn reopen(instance: &InstanceScope, workdir: &CallWorkdir) -> Option<Workdir> {
    let (agent, path) = (&instance.agent.0, workdir.path.as_path());
    let host = &agent.host;
    let opened = if is_own_workspace(instance, path) {
        host.sandbox.open_own_workdir(path)
    } else {
        host.sandbox.open_workdir(path, &host.protection.rules)
    };
    let opened = opened.ok()?;
    let found = CallWorkdir::of(&opened)?;
    (found == *workdir).then_some(opened)
}

/// Returns whether a path is that of the instance's workspace, which lies within the state root.
fn is_own_workspace(instance: &InstanceScope, path: &Path) -> bool {
    let agent = &instance.agent.0;
    let is_own = |root: &Path| {
        let own = agent.bundle.workspace(root, &instance.key);
        // A link in its place leads to a directory of someone else.
        PrivateDir::open_beneath(root, &own).is_ok()
            && own.canonicalize().is_ok_and(|own| own == path)
    };
    agent.host.state_root.as_deref().is_some_and(is_own)
}
