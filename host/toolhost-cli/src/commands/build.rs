//! `toolhost build`: builds the components of tools whose entries are source.

mod entries;
mod exports;
mod handlers;
mod session;
mod sources;
mod watch;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, anyhow};
use serde::Serialize;
use serde_json::json;
use toolhost::manifest::{Diagnostic, Severity};
use toolhost_manifest::bundle::{OpenBundle, SourceEntry};

use crate::args::BuildArgs;
use crate::base;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::progress::{Progress, size};
use crate::terminal::{Verbosity, diagnostics, stderr, stdout, text};
use crate::toolchains::{BuildError, BuildOptions, ErrorCause, Fault, KitCache};
use session::BuildSession;
pub(crate) use sources::{Sources, sources};
use watch::SourceWatch;

/// How often an entry is built whose sources change meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// The result of one source entry.
#[derive(Debug, Serialize)]
struct BuildReport {
    #[serde(rename = "name")]
    tool: String,
    entry: String,
    component: String,
    seconds: f64,
    #[serde(flatten)]
    state: BuildState,
}

#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum BuildState {
    Built { bytes: u64, notes: Vec<Fault> },
    Current { bytes: u64 },
    Failed(BuildError),
}

pub(crate) async fn build(args: &BuildArgs, settings: &Settings) -> Result<Exit, Failure> {
    if args.watch {
        watch(args, settings).await
    } else {
        once(args, settings, Round::First).await
    }
}

/// A build of a bundle that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// The first build, or the only one.
    First,
    /// A later one: what is up to date is not printed again.
    Again,
}

/// Builds, and builds again whenever a source changes. Returns only if the bundle cannot be read at first:
/// a signal ends the command.
async fn watch(args: &BuildArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut args = args.clone();
    let mut round = Round::First;
    loop {
        let bundle = args.bundle.clone();
        let sources = SourceWatch::new(&bundle, &settings.base).await?;
        if let Err(failure) = once(&args, settings, round).await {
            if round == Round::First && failure.findings.is_empty() {
                return Err(failure);
            }
            failure.print(settings.style);
        }
        if round == Round::First {
            settings.note("building again when a source changes; Ctrl-C ends it");
        }
        sources.changed().await?;
        args.force = false;
        round = Round::Again;
    }
}

/// Waits until the manifest of a bundle has no errors. Writes those that it has to stderr.
pub(crate) async fn until_readable(bundle: &Path, settings: &Settings) -> Result<(), Failure> {
    base::refuse(bundle, "dev")?;
    loop {
        let sources = SourceWatch::new(bundle, &settings.base).await?;
        let manifest = settings.base.open(bundle);
        match manifest.map_err(|error| Failure::of_bundle(error, None)) {
            Ok(_) => return Ok(()),
            Err(failure) if failure.findings.is_empty() => return Err(failure),
            Err(failure) => failure.print(settings.style),
        }
        settings.note("waiting for changes; Ctrl-C ends it");
        sources.changed().await?;
    }
}

async fn once(args: &BuildArgs, settings: &Settings, round: Round) -> Result<Exit, Failure> {
    let outcomes = match build_all(args, settings, round).await {
        Ok(outcomes) => outcomes,
        Err(failure) if args.json => {
            stdout::json(&failure.to_json())?;
            return Ok(failure.exit);
        }
        Err(failure) => return Err(failure),
    };
    if args.json {
        stdout::json(&json!({"ok": exit(&outcomes) == Exit::Done, "tools": outcomes}))?;
    } else if outcomes.is_empty() {
        settings.note("nothing to build: every entry is a built component");
    }
    Ok(exit(&outcomes))
}

/// Builds what is not up to date, before another command runs. Writes what it built to stderr. Returns
/// whether everything is up to date now.
pub(crate) async fn refresh(bundle: &Path, settings: &Settings) -> Result<bool, Failure> {
    let outcomes = build_all(&BuildArgs::of(bundle), settings, Round::Again).await?;
    for outcome in &outcomes {
        match &outcome.state {
            BuildState::Current { .. } => {}
            BuildState::Built { .. } => {
                let (tool, seconds) = (&outcome.tool, outcome.seconds);
                settings.note(&format!("built {tool} in {seconds:.1} s"));
            }
            BuildState::Failed(_) => print(outcome, settings)?,
        }
    }
    Ok(exit(&outcomes) == Exit::Done)
}

