//! `toolhost publish`, `add`, `update`, `vendor`, `sign` and `verify`: tools in OCI registries.

mod add;
mod publish;
mod sign;
mod update;
mod vendor;
mod verify;

use std::path::Path;

use serde_json::Value;
use toolhost::Sandbox;
use toolhost::tool::JsonLimits;
use toolhost_manifest::bundle::OpenBundle;
use toolhost_manifest::bundle::package::PackageReference;
use toolhost_package::{PackageSource, PullError, Pulled};

pub(crate) use add::add;
pub(crate) use publish::publish;
pub(crate) use sign::sign;
pub(crate) use update::update;
pub(crate) use vendor::vendor;
pub(crate) use verify::verify;

use crate::failure::{Failure, Hint};
use crate::host_context;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::progress::Progress;

/// Parses a reference of the command line.
fn reference(text: &str) -> Result<PackageReference, Failure> {
    let hint = "Write HOST/REPOSITORY:TAG, such as ghcr.io/me/notes:1.0.";
    let result = PackageReference::parse(text);
    result.hint(hint)
}

/// Opens a bundle without loading its components.
async fn open(path: &Path, settings: &Settings) -> Result<OpenBundle, Failure> {
    let path = settings.bundle(path)?.to_owned();
    let base = settings.base.clone();
    let bundle = tokio::task::spawn_blocking(move || base.open(&path)).await?;
    bundle.map_err(|error| Failure::of_bundle(error, None))
}

/// Pulls packages.
struct Puller {
    sandbox: Sandbox,
    source: PackageSource,
    progress: Progress,
}

impl Puller {
    fn new(settings: &Settings, policy: &PolicyFile) -> Result<Self, Failure> {
        let sandbox = host_context::sandbox(settings)?;
        Ok(Self {
            source: host_context::packages(&sandbox, settings, &policy.policy)?,
            sandbox,
            progress: Progress::start(settings.verbosity),
        })
    }

    async fn pull(
        &self,
        reference: &PackageReference,
        vendored: Option<&Path>,
    ) -> Result<Pulled, Failure> {
        let pulled = self.try_pull(reference, vendored).await;
        pulled.map_err(|error| failure(reference, error))
    }

    async fn try_pull(
        &self,
        reference: &PackageReference,
        vendored: Option<&Path>,
    ) -> Result<Pulled, PullError> {
        let _phase = self.progress.waiting(&format!("pulling {reference}"));
        let max = self.sandbox.compile_limits().bytes;
        self.source.pull(reference, vendored, max).await
    }

    /// Returns a reference with its own digest, or else with the one that its tag has now.
    async fn with_digest(&self, reference: PackageReference) -> Result<PackageReference, Failure> {
        match reference.digest() {
            Some(_) => Ok(reference),
            None => self.resolve(&reference).await,
        }
    }

    /// Returns the reference with the digest that its tag has now.
    async fn resolve(&self, reference: &PackageReference) -> Result<PackageReference, Failure> {
        let _phase = self
            .progress
            .waiting(&format!("asking {}", reference.registry()));
        let resolved = self.source.resolve(reference).await;
        resolved.map_err(|error| failure(reference, error))
    }
}

fn failure(reference: &PackageReference, error: PullError) -> Failure {
    let help = error.help();
    Failure::from(anyhow::Error::new(error).context(format!("{reference} cannot be pulled")))
        .hint(help)
}

/// Returns the Tool resource of a package.
fn tool_of(pulled: &Pulled) -> Result<Value, Failure> {
    let tool = pulled.tool.as_deref();
    let tool = tool.and_then(|json| JsonLimits::ANSWER.parse::<Value>(json).ok());
    tool.ok_or_else(|| {
        let error = anyhow::anyhow!(
            "{} has no Tool resource: another program has written it",
            pulled.reference
        );
        let hint = format!(
            "Write a Tool with `entry: {}`; `toolhost inspect` lists the handlers of a component.",
            pulled.reference
        );
        Failure::from(error).hint(hint)
    })
}
