//! `toolhost test`: runs the cases of a bundle's tools, and cases generated from their schemas.

mod difference;
mod from;
mod github;
mod human;
mod watch;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, anyhow};
use tempfile::TempDir;
use toolhost::Policy;
use toolhost::manifest::{Diagnostic, YamlSource};
use toolhost::text::shell_word;
use toolhost_testing::{
    CaseFiles, CaseFilesError, FileUpdate, LeftOut, NoMatch, OpenError, Plan, PlanError, Report,
    RunOptions, Runner, Selection, Verdict,
};

use self::watch::Watch;
use super::mcp_servers;
use crate::args::TestArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context::{self, HostFactory, note_policy_warnings};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::state_dirs::StateDirs;
use crate::terminal::{stderr, stdout, text, workflow};

pub(crate) async fn test(args: &TestArgs, settings: &Settings) -> Result<Exit, Failure> {
    if args.github {
        workflow::start();
    }
    let is_annotated = workflow::start_if_present() || args.github;
    let (named, words) = args.target();
    let bundle = settings.bundle(&named)?.to_owned();
    if let Some(recording) = &args.from {
        let case_files = read_case_files(&bundle).await?;
        return from::write_case(recording, &bundle, &case_files, args.list, settings).await;
    }
    let (_cache, settings) = &with_cache(settings)?;
    let tests = Tests {
        bundle,
        words,
        is_annotated,
        report_to: ReportTo::Stdout,
        args,
        settings,
    };
    if args.watch {
        tests.watch().await
    } else {
        tests.run(&[]).await
    }
}

/// Runs the tests of a bundle again after each change, and builds its sources. Writes to stderr: a server has stdout.
pub(crate) async fn beside_server(args: &TestArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (named, words) = args.target();
    let (_cache, settings) = &with_cache(settings)?;
    let tests = Tests {
        bundle: settings.bundle(&named)?.to_owned(),
        words,
        is_annotated: false,
        report_to: ReportTo::Stderr,
        args,
        settings,
    };
    tests.watch().await
}

/// Where the report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportTo {
    Stdout,
    Stderr,
}

/// The tests of one bundle, as the user selected them.
struct Tests<'a> {
    bundle: PathBuf,
    /// The filters.
    words: Vec<String>,
    /// Whether errors become annotations.
    is_annotated: bool,
    report_to: ReportTo,
    args: &'a TestArgs,
    settings: &'a Settings,
}