async fn build_all(
    args: &BuildArgs,
    settings: &Settings,
    round: Round,
) -> Result<Vec<BuildReport>, Failure> {
    base::refuse(&args.bundle, "build")?;
    let open = settings.base.open_to_build(&args.bundle);
    let open = open.map_err(|error| Failure::of_bundle(error, None))?;
    let mut outcomes = Vec::new();
    for (tool, error) in entries::wrong(&open) {
        let outcome = BuildReport {
            tool: tool.metadata.name.to_string(),
            entry: tool.spec.entry.clone(),
            component: tool.spec.entry.clone(),
            seconds: 0.0,
            state: BuildState::Failed(error),
        };
        if !args.json {
            print(&outcome, settings)?;
        }
        outcomes.push(outcome);
    }
    if open.source_entries().next().is_none() {
        if !args.json {
            note_warnings(&open, settings);
        }
        return Ok(outcomes);
    }
    let kit_cache = settings.dirs.cache.as_deref().map(KitCache::new);
    let kit_cache = kit_cache.ok_or_else(|| {
        let error = anyhow!("the directory for the build tools is not known");
        Failure::from(error).hint("Set HOME, or XDG_CACHE_HOME.")
    })?;
    let progress = Progress::start(settings.verbosity);
    let cannot = || format!("{} cannot be found", open.dir().display());
    let dir = open.dir().canonicalize().with_context(cannot)?;
    let options = BuildOptions {
        bundle: &dir,
        kit_cache: &kit_cache,
        engine: args.engine,
        target_dir: settings.target_dir,
        state_root: settings.dirs.state_root.as_deref(),
        progress: &progress,
    };
    let session = BuildSession::start(&open, args, options, settings).await?;
    for source in open.source_entries() {
        let mut outcome = one(&session, &source).await;
        if !matches!(outcome.state, BuildState::Failed(_)) {
            match exports::sync(&open, &source, args, settings) {
                Ok(written) => print_written(written, args, settings),
                Err(error) => outcome.state = BuildState::Failed(error),
            }
        }
        let is_known = round == Round::Again && matches!(outcome.state, BuildState::Current { .. });
        if !args.json && !is_known {
            print(&outcome, settings)?;
        }
        outcomes.push(outcome);
    }
    session.finish().await;
    check_built(args, settings, &mut outcomes)?;
    Ok(outcomes)
}

/// Checks a bundle with the components that were built: what they describe, and that they have what it exports.
fn check_built(
    args: &BuildArgs,
    settings: &Settings,
    outcomes: &mut [BuildReport],
) -> Result<(), Failure> {
    if exit(outcomes) != Exit::Done {
        return Ok(());
    }
    let open = settings.base.open(&args.bundle);
    let open = open.map_err(|error| Failure::of_bundle(error, None))?;
    if !args.json {
        note_warnings(&open, settings);
    }
    for (source, outcome) in open.source_entries().zip(outcomes) {
        let handlers = open.built(&source, u64::MAX).ok();
        let handlers = handlers.and_then(|(_, stamp)| stamp.handlers);
        let compared = handlers.map(|handlers| handlers::compare(&open, &source, &handlers));
        if let Some(Err(error)) = compared {
            outcome.state = BuildState::Failed(error);
            if !args.json {
                print(outcome, settings)?;
            }
        }
    }
    Ok(())
}

/// Writes to stderr that a manifest was written.
fn print_written(written: Option<Fault>, args: &BuildArgs, settings: &Settings) {
    if let Some(written) = written.filter(|_| !args.json) {
        print_fault(&settings.style.cyan("note:"), &written, settings);
    }
}

/// Writes the warnings about the manifest to stderr.
fn note_warnings(open: &OpenBundle, settings: &Settings) {
    let findings = open.bundle().diagnostics().iter();
    let warnings: Vec<Diagnostic> = findings
        .filter(|finding| finding.severity == Severity::Warning)
        .cloned()
        .collect();
    if !warnings.is_empty() && settings.verbosity > Verbosity::Quiet {
        let sources = open.sources();
        stderr::write(&diagnostics::render(&warnings, &sources, settings.style));
    }
}

