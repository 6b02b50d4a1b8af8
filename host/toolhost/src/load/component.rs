//! Prepares the components of a bundle, several at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::{self, Either};
use futures_util::stream::FuturesUnordered;
use indexmap::IndexMap;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio_util::sync::DropGuard;
use toolhost_contract::{ResourceName, ToolErrorCode, ToolResource};
use toolhost_manifest::bundle::package::{PackageOrigin, PackageReference, is_package};
use toolhost_manifest::bundle::{CORE_MODULE_HELP, Diagnostic, Entry, OpenBundle, OtherFile};
use toolhost_runtime::lock;
use toolhost_sandbox::{CheckedTool, PrepareError, PreparedTool};

use super::compile_later::CompileLater;
use super::register::{entry_shown, is_described, not_prepared};
use crate::host::{HostInner, LoadProgress};
use crate::loaded_bundle::LoadedInner;
use crate::registry::Runs;
use crate::registry::loaded_component::{Compiling, LoadedComponent};

/// The component of a Tool, or why there is none. None where the load does not need it.
pub(super) type PreparedComponent = Result<Option<Component>, Box<Diagnostic>>;

/// Which components a load prepares.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needed<'a> {
    All,
    /// All; what the manifest describes may be compiled after the load.
    AllLater,
    /// Those of the Tools with these names.
    Of(&'a [ResourceName]),
    /// None: no entry is read.
    Nothing,
}

impl Needed<'_> {
    fn includes(self, tool: &ToolResource) -> bool {
        match self {
            Self::All | Self::AllLater => true,
            Self::Of(names) => names.contains(&tool.metadata.name),
            Self::Nothing => false,
        }
    }
}

/// A component, and the package that it was in.
#[derive(Clone)]
pub(super) struct Component {
    pub(super) loaded: LoadedComponent,
    pub(super) package: Option<PackageOrigin>,
}

/// The components of a bundle.
pub(super) struct Components {
    /// In the order of the Tools.
    pub(super) of_tools: Vec<PreparedComponent>,
    /// The files that entries were built of.
    pub(super) files: Vec<PathBuf>,
    /// What is not compiled yet.
    pub(super) later: CompileLater,
    /// The digest of each Tool's component, if calls may run on workers; none if one was not read.
    pub(super) digests: Option<Vec<[u8; 32]>>,
}

/// Reads the entries of all Tools, and prepares the components of those that are needed. Tools of one entry share a
/// component. Entries of others are read too: what they were built of is write-protected, and a missing or
/// unsigned one is an error.
///
/// Entries are read one after another, in the order of the manifest, so that the same source exceeds the
/// limit on the sources of a bundle each time. Meanwhile as many components as there are cores are
/// prepared; more would be held in memory only to wait.
pub(super) async fn prepare_all(
    host: &HostInner,
    open: &Arc<OpenBundle>,
    earlier: &[PreparedTool],
    needed: Needed<'_>,
) -> Components {
    let later = CompileLater::new();
    let preparation = Preparation {
        host,
        open,
        earlier,
        needed,
        reading: Mutex::default(),
        compiler: Arc::new(later.stop.clone().drop_guard()),
        later: std::sync::Mutex::new(later),
        digests: std::sync::Mutex::default(),
    };
    let entries = by_entry(open.bundle().tools());
    let cores = match entries.len() {
        // Finding the number of cores reads several files.
        0 | 1 => 1,
        _ => thread::available_parallelism().map_or(1, usize::from),
    };
    let (mut running, mut all) = (FuturesUnordered::new(), Vec::new());
    for tools in entries {
        if running.len() >= cores {
            all.extend(running.next().await.into_iter().flatten());
        }
        let reading = preparation.read_shared(&tools);
        let entry = while_running(reading, &mut running, &mut all).await;
        running.push(preparation.prepare_shared(tools, entry));
    }
    while let Some(prepared) = running.next().await {
        all.extend(prepared);
    }
    all.sort_by_key(|(index, ..)| *index);
    let (mut of_tools, mut files) = (Vec::new(), Vec::new());
    for (_, tool, of_tool) in all {
        of_tools.push(tool);
        files.extend(of_tool);
    }
    drop(running);
    let later = preparation.later.into_inner();
    let later = later.unwrap_or_else(PoisonError::into_inner);
    let digests = preparation.digests.into_inner();
    let digests = digests.unwrap_or_else(PoisonError::into_inner);
    let is_whole = host.is_of_fleet() && digests.len() == of_tools.len();
    Components {
        digests: is_whole.then(|| digests.into_values().collect()),
        of_tools,
        files,
        later,
    }
}