impl Tests<'_> {
    /// Builds and runs again after each change. Never returns, unless the files cannot be watched.
    async fn watch(&self) -> Result<Exit, Failure> {
        let settings = self.settings;
        let mut watch = Watch::start(&self.bundle, self.args.policy.as_deref(), settings)?;
        loop {
            let is_built = watch.build().await?;
            if is_built && let Err(failure) = self.run(watch.changed_cases()).await {
                failure.print(settings.style);
            }
            settings.note("waiting for changes; Ctrl-C ends it");
            watch.wait().await;
        }
    }

    /// Runs the selected cases; if `only` names case files, those that are in one of them.
    async fn run(&self, only: &[PathBuf]) -> Result<Exit, Failure> {
        let result = self.run_once(only).await;
        if let (Err(failure), true) = (&result, self.is_annotated) {
            github::annotate_findings(&failure.findings);
        }
        result
    }

    async fn run_once(&self, only: &[PathBuf]) -> Result<Exit, Failure> {
        let (args, settings) = (self.args, self.settings);
        let started = Instant::now();
        let case_files = read_case_files(&self.bundle).await?;
        let (runner, factory) = self.open().await?;
        let Plan { cases, left_out } = self.plan(&runner, &case_files, only)?;
        if args.list {
            stdout::write(&human::list(&cases, &left_out))?;
            return Ok(Exit::Done);
        }
        if case_files.all().is_empty() && self.words.is_empty() && args.filter.is_none() {
            settings.note(&first_case(&case_files));
        }
        let count = cases.len();
        let options = self.options();
        let testing = factory.progress.counting("testing", "case", count);
        let cases = runner.run(cases, options, |report| match report.verdict() {
            Verdict::Passed | Verdict::Updated => testing.advance(),
            Verdict::Failed => testing.advance_failed(),
        });
        let cases = cases.await;
        drop(testing);
        let mut report = Report {
            seed: args.seed,
            not_run: count - cases.len(),
            cases,
            took: started.elapsed(),
            left_out,
        };
        if args.update {
            for update in report.accept_results(&case_files) {
                write_update(update, settings).await?;
            }
        }
        self.write(&report).await?;
        Ok(Exit::done_if(!report.has_failed()))
    }

    fn plan(&self, runner: &Runner, files: &CaseFiles, only: &[PathBuf]) -> Result<Plan, Failure> {
        let args = self.args;
        let mut selection = Selection {
            filter: args.filter.clone(),
            generated: (!args.no_generated).then_some(args.seed),
            shard: args.shard,
            ..Selection::default()
        };
        for word in &self.words {
            selection.add_word(word, files);
        }
        if !only.is_empty() && selection.files.is_empty() {
            let mut narrow = selection.clone();
            for path in only {
                narrow.add_word(&path.to_string_lossy(), files);
            }
            if let Ok(planned) = runner.plan(files, &narrow) {
                return Ok(planned);
            }
        }
        let planned = runner
            .plan(files, &selection)
            .map_err(|error| match error {
                PlanError::Invalid(findings) => invalid(findings, files.sources()),
                PlanError::NoMatch(none) => self.no_match(&none),
            })?;
        if planned.cases.is_empty() && args.shard.is_none() {
            Err(self.nothing_to_run(&planned.left_out))
        } else {
            Ok(planned)
        }
    }

    fn options(&self) -> RunOptions {
        let default = RunOptions::default();
        let jobs = self.args.jobs;
        let jobs = jobs.and_then(|jobs| NonZeroUsize::new(usize::from(jobs)));
        RunOptions {
            jobs: jobs.unwrap_or(default.jobs),
            fail_fast: self.args.fail_fast,
        }
    }

    /// Writes the report to stdout, the JUnit report to its file and annotations to stderr.
    async fn write(&self, report: &Report) -> Result<(), Failure> {
        let (args, settings) = (self.args, self.settings);
        if let Some(path) = &args.junit {
            let (path, xml) = (path.clone(), report.to_junit());
            files::spawn_blocking(move || {
                let cannot = || format!("the report {} cannot be written", path.display());
                files::write_over_file(&path, xml.as_bytes()).with_context(cannot)
            })
            .await?;
        }
        if args.json {
            stdout::json(&report.to_json())?;
        } else {
            let call = self.call_command();
            let text = |style| human::report(report, &call, settings.verbosity, style);
            match self.report_to {
                ReportTo::Stdout => stdout::write(&text(settings.stdout_style))?,
                ReportTo::Stderr => stderr::write(&text(settings.style)),
            }
        }
        if self.is_annotated {
            github::annotate_failures(report, &self.bundle);
        }
        Ok(())
    }

    async fn open(&self) -> Result<(Runner, Arc<HostFactory>), Failure> {
        let (args, settings) = (self.args, self.settings);
        let policy = PolicyFile::read(args.policy.as_deref()).await?;
        let factory = Arc::new(HostFactory::start(settings, &policy)?);
        let PolicyFile { policy, source, .. } = policy;
        let policy = source.is_some().then_some(policy);
        // Transactions are staged beside the workdirs of the cases, and not in the user's state root.
        let state = tempfile::Builder::new()
            .prefix("toolhost-test-state-")
            .tempdir()
            .context("a temporary directory cannot be made")?;
        let make_host = {
            let factory = Arc::clone(&factory);
            move |policy: Policy| {
                let policy = policy.without_state();
                if policy.has_transactions() {
                    let policy = policy.without_calls();
                    factory
                        .builder(policy)
                        .state_root(state.path())
                        .as_worker()
                        .build()
                } else {
                    factory.builder(policy).as_worker().build()
                }
            }
        };
        let runner = Runner::open(&self.bundle, policy, make_host).await;
        factory.progress.idle();
        let runner = runner.map_err(|error| {
            if let OpenError::Load(error) = error {
                Failure::of_bundle(error, source.as_ref())
            } else {
                Failure::from(error)
            }
        })?;
        note_policy_warnings(source.as_ref(), runner.bundle(), settings);
        let runner = with_mcp_servers(runner, settings).await?;
        Ok((runner, factory))
    }

    fn no_match(&self, none: &NoMatch) -> Failure {
        let (bundle, what) = (self.bundle.display(), &none.what);
        // The first word may be meant as a bundle.
        let is_first = none.filter.is_some() && none.filter.as_ref() == self.words.first();
        let error = if is_first && self.args.may_be_bundle() {
            anyhow!("no case of {bundle} {what}, and no bundle has that path")
        } else {
            anyhow!("no case of {bundle} {what}")
        };
        let list = "`toolhost test --list` lists the cases there are.";
        Failure::from(error).hint(match &none.closest {
            Some(closest) => format!("Did you mean '{closest}'? {list}"),
            None => list.to_owned(),
        })
    }

    fn nothing_to_run(&self, left_out: &[LeftOut]) -> Failure {
        for left_out in left_out {
            self.settings.note(&text::line(&left_out.to_string()));
        }
        let error = anyhow!("{} has no case to run", self.bundle.display());
        Failure::from(error).hint("`toolhost test --list` lists the cases there are.")
    }

    /// The command that calls a tool of the bundle under the policy of the run, up to the tool's name.
    fn call_command(&self) -> String {
        let word = |path: &Path| shell_word(&path.to_string_lossy()).into_owned();
        let mut command = format!("toolhost call {}", word(&self.bundle));
        if let Some(policy) = &self.args.policy {
            command += &format!(" --policy {}", word(policy));
        }
        command
    }
}

