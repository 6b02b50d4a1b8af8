//! Builds the components of one bundle. Skips those that are up to date, and replaces each file as soon as
//! it is built.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost::sandbox::{PrepareError, prepare_error_help};
use toolhost_contract::suggest::did_you_mean;
use toolhost_manifest::bundle::built::{
    FOLDER, Language, SOURCE_DEPTH_MAX, SOURCES_MAX, Source, Stamp,
};
use toolhost_manifest::bundle::host_files::looked_up;
use toolhost_manifest::bundle::{OpenBundle, SourceEntry, described};

use super::{exports, handlers};
use crate::args::BuildArgs;
use crate::files::{self, replace};
use crate::host_context;
use crate::settings::Settings;
use crate::toolchains::{
    self, BuildError, BuildOptions, BuiltComponent, DescribedExport, ErrorCause, Fault,
};

/// First bytes of a component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// A bundle that is being built.
#[derive(Debug)]
pub(super) struct BuildSession<'a> {
    open: &'a OpenBundle,
    options: BuildOptions<'a>,
    is_forced: bool,
    writes_exports: bool,
    settings: &'a Settings,
    /// Compiles components for the cache.
    compiling: Mutex<JoinSet<()>>,
    /// Keeps other processes from building this bundle.
    _lock: files::FileLock,
}

impl<'a> BuildSession<'a> {
    /// Starts a session. Waits while another process builds this bundle.
    pub(super) async fn start(
        open: &'a OpenBundle,
        args: &BuildArgs,
        options: BuildOptions<'a>,
        settings: &'a Settings,
    ) -> Result<Self> {
        let folder = make_folder(options.bundle)?;
        let lock = {
            let _phase = options.progress.waiting("waiting for another build");
            files::lock(&folder.join("build.lock")).await?
        };
        Ok(Self {
            open,
            options,
            is_forced: args.force,
            writes_exports: args.write_exports,
            settings,
            compiling: Mutex::default(),
            _lock: lock,
        })
    }

    /// Ends the session. Waits until what was built is compiled.
    pub(super) async fn finish(self) {
        let mut compiling = self.compiling.into_inner().unwrap_or_default();
        if !compiling.is_empty() {
            let _phase = self.options.progress.working("compiling");
            while compiling.join_next().await.is_some() {}
        }
    }

    /// Compiles a component for the cache while others are built, so that its first call need not. Loading it says
    /// what is wrong with it.
    fn compile(&self, component: Vec<u8>) {
        let sandbox = host_context::sandbox(self.settings).ok();
        let sandbox = sandbox.filter(|sandbox| sandbox.cache().is_some());
        if let (Some(sandbox), Ok(mut compiling)) = (sandbox, self.compiling.lock()) {
            compiling.spawn(async move { drop(sandbox.prepare(component).await) });
        }
    }

    /// Returns the size of the component, if it is up to date; an error if the manifest exports what it does not
    /// have.
    pub(super) fn current(&self, source: &SourceEntry<'_>) -> Option<Result<u64, BuildError>> {
        if self.is_forced {
            return None;
        }
        let (component, stamp) = self.open.built(source, u64::MAX).ok()?;
        if self.needs_exports(source) && described::find(&component).is_none() {
            return None;
        }
        let outside = stamp.sources.iter().filter(|source| !source.is_inside());
        let mut changed = outside.filter(|source| {
            let bytes = fs::read(self.options.bundle.join(&source.path));
            bytes.map_or(true, |bytes| Source::new(&source.path, &bytes) != **source)
        });
        // The component of an older kit does not tell what would be new.
        let mut absent = stamp.absent.as_ref()?.iter();
        let is_new = |path: &String| fs::symlink_metadata(self.options.bundle.join(path)).is_ok();
        if stamp.kit != self.kit(source) || changed.next().is_some() || absent.any(is_new) {
            return None;
        }
        let size = component.len() as u64;
        let compared = stamp.handlers.map(|names| self.compared(source, names));
        Some(compared.transpose().map(|_| size))
    }

    fn kit(&self, source: &SourceEntry<'_>) -> String {
        toolchains::id(source.language, self.options.engine)
    }