/// Awaits an entry while other components are prepared. Adds those that are ready to `all`.
async fn while_running<T>(
    reading: impl Future<Output = T>,
    running: &mut FuturesUnordered<impl Future<Output = Vec<OfTool>>>,
    parts: &mut Vec<OfTool>,
) -> T {
    let mut reading = pin!(reading);
    loop {
        match future::select(reading.as_mut(), running.next()).await {
            Either::Left((entry, _)) => return entry,
            Either::Right((Some(prepared), _)) => parts.extend(prepared),
            Either::Right((None, _)) => return reading.await,
        }
    }
}

/// Returns the indices of the Tools of each entry.
fn by_entry(tools: &[ToolResource]) -> Vec<Vec<usize>> {
    let mut entries: IndexMap<&str, Vec<usize>> = IndexMap::new();
    for (index, tool) in tools.iter().enumerate() {
        entries.entry(&tool.spec.entry).or_default().push(index);
    }
    entries.into_values().collect()
}

/// Returns the components of an earlier load.
pub(super) fn of(previous: &LoadedInner) -> Vec<PreparedTool> {
    let registry = previous.tools.registry();
    let tools = registry.iter().flat_map(|registry| registry.values());
    let components = tools.filter_map(|tool| match &tool.runs {
        Runs::Component(component) => component.ready().cloned(),
        Runs::Native { .. } | Runs::Catalog { .. } => None,
    });
    components.collect()
}

/// What all components of a bundle are prepared with.
struct Preparation<'a> {
    host: &'a HostInner,
    open: &'a Arc<OpenBundle>,
    /// The components of an earlier load.
    earlier: &'a [PreparedTool],
    needed: Needed<'a>,
    /// Held while an entry is read: one after an error may be read while another is.
    reading: Mutex<()>,
    later: std::sync::Mutex<CompileLater>,
    /// Ends what is compiled later.
    compiler: Arc<DropGuard>,
    /// The digest of each Tool's component, by the index of the Tool.
    digests: std::sync::Mutex<BTreeMap<usize, [u8; 32]>>,
}

/// When a component is compiled.
#[derive(Clone, Copy)]
enum Compile<'a> {
    Never,
    Now,
    /// After the load, for these Tools.
    Later(&'a [usize]),
}

/// An entry, or why it cannot be read.
type ReadEntry = Result<Entry, Box<Diagnostic>>;

/// The index of a Tool, its component, and the files that it was built of.
type OfTool = (usize, PreparedComponent, Vec<PathBuf>);