async fn one(session: &BuildSession<'_>, source: &SourceEntry<'_>) -> BuildReport {
    let started = Instant::now();
    let state = match session.current(source) {
        Some(Ok(bytes)) => BuildState::Current { bytes },
        Some(Err(error)) => BuildState::Failed(error),
        None => match settled(session, source).await {
            Ok((bytes, notes)) => BuildState::Built { bytes, notes },
            Err(error) => BuildState::Failed(error),
        },
    };
    BuildReport {
        tool: source.tool.metadata.name.to_string(),
        entry: source.tool.spec.entry.clone(),
        component: source.component.to_string_lossy().into_owned(),
        seconds: (started.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        state,
    }
}

/// Builds a source entry, again while its sources change.
async fn settled(
    session: &BuildSession<'_>,
    source: &SourceEntry<'_>,
) -> Result<(u64, Vec<Fault>), BuildError> {
    let mut attempt = 1;
    loop {
        let built = session.build(source).await;
        if is_final(attempt, &built) {
            return built;
        }
        attempt += 1;
    }
}

/// Whether the result of an attempt, counted from 1, stays.
fn is_final<T>(attempt: usize, built: &Result<T, BuildError>) -> bool {
    let is_changed = matches!(built, Err(error) if error.cause == ErrorCause::Changed);
    attempt >= ATTEMPTS_MAX || !is_changed
}

fn exit(outcomes: &[BuildReport]) -> Exit {
    let failed = |cause: ErrorCause| {
        outcomes.iter().any(|outcome| match &outcome.state {
            BuildState::Failed(error) => error.cause == cause,
            BuildState::Built { .. } | BuildState::Current { .. } => false,
        })
    };
    let is_refused = failed(ErrorCause::Source) || failed(ErrorCause::Changed);
    match (failed(ErrorCause::Machine), is_refused) {
        (true, _) => Exit::Unusable,
        (false, true) => Exit::Refused,
        (false, false) => Exit::Done,
    }
}

fn print(outcome: &BuildReport, settings: &Settings) -> anyhow::Result<()> {
    let (tool, component) = (&outcome.tool, text::line(&outcome.component));
    match &outcome.state {
        BuildState::Current { bytes } => {
            let size = size(*bytes);
            stdout::write(&format!("{tool}: {component}, {size}, is up to date"))
        }
        BuildState::Built { bytes, notes } => {
            for note in notes {
                print_fault(&settings.style.cyan("note:"), note, settings);
            }
            let (size, seconds) = (size(*bytes), outcome.seconds);
            stdout::write(&format!(
                "{tool}: {component}, {size}, built in {seconds:.1} s"
            ))
        }
        BuildState::Failed(error) => {
            for fault in &error.faults {
                print_fault(&settings.style.red("error:"), fault, settings);
            }
            Ok(())
        }
    }
}

/// Writes an error or a warning to stderr, with its detail and the hint.
fn print_fault(word: &str, fault: &Fault, settings: &Settings) {
    let mut text = format!("{word} ");
    if let Some(place) = fault.place() {
        text += &format!("{}: ", text::line(&place));
    }
    text += &format!("{}\n", text::line(&fault.message));
    for line in fault
        .detail
        .as_deref()
        .unwrap_or_default()
        .trim_end()
        .lines()
    {
        text += &format!("  | {}\n", text::line(line));
    }
    if let Some(next) = &fault.next {
        text += &format!("{} {}\n", settings.style.cyan("hint:"), text::line(next));
    }
    stderr::write(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_built_again_while_its_sources_change() {
        let failed = |cause| {
            let faults = vec![Fault::new("it is so")];
            Err::<(), _>(BuildError { cause, faults })
        };
        assert!(is_final(1, &Ok(())));
        assert!(is_final(1, &failed(ErrorCause::Source)));
        assert!(is_final(1, &failed(ErrorCause::Machine)));
        assert!(!is_final(1, &failed(ErrorCause::Changed)));
        assert!(is_final(ATTEMPTS_MAX, &failed(ErrorCause::Changed)));
    }
}