    /// Builds a source entry. Returns the size of the component and the warnings.
    pub(super) async fn build(
        &self,
        source: &SourceEntry<'_>,
    ) -> Result<(u64, Vec<Fault>), BuildError> {
        let tool = &source.tool.metadata.name;
        let entry = self.entry(source)?;
        let _phase = self.options.progress.working(&format!("building {tool}"));
        let compare = |names| self.compared(source, names);
        let check = async {
            let names = toolchains::check(source.language, &entry, self.options).await?;
            names.map(compare).transpose()
        };
        let build = toolchains::build(source.language, &entry, self.options);
        // What a check finds ends the build, which takes longer. Cargo runs once at a time.
        let (comparison, mut built) = match source.language {
            Language::Rust => (check.await?, build.await?),
            Language::TypeScript | Language::Python => tokio::try_join!(check, build)?,
        };
        if !built.component.starts_with(COMPONENT) {
            let fault = Fault::new("the result of the build is not a component");
            return Err(BuildError::source(fault.next("Build for wasm32-wasip2.")));
        }
        if built.exports.is_none() && (comparison.is_none() || self.needs_exports(source)) {
            let exports = self.exports_of(source, &built.component).await?;
            built.exports = exports;
        }
        let comparison = match (comparison, &built.exports) {
            (Some(comparison), _) => Some(comparison),
            (None, None) => None,
            (None, Some(exports)) => {
                let names = exports.iter().map(|export| export.name.clone());
                Some(compare(names.collect())?)
            }
        };
        let (handlers, notes) = comparison.unzip();
        if let Some(exports) = &built.exports {
            let place = |fault, export: &str, pointer: &str| {
                toolchains::at_argument(
                    source.language,
                    &entry,
                    &built.inputs,
                    (export, pointer),
                    fault,
                )
            };
            exports::check(self.open, source, exports, place)?;
            let exports: Vec<Value> = exports.iter().map(|export| json!(export)).collect();
            let fits = described::put_on(&mut built.component, &exports);
            if !fits.context("the exports cannot be written")? {
                let fault =
                    Fault::new("the descriptions and schemas of the exports are larger than 1 MiB");
                return Err(BuildError::source(
                    fault.next("Shorten them, or split the tool."),
                ));
            }
        }
        built.notes.extend(notes.unwrap_or_default());
        let absent = self.add_named(source.language, &entry, &mut built.inputs)?;
        let stamp = Stamp {
            entry: source.tool.spec.entry.clone(),
            kit: self.kit(source),
            sources: self.sources(&built)?,
            absent: Some(absent),
            handlers,
        };
        if !stamp.is_compared() {
            let what = format!(
                "the tool has more than {SOURCES_MAX} source files, too many folders, or files more \
                 than {SOURCE_DEPTH_MAX} folders deep: loading could not compare them"
            );
            let next = "Bundle its packages beforehand, or name a built component in spec.entry.";
            return Err(BuildError::source(Fault::new(what).next(next)));
        }
        let stamped = stamp.put_on(&mut built.component);
        stamped.context("the component cannot be stamped")?;
        let path = self.options.bundle.join(&source.component);
        replace(&path, &built.component)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        let bytes = built.component.len() as u64;
        self.compile(built.component);
        Ok((bytes, built.notes))
    }

    /// Compares the names of handlers with the manifest, unless its exports are written after the build. Returns them
    /// with notes.
    fn compared(
        &self,
        source: &SourceEntry<'_>,
        names: Vec<String>,
    ) -> Result<(Vec<String>, Vec<Fault>), BuildError> {
        if self.needs_exports(source) {
            return Ok((names, Vec::new()));
        }
        let notes = handlers::compare(self.open, source, &names)?;
        Ok((names, notes))
    }

    /// Returns whether a manifest takes exports from the code of an entry.
    fn needs_exports(&self, source: &SourceEntry<'_>) -> bool {
        self.writes_exports || exports::are_from_code(self.open, source)
    }

