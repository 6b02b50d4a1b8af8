//! Loads the bundle and the policy of a command again when their files change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;
use toolhost::{BundleWatch, LiveBundle, LoadedBundle};

use crate::failure::Failure;
use crate::host_context::{self, note_policy_warnings};
use crate::policy_file::{PolicyChoice, PolicyFile};
use crate::settings::Settings;

/// How long reading the policy and its secrets may take: a secret may be a pipe that nobody writes to.
const POLICY_TIMEOUT: Duration = Duration::from_secs(30);

/// Watches the files of a bundle, the policy and the files of its secrets.
pub(crate) struct Watch {
    files: BundleWatch,
    policy: PolicyChoice,
}

impl Watch {
    /// Looks at the files. Do this before the policy and the bundle are read, so that no change is missed.
    pub(crate) fn new(
        bundle: &Path,
        policy: &PolicyChoice,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let bundle = settings.bundle(bundle)?;
        let mut files = BundleWatch::with_shipped(bundle, settings.base.clone());
        files.set_also(policy.path.clone());
        Ok(Self {
            files,
            policy: policy.clone(),
        })
    }

    /// Reloads the bundle whenever a file has changed. If the bundle or the policy cannot be used, writes
    /// why to stderr, once for each new reason, and leaves the current bundle and policy in place.
    ///
    /// Never returns: the caller aborts the task.
    pub(crate) async fn reload(mut self, live: LiveBundle, settings: Arc<Settings>) {
        let mut reported = None;
        loop {
            let sandbox = live.current().host().sandbox().clone();
            self.files.changed(&sandbox).await;
            match self.reload_once(&live, &settings).await {
                Ok(bundle) => {
                    reported = None;
                    settings.note(&format!("reloaded {}", bundle.source().display()));
                }
                Err(failure) => {
                    let reason = failure.to_json();
                    if !is_reported(&mut reported, reason) {
                        failure.print(settings.style);
                        settings.note("the bundle and the policy from before stay in use");
                    }
                }
            }
        }
    }

    async fn reload_once(
        &mut self,
        live: &LiveBundle,
        settings: &Settings,
    ) -> Result<LoadedBundle, Failure> {
        let read = self.policy.read();
        let read = tokio::time::timeout(POLICY_TIMEOUT, read).await;
        let PolicyFile {
            policy,
            source,
            secret_files,
            ..
        } = read.map_err(|_| too_slow())??;
        let also = self.policy.path.iter().cloned().chain(secret_files);
        self.files.set_also(also);
        // With the signers of this policy.
        let sandbox = live.current().host().sandbox().clone();
        let packages = host_context::packages(&sandbox, settings, &policy)?;
        let updated = live.update(|current| async move {
            let host = current.host().with_policy(policy);
            host.with_component_source(packages).reload(&current).await
        });
        let updated = updated.await;
        let bundle = updated.map_err(|error| Failure::of_bundle(error, source.as_ref()))?;
        note_policy_warnings(source.as_ref(), &bundle, settings);
        Ok(bundle)
    }
}

/// Whether this reason was the last one reported. It is now.
fn is_reported(reported: &mut Option<Value>, reason: Value) -> bool {
    let is_known = reported.as_ref() == Some(&reason);
    *reported = Some(reason);
    is_known
}

fn too_slow() -> Failure {
    let limit = POLICY_TIMEOUT.as_secs();
    let error = anyhow!("the policy and its secrets could not be read within {limit} s");
    Failure::from(error).hint("Name files as secrets that can be read at once, and no pipes.")
}

#[cfg(test)]
mod tests;