async fn read_case_files(bundle: &Path) -> Result<CaseFiles, Failure> {
    let bundle = bundle.to_owned();
    let result = files::spawn_blocking(move || Ok(CaseFiles::read(&bundle))).await?;
    result.map_err(|error| {
        if let CaseFilesError::Invalid {
            diagnostics,
            sources,
        } = error
        {
            invalid(diagnostics, sources)
        } else {
            Failure::from(error)
        }
    })
}

fn invalid(findings: Vec<Diagnostic>, sources: Vec<YamlSource>) -> Failure {
    let count = findings.iter().filter(|finding| finding.is_error()).count();
    let error = anyhow!("the case files hold {}", text::counted(count, "error"));
    Failure::of_files(error, findings, sources).hint("Correct the errors above; nothing was run.")
}

/// The user's cache, or a temporary one: the bundle is loaded once for each policy.
fn with_cache(settings: &Settings) -> Result<(Option<TempDir>, Settings), Failure> {
    if host_context::cache(settings).is_some() {
        return Ok((None, settings.clone()));
    }
    let dir = tempfile::tempdir().context("a temporary directory cannot be made")?;
    let dirs = StateDirs {
        state_root: Some(dir.path().join("state")),
        cache: Some(dir.path().join("cache")),
        docker_config: settings.dirs.docker_config.clone(),
        home: settings.dirs.home.clone(),
    };
    let settings = Settings {
        dirs,
        ..settings.clone()
    };
    Ok((Some(dir), settings))
}

/// Starts the MCP servers that the policy of the run grants, for the run and for each case with a host of its
/// own. The policy of a case grants none.
async fn with_mcp_servers(runner: Runner, settings: &Settings) -> Result<Runner, Failure> {
    let servers = mcp_servers::start(runner.bundle(), settings).await?;
    let servers = Mutex::new(Some(servers));
    let settings = settings.clone();
    let attached = runner.attach(move |bundle| {
        // The first bundle is that of the run.
        let started = servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let settings = settings.clone();
        async move {
            match started {
                Some(servers) => Ok(servers),
                None => Ok(mcp_servers::start_quietly(&bundle, &settings).await?),
            }
        }
    });
    attached.await.map_err(|error| anyhow!("{error}").into())
}

fn first_case(files: &CaseFiles) -> String {
    let folder = files.folder().display();
    format!(
        "there are no case files; write {folder}/first.yaml: \
         - {{name: says hi, tool: TOOL__EXPORT, args: {{text: hi}}, expect: {{output: {{text: hi}}}}}}"
    )
}

/// Writes a case file with new expectations, and notes what changed.
async fn write_update(update: FileUpdate, settings: &Settings) -> Result<(), Failure> {
    for refused in &update.refused {
        settings.note(refused);
    }
    let Some(text) = update.text else {
        return Ok(());
    };
    let path = update.path.clone();
    files::spawn_blocking(move || {
        let cannot = || format!("the case file {} cannot be written", path.display());
        files::replace(&path, text.as_bytes()).with_context(cannot)
    })
    .await?;
    let cases = text::counted(update.cases, "case");
    settings.note(&format!("{}: {cases} updated", update.path.display()));
    Ok(())
}
