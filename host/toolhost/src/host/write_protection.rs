//! The files that no guest may change: those of every loaded bundle, and the host's own directories.

use std::sync::{Arc, Mutex, Weak};

use toolhost_runtime::lock;
use toolhost_sandbox::{Protected, WorkdirRules, WriteProtected};

use toolhost_manifest::bundle::WriteGuard;

/// The files that no guest may change.
pub(crate) struct WriteProtection {
    /// Directories that no workdir may be, contain or lie in.
    pub(crate) rules: WorkdirRules,
    bundles: Mutex<Vec<Weak<WriteGuard>>>,
}

impl WriteProtection {
    pub(crate) fn new(rules: WorkdirRules) -> Self {
        Self {
            rules,
            bundles: Mutex::default(),
        }
    }

    /// Protects a bundle's files while the returned guard is alive.
    pub(crate) fn guard(&self, guard: WriteGuard) -> Arc<WriteGuard> {
        let guard = Arc::new(guard);
        let mut all = lock(&self.bundles);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&guard));
        guard
    }

    /// Returns what is protected now. The files are looked up whenever a guest is about to change one
    /// of their names; if a lookup fails, the workdir is read-only.
    pub(crate) fn snapshot(&self) -> WriteProtected {
        let all = lock(&self.bundles);
        let bundles: Vec<_> = all
            .iter()
            .filter(|known| known.strong_count() > 0)
            .cloned()
            .collect();
        drop(all);
        let mut own = Protected::default();
        self.rules.protected().for_each(|id| own.add(id));
        let own = Arc::new(own);
        WriteProtected::refreshed_by(move || {
            let mut all = vec![Arc::clone(&own)];
            // Bundles that were unloaded are skipped.
            for bundle in bundles.iter().filter_map(Weak::upgrade) {
                match bundle.now() {
                    Ok(found) => all.push(found),
                    Err(error) => {
                        tracing::error!(%error, "the files of a bundle could not be looked up: workdirs are read-only");
                        return None;
                    }
                }
            }
            Some(all)
        })
    }
}
