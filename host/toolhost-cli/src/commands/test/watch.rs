//! Runs tests again when a file changes that they depend on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolhost::{BundleWatch, Sandbox};
use toolhost_testing::CaseFiles;

use crate::base::Base;
use crate::commands::build::{self, Sources, sources};
use crate::failure::Failure;
use crate::files;
use crate::host_context;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::text;

/// Time between two looks for new case files.
const INTERVAL: Duration = Duration::from_millis(500);

/// Most changed files named on a line.
const NAMED_MAX: usize = 5;

/// Watches the files that the tests of a bundle depend on, and builds its sources.
pub(super) struct Watch<'a> {
    bundle: &'a Path,
    policy: Option<&'a Path>,
    settings: &'a Settings,
    sandbox: Sandbox,
    files: BundleWatch,
    watched: Watched,
    /// The case files that have changed, if nothing else has.
    changed_cases: Vec<PathBuf>,
}

impl<'a> Watch<'a> {
    pub(super) fn start(
        bundle: &'a Path,
        policy: Option<&'a Path>,
        settings: &'a Settings,
    ) -> Result<Self, Failure> {
        Ok(Self {
            bundle,
            policy,
            settings,
            sandbox: host_context::sandbox(settings)?,
            files: BundleWatch::with_shipped(bundle, settings.base.clone()),
            watched: Watched {
                base: settings.base.clone(),
                ..Watched::default()
            },
            changed_cases: Vec::new(),
        })
    }

    /// Looks at the files, and builds what is not up to date. Returns whether the tests can run.
    pub(super) async fn build(&mut self) -> Result<bool, Failure> {
        // Before they are read, so that no change is missed.
        self.watched.look(self.bundle, self.policy).await?;
        self.files.set_also(self.watched.files());
        let is_built = self.watched.build(self.bundle, self.settings).await;
        self.files.set_also(self.watched.files());
        Ok(is_built)
    }

    /// Returns the case files that have changed, if nothing else has. Empty: all cases may have changed.
    pub(super) fn changed_cases(&self) -> &[PathBuf] {
        &self.changed_cases
    }

    /// Waits until files have changed, and notes which.
    pub(super) async fn wait(&mut self) {
        let changed = loop {
            let changed = tokio::select! {
                changed = self.files.changed(&self.sandbox) => changed,
                new = new_case_files(self.bundle, &self.watched.cases) => new,
            };
            let changed = self.watched.relevant(changed);
            if !changed.is_empty() {
                break changed;
            }
        };
        let names = changed.iter().map(|path| path.display().to_string());
        let names: Vec<String> = names.collect();
        let names = toolhost::text::listed(names.iter().map(String::as_str), NAMED_MAX);
        let count = text::counted(changed.len(), "file");
        self.settings.note(&format!("{count} changed: {names}"));
        let are_cases = changed.iter().all(|path| self.watched.is_case_file(path));
        self.changed_cases = if are_cases { changed } else { Vec::new() };
    }
}

/// The files that a run depends on, besides the manifest and the components that it names.
#[derive(Debug, Default)]
struct Watched {
    base: Arc<Base>,
    cases: Vec<PathBuf>,
    /// The policy and the files of its secrets.
    policy: Vec<PathBuf>,
    sources: BTreeSet<PathBuf>,
    /// The components that builds write, from the bundle's directory.
    built: Vec<PathBuf>,
}

impl Watched {
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = self.cases.iter().chain(&self.policy).chain(&self.sources);
        files.cloned().collect::<Vec<_>>().into_iter()
    }

    /// Finds the files.
    async fn look(&mut self, bundle: &Path, policy: Option<&Path>) -> Result<(), Failure> {
        self.cases = case_files(bundle).await;
        self.policy = policy.iter().map(|path| path.to_path_buf()).collect();
        // An error in the policy is reported by the run.
        if let Ok(file) = PolicyFile::read(policy).await {
            self.policy.extend(file.secret_files);
        }
        self.look_for_sources(bundle, Sources::Built).await
    }

    /// Builds what is not up to date. Returns whether the tests can run.
    async fn build(&mut self, bundle: &Path, settings: &Settings) -> bool {
        let built = build::refresh(bundle, settings).await;
        let is_built = match built {
            Ok(is_built) => is_built,
            // The run reports an error in the manifest.
            Err(_) => return true,
        };
        let sources = if is_built {
            Sources::Built
        } else {
            Sources::All
        };
        self.look_for_sources(bundle, sources).await.is_ok() && is_built
    }

    /// Finds the sources. If the manifest cannot be read, those found before stay.
    async fn look_for_sources(&mut self, bundle: &Path, which: Sources) -> Result<(), Failure> {
        let (bundle, base) = (bundle.to_owned(), self.base.clone());
        let reading = files::spawn_blocking(move || {
            let open = base.open(&bundle).ok();
            let pair = open.map(|open| {
                let built = open.source_entries().map(|source| source.component);
                (sources(&open, which), built.collect())
            });
            Ok(pair)
        });
        if let Some((sources, built)) = reading.await? {
            (self.sources, self.built) = (sources, built);
        }
        Ok(())
    }

    /// Leaves out the components that builds write: their sources are watched.
    fn relevant(&self, mut changed: Vec<PathBuf>) -> Vec<PathBuf> {
        changed.retain(|path| !self.built.iter().any(|built| path.ends_with(built)));
        changed
    }

    fn is_case_file(&self, path: &PathBuf) -> bool {
        let folder = self.cases.first().and_then(|case| case.parent());
        self.cases.contains(path) || folder.is_some_and(|folder| path.parent() == Some(folder))
    }
}

/// The paths of the case files. An error is reported by the run.
async fn case_files(bundle: &Path) -> Vec<PathBuf> {
    let bundle = bundle.to_owned();
    let listed = files::spawn_blocking(move || Ok(CaseFiles::list(&bundle)?)).await;
    listed.unwrap_or_default()
}

/// Waits until there are case files that are not known.
async fn new_case_files(bundle: &Path, before: &[PathBuf]) -> Vec<PathBuf> {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut files = case_files(bundle).await;
        files.retain(|path| !before.contains(path));
        if !files.is_empty() {
            // An editor may still be writing.
            tokio::time::sleep(INTERVAL).await;
            return files;
        }
    }
}
