//! Releases the calls of a bundle that is served: a server opens an instance for each request, and an earlier process may
//! have left calls that wait.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use futures_util::FutureExt;

use super::held::{ASK_EVERY, release_one};
use super::resumed::reopen;
use crate::call::scope::InstanceScope;
use crate::loaded_bundle::{LoadedBundle, LoadedInner};
use crate::pending::record::Owner;
use crate::pending::waiting::Releases;

/// Does what somebody approves of the calls of a bundle, as long as this load of it is there.
pub(crate) fn release(bundle: &LoadedBundle) {
    let host = &bundle.0.host;
    if host.policy.may_ask() {
        let threads = host.sandbox.threads();
        threads.spawn_own(release_all(Arc::downgrade(&bundle.0)));
    }
}

async fn release_all(bundle: Weak<LoadedInner>) {
    let mut releases: HashMap<Owner, Arc<Releases>> = HashMap::new();
    while let Some(loaded) = bundle.upgrade() {
        release_due(&loaded, &mut releases).await;
        let threads = loaded.host.sandbox.threads().clone();
        drop(loaded);
        threads.pause(ASK_EVERY).await;
    }
}

/// Begins to release what is due. What cannot be released is tried again later.
async fn release_due(loaded: &LoadedInner, releases: &mut HashMap<Owner, Arc<Releases>>) {
    let pending = &loaded.host.pending;
    let Some(records) = pending.kept_records().await else {
        return;
    };
    let bundle = loaded.key.text();
    let due = records.due_of_bundle(&bundle, SystemTime::now());
    let Ok(due) = due.await else {
        // Whoever waits for a decision about a call logs it.
        return;
    };
    releases.retain(|owner, _| due.iter().any(|one| one.owner == *owner));
    for one in due {
        let own = releases.entry(one.owner.clone()).or_default();
        // None while eight of the instance run: it is tried again.
        let Some(permit) = own.begin(one.id).now_or_never().flatten() else {
            continue;
        };
        let Some(agent) = loaded.agents.iter().find(|it| it.name() == one.owner.agent) else {
            continue;
        };
        let (agent, key, workdir) = (agent.clone(), one.owner.instance_key, one.workdir);
        let open = move || {
            let workdir = reopen(&agent, &key, &workdir)?;
            Some(InstanceScope::open(&agent, key, workdir))
        };
        let Ok(Some(scope)) = loaded.host.sandbox.threads().compute(open).await else {
            continue;
        };
        release_one(pending, &scope, one.handle, permit);
    }
}
