//! Notices when the files of a bundle change.

mod file_state;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use toolhost_manifest::LoadError;
use toolhost_manifest::bundle::{
    Bundle, ChangedFiles, MANIFEST, NoShippedBundles, OpenBundle, ShippedBundles,
};
use toolhost_manifest::lock::LOCK;
use toolhost_sandbox::Sandbox;

use file_state::FileState;

/// Time between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long the files must stay as they are before a change is reported.
const SETTLED: Duration = Duration::from_millis(200);

/// Longest wait until the files have settled.
const SETTLING_MAX: Duration = Duration::from_secs(3);

/// Notices changes of a bundle's manifest, of those that it includes, of the components that they name, of its lock,
/// and of other files, such as the policy.
///
/// It looks at the metadata of these files twice a second: at most 203 of a bundle, and those given. So
/// it works on every file system, in containers and over networks, and needs no resources of the system.
/// A file counts as changed if it appears, disappears, or has another identity, size or time; links are
/// followed. Thus it notices editors that rename a new file over the old one, links that are swapped,
/// directories that are removed and created again, and files that are created later.
///
/// ```no_run
/// # async fn example(host: toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::{BundleWatch, LiveBundle};
///
/// let mut watch = BundleWatch::new("bundle"); // before the bundle is read
/// let live = LiveBundle::new(host.load("bundle").await?);
/// loop {
///     watch.changed(host.sandbox()).await;
///     if let Err(error) = live.reload().await {
///         eprintln!("{error}; the earlier bundle stays");
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct BundleWatch {
    /// None if only the other files are watched.
    bundle: Option<PathBuf>,
    shipped: Arc<dyn ShippedBundles>,
    also: BTreeSet<PathBuf>,
    /// The state of each file when a change was last reported.
    known: Files,
}

type Files = BTreeMap<PathBuf, FileState>;

impl BundleWatch {
    /// Looks at the files of the bundle at a path: a manifest, or a directory that contains one. Reads
    /// the manifest for the names of the components.
    pub fn new(bundle: impl Into<PathBuf>) -> Self {
        Self::with_shipped(bundle, Arc::new(NoShippedBundles))
    }

    /// Looks at the files as [`Self::new`] does. The bundle may include `shipped` ones, which are not watched.
    pub fn with_shipped(bundle: impl Into<PathBuf>, shipped: Arc<dyn ShippedBundles>) -> Self {
        let bundle = bundle.into();
        let named = open(&bundle, &*shipped).map_or_else(|_| Vec::new(), |open| named(&open));
        let known = states(named.into_iter().chain(given(&bundle)));
        Self {
            bundle: Some(bundle),
            shipped,
            also: BTreeSet::new(),
            known,
        }
    }

    /// Looks at these files, and at no bundle.
    pub fn of_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut watch = Self {
            bundle: None,
            shipped: Arc::new(NoShippedBundles),
            also: BTreeSet::new(),
            known: Files::new(),
        };
        watch.set_also(files);
        watch
    }

    /// Watches these files too, in the place of those that were given before.
    pub fn set_also(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        let before = std::mem::take(&mut self.also);
        self.also = files.into_iter().collect();
        for file in before.difference(&self.also) {
            self.known.remove(file);
        }
        for file in &self.also {
            let entry = self.known.entry(file.clone());
            entry.or_insert_with_key(|file| FileState::of(file));
        }
    }

    /// Waits until a file has changed since this was last returned, or since [`Self::new`], and has stayed
    /// as it is for 200 ms; if files keep changing, for 3 s at most. Changes meanwhile are reported as one.
    /// Returns the paths of the files that have changed.
    ///
    /// Runs on any executor; uses the timer and the threads of `sandbox`. Cancel-safe: dropping the future
    /// loses no change.
    pub async fn changed(&mut self, sandbox: &Sandbox) -> Vec<PathBuf> {
        loop {
            sandbox.threads().pause(INTERVAL).await;
            let Some(now) = self.look(sandbox).await else {
                continue;
            };
            if now != self.known {
                let now = self.settle(sandbox, now).await;
                let changed = now
                    .iter()
                    .filter(|(file, state)| self.known.get(*file) != Some(state));
                let changed = changed.map(|(file, _)| file.clone()).collect();
                self.name_files(sandbox).await;
                return changed;
            }
        }
    }

    /// Waits until the files stay as they are, and returns their states.
    async fn settle(&self, sandbox: &Sandbox, mut now: Files) -> Files {
        let started = Instant::now();
        while started.elapsed() < SETTLING_MAX {
            sandbox.threads().pause(SETTLED).await;
            match self.look(sandbox).await {
                Some(next) if next != now => now = next,
                Some(_) | None => break,
            }
        }
        now
    }

    /// Returns the states of the known files. None if the system has no thread.
    async fn look(&self, sandbox: &Sandbox) -> Option<Files> {
        let files: Vec<_> = self.known.keys().cloned().collect();
        on_thread(sandbox, move || states(files)).await
    }

    /// Watches the files that the manifest names now. If it cannot be read, those that it named before
    /// stay.
    async fn name_files(&mut self, sandbox: &Sandbox) {
        let (bundle, also) = (self.bundle.clone(), self.also.clone());
        let shipped = Arc::clone(&self.shipped);
        let before: Vec<_> = self.known.keys().cloned().collect();
        let files = on_thread(sandbox, move || {
            let Some(bundle) = bundle else {
                return states(also);
            };
            let named = match open(&bundle, &*shipped) {
                Ok(open) => named(&open),
                Err(_) => before,
            };
            states(named.into_iter().chain(given(&bundle)).chain(also))
        });
        if let Some(files) = files.await {
            self.known = files;
        }
    }
}

fn open(bundle: &Path, shipped: &dyn ShippedBundles) -> Result<OpenBundle, LoadError> {
    Bundle::open_with(bundle, ChangedFiles::default(), shipped)
}

/// Returns the paths of the manifests, the components and the lock.
fn named(open: &OpenBundle) -> Vec<PathBuf> {
    let mut paths = open.paths();
    paths.push(open.dir().join(LOCK));
    paths
}

/// Returns the paths of which one is the manifest.
fn given(bundle: &Path) -> [PathBuf; 2] {
    [bundle.to_owned(), bundle.join(MANIFEST)]
}

fn states(files: impl IntoIterator<Item = PathBuf>) -> Files {
    let state = |file: PathBuf| {
        let state = FileState::of(&file);
        (file, state)
    };
    files.into_iter().map(state).collect()
}

/// Runs file calls on a thread that may hang, such as on a network file system.
async fn on_thread<T: Send + 'static>(
    sandbox: &Sandbox,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (send, done) = oneshot::channel();
    sandbox.threads().spawn_own(async move {
        // The receiver may have been dropped.
        let _is_received = send.send(tokio::task::spawn_blocking(work).await).is_ok();
    });
    done.await.ok()?.ok()
}