impl Preparation<'_> {
    fn tool(&self, index: usize) -> Option<&ToolResource> {
        self.open.bundle().tools().get(index)
    }

    /// Reads the entry that these Tools share. None where there is no Tool.
    async fn read_shared(&self, tools: &[usize]) -> Option<ReadEntry> {
        let first = tools.first().and_then(|index| self.tool(*index));
        match first {
            Some(tool) => Some(self.read(tool).await),
            None => None,
        }
    }

    /// Prepares the component that these Tools share. After an error it is read again for the next Tool.
    async fn prepare_shared(&self, tools: Vec<usize>, entry: Option<ReadEntry>) -> Vec<OfTool> {
        let (mut entry, mut ready) = (entry, None);
        let mut prepared = Vec::with_capacity(tools.len());
        let is_needed = |index: &usize| {
            let tool = self.tool(*index);
            tool.is_some_and(|tool| self.needed.includes(tool))
        };
        let when = if !tools.iter().any(is_needed) {
            Compile::Never
        } else if self.is_later(&tools) {
            Compile::Later(&tools)
        } else {
            Compile::Now
        };
        for index in tools.iter().copied() {
            let Some(tool) = self.tool(index) else {
                continue;
            };
            if matches!(self.needed, Needed::Nothing) {
                prepared.push((index, Ok(None), Vec::new()));
                continue;
            }
            if let Some(component) = &ready {
                prepared.push((index, Ok(Option::clone(component)), Vec::new()));
                continue;
            }
            let entry = match entry.take() {
                Some(entry) => entry,
                None => self.read(tool).await,
            };
            if let (Ok(entry), true) = (&entry, self.host.is_of_fleet()) {
                let digest = Sha256::digest(&entry.component).into();
                lock(&self.digests).extend(tools.iter().map(|index| (*index, digest)));
            }
            let component = match entry {
                Ok(entry) => self.prepare(tool, entry, when).await,
                Err(finding) => Err(finding),
            };
            prepared.push(match component {
                Ok((component, files)) => {
                    ready = Some(component.clone());
                    (index, Ok(component), files)
                }
                Err(finding) => (index, Err(finding), Vec::new()),
            });
        }
        prepared
    }

    /// Whether these Tools can be listed before their component is compiled.
    fn is_later(&self, tools: &[usize]) -> bool {
        let mut tools = tools.iter().filter_map(|index| self.tool(*index));
        matches!(self.needed, Needed::AllLater) && tools.all(is_described)
    }

    /// Reads the entry of a Tool: from the host's source, or else on a thread from the bundle's directory.
    async fn read(&self, tool: &ToolResource) -> ReadEntry {
        let _reading = self.reading.lock().await;
        let sandbox = &self.host.sandbox;
        let max_bytes = sandbox.compile_limits().bytes;
        let source = self.host.components.as_ref();
        if let Some(source) = source.filter(|source| source.reads(tool)) {
            return source.read(self.open, tool, max_bytes).await;
        }
        let (open, owned) = (Arc::clone(self.open), tool.clone());
        let read = sandbox
            .threads()
            .compute(move || open.read_entry(&owned, max_bytes));
        read.await.unwrap_or_else(|error| {
            let message = format!(
                "tool {}: {} cannot be read: {error}",
                tool.metadata.name,
                entry_shown(tool)
            );
            let place = self.open.entry_place(tool);
            Err(Box::new(Diagnostic::error(
                ToolErrorCode::Host,
                place,
                message,
            )))
        })
    }

    /// Prepares a component, if it is needed. Returns it with the files that it was built of.
    async fn prepare(
        &self,
        tool: &ToolResource,
        entry: Entry,
        when: Compile<'_>,
    ) -> Result<(Option<Component>, Vec<PathBuf>), Box<Diagnostic>> {
        let (host, name) = (self.host, &tool.metadata.name);
        self.check_signer(tool, &entry)?;
        if matches!(when, Compile::Never) {
            return Ok((None, entry.files));
        }
        host.report(&LoadProgress::Preparing {
            tool: name.clone(),
            bytes: entry.component.len() as u64,
        });
        let started = Instant::now();
        let file = OtherFile::of(tool.spec.entry.as_ref(), &entry.component);
        let is_core_module = file == Some(OtherFile::CoreModule);
        let on_stage = |stage| {
            let tool = name.clone();
            host.report(&LoadProgress::Slow { tool, stage });
        };
        let refused = |error| {
            let finding = not_prepared(self.open, tool, &error);
            if is_core_module {
                finding.with_help(CORE_MODULE_HELP)
            } else {
                finding
            }
        };
        let (package, files) = (entry.package, entry.files);
        let checked = host.sandbox.check(entry.component, self.earlier).await;
        let (prepared, origin) = match (checked.map_err(refused)?, when) {
            (CheckedTool::Ready(prepared, origin), _) => (prepared, origin),
            (CheckedTool::Uncompiled(uncompiled), Compile::Later(tools))
                if lock(&self.later).has_room(uncompiled.facts().bytes) =>
            {
                let compiling = Compiling::new(&uncompiled, Arc::clone(&self.compiler));
                let compiling = Arc::new(compiling);
                let unless = PrepareError::Host("the host ended before it was compiled".to_owned());
                let unless = not_prepared(self.open, tool, &unless);
                lock(&self.later).add(&compiling, uncompiled, tools.to_vec(), unless);
                let loaded = LoadedComponent::Compiling(compiling);
                return Ok((Some(Component { loaded, package }), files));
            }
            (CheckedTool::Uncompiled(uncompiled), _) => {
                let compiled = host.sandbox.compile(uncompiled, on_stage).await;
                compiled.map_err(refused)?
            }
        };
        host.report(&LoadProgress::Prepared {
            tool: name.clone(),
            origin,
            took: started.elapsed(),
        });
        let loaded = LoadedComponent::Ready(prepared);
        Ok((Some(Component { loaded, package }), files))
    }

    /// Refuses a package where the policy requires a signature and the component source has verified none by the
    /// policy's rules.
    fn check_signer(&self, tool: &ToolResource, entry: &Entry) -> Result<(), Box<Diagnostic>> {
        let Some(rules) = self.host.policy.packages() else {
            return Ok(());
        };
        let package = entry.package.as_ref();
        let source = self.host.components.as_ref();
        let is_verified = source.is_some_and(|source| source.verifies(rules));
        let is_signed = is_verified && package.is_some_and(|package| !package.signers.is_empty());
        let reference = PackageReference::parse(&tool.spec.entry);
        let is_exempt = reference.is_ok_and(|reference| rules.exempts(&reference));
        if is_signed || is_exempt || !is_package(&tool.spec.entry) {
            return Ok(());
        }
        let code = ToolErrorCode::ConfigSignature;
        let problem = ": the policy requires a signature, and the host's component source verifies none by the policy's rules";
        let help = "Give the host a component source with the signers of the policy: `PackageSource::require`, and with another policy `Host::with_component_source`.";
        Err(self.open.entry_error(tool, code, problem, help))
    }
}