    /// Asks a component what its handlers are; `None` if it would not load, which `check` explains.
    ///
    /// # Errors
    /// Its code cannot describe them.
    async fn exports_of(
        &self,
        source: &SourceEntry<'_>,
        component: &[u8],
    ) -> Result<Option<Vec<DescribedExport>>, BuildError> {
        let progress = self.options.progress;
        let _phase = progress.compiling(source.tool.metadata.name.as_str(), component.len() as u64);
        let sandbox = host_context::sandbox(self.settings);
        let sandbox = sandbox.map_err(|failure| anyhow!(failure.message()))?;
        let inspection = toolhost::sandbox::inspect(&sandbox, component.to_vec()).await;
        match inspection.map(|inspection| inspection.handlers) {
            Ok(Ok(handlers)) => Ok(Some(handlers.iter().map(DescribedExport::from).collect())),
            Ok(Err(error @ PrepareError::Describe(_))) => {
                let fault = Fault::new(error.to_string());
                Err(BuildError::source(fault.next(prepare_error_help(&error))))
            }
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    /// Returns the entry as an absolute path without links, beneath the bundle's directory.
    fn entry(&self, source: &SourceEntry<'_>) -> Result<PathBuf, BuildError> {
        let path = &source.tool.spec.entry;
        let refuse = |what: String| {
            let fault = Fault::new(what).file(path.as_str());
            BuildError::source(fault.next("Correct spec.entry in the manifest."))
        };
        let entry = self.options.bundle.join(path).canonicalize();
        let entry = entry.map_err(|error| {
            if error.kind() == ErrorKind::NotFound {
                self.missing(path)
            } else {
                refuse(format!("the entry cannot be opened: {error}"))
            }
        })?;
        if !entry.starts_with(self.options.bundle) {
            let what = "the entry resolves outside the bundle's directory";
            return Err(refuse(what.to_owned()));
        }
        if !entry.is_file() {
            return Err(refuse("the entry is not a file".to_owned()));
        }
        Ok(entry)
    }

    /// Returns the error for an entry that does not exist, with the file that was probably meant.
    fn missing(&self, named: &str) -> BuildError {
        let path = self.options.bundle.join(named);
        let beside = path.parent().and_then(|folder| fs::read_dir(folder).ok());
        let names = beside.into_iter().flatten().flatten();
        let names: Vec<_> = names.map(|it| it.file_name()).collect();
        let mut names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
        names.sort_unstable();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let next = "Correct spec.entry in the manifest.";
        let next = match did_you_mean(&name, &names) {
            Some(similar) => format!("{similar} {next}"),
            None => next.to_owned(),
        };
        let fault = Fault::new("the entry does not exist").file(named);
        BuildError::source(fault.next(next))
    }

    /// Adds the files that the build has looked up by name to its inputs. Returns the paths at which there was none,
    /// from the bundle's directory.
    fn add_named(
        &self,
        language: Language,
        entry: &Path,
        inputs: &mut Vec<PathBuf>,
    ) -> Result<Vec<String>> {
        let mut absent = Vec::new();
        for path in looked_up(language, entry) {
            if path.is_file() {
                inputs.push(path);
            } else if fs::symlink_metadata(&path).is_err() {
                absent.push(self.path_in_stamp(&path)?);
            }
        }
        inputs.sort();
        inputs.dedup();
        Ok(absent)
    }

    /// Reads the source files of a build.
    fn sources(&self, built: &BuiltComponent) -> Result<Vec<Source>, BuildError> {
        let mut sources = Vec::new();
        for input in &built.inputs {
            let path = self.relative(input)?;
            let cannot = || format!("{path} cannot be read");
            let changed = fs::metadata(input).and_then(|metadata| metadata.modified());
            let is_lock = input.file_name().is_some_and(|name| name == "Cargo.lock");
            // Cargo writes its lock file during the build.
            if changed.with_context(cannot)? > built.started && !is_lock {
                let fault = Fault::new("the file changed while it was being built");
                return Err(BuildError {
                    cause: ErrorCause::Changed,
                    faults: vec![fault.file(path).next("Build again.")],
                });
            }
            let bytes = fs::read(input).with_context(cannot)?;
            sources.push(Source::new(path, &bytes));
        }
        Ok(sources)
    }

    /// Returns the path from the bundle's directory to a file.
    fn relative(&self, input: &Path) -> Result<String> {
        let input = input.canonicalize();
        self.path_in_stamp(&input.context("a source file was removed during the build")?)
    }

    /// Returns the path from the bundle's directory to an absolute path without links.
    fn path_in_stamp(&self, input: &Path) -> Result<String> {
        let dir = self.options.bundle;
        let same = |(a, b): &(Component<'_>, Component<'_>)| a == b;
        let shared = input.components().zip(dir.components());
        let shared = shared.take_while(same).count();
        let beyond = dir.components().skip(shared);
        let up = beyond.map(|_| Component::ParentDir);
        let path: PathBuf = up.chain(input.components().skip(shared)).collect();
        let path = path.into_os_string().into_string();
        path.map_err(|path| anyhow!("{} has a name that is not UTF-8", path.to_string_lossy()))
    }
}

/// Creates the folder of built components, with a .gitignore.
fn make_folder(dir: &Path) -> Result<PathBuf> {
    let folder = dir.join(FOLDER);
    let cannot = || format!("{} cannot be created", folder.display());
    match fs::create_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(&folder).with_context(cannot)?.is_dir() {
                bail!("{} is not a folder", folder.display());
            }
        }
        made => made.with_context(cannot)?,
    }
    let ignore = folder.join(".gitignore");
    // Does nothing if the file exists, or a dangling link.
    if let Ok(mut ignore) = fs::File::create_new(ignore) {
        ignore.write_all(b"*\n").with_context(cannot)?;
    }
    Ok(folder)
}
