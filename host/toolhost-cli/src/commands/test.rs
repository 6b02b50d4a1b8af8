//! `toolhost test`: runs the cases of a bundle's tools, and cases generated from their schemas.

mod human;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, anyhow};
use tempfile::TempDir;
use toolhost::manifest::{Diagnostic, YamlSource};
use toolhost::text::shell_word;
use toolhost_testing::{
    CaseFiles, CaseFilesError, FileUpdate, OpenError, Report, Runner, Selection,
};

use super::mcp_servers;
use crate::args::TestArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::host_context::{self, HostFactory, note_policy_warnings};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::state_dirs::StateDirs;
use crate::terminal::{stdout, text};

pub(crate) async fn test(args: &TestArgs, settings: &Settings) -> Result<Exit, Failure> {
    let started = Instant::now();
    let case_files = read_case_files(&args.bundle).await?;
    let (_cache, settings) = &with_cache(settings)?;
    let runner = open(args, settings).await?;
    let selection = Selection {
        filter: args.filter.clone(),
        generated: (!args.no_generated).then_some(args.seed),
    };
    let planned = runner.plan(&case_files, &selection);
    let planned = planned.map_err(|findings| invalid(findings, case_files.sources()))?;
    if planned.is_empty() {
        return Err(nothing_to_run(args));
    }
    if args.list {
        stdout::write(&human::list(&planned))?;
        return Ok(Exit::Done);
    }
    if case_files.all().is_empty() && args.filter.is_none() {
        settings.note(&first_case(&case_files));
    }
    let cases = runner.run(planned).await;
    let mut report = Report {
        seed: args.seed,
        cases,
        took: started.elapsed(),
    };
    if args.update {
        for update in report.accept_results(&case_files) {
            write_update(update, settings).await?;
        }
    }
    if let Some(path) = &args.junit {
        let (path, xml) = (path.clone(), report.to_junit());
        files::spawn_blocking(move || {
            let cannot = || format!("the report {} cannot be written", path.display());
            std::fs::write(&path, xml).with_context(cannot)
        })
        .await?;
    }
    if args.json {
        stdout::json(&report.to_json())?;
    } else {
        stdout::write(&human::report(
            &report,
            &call_command(args),
            settings.stdout_style,
        ))?;
    }
    Ok(match report.has_failed() {
        true => Exit::Refused,
        false => Exit::Done,
    })
}

async fn read_case_files(bundle: &Path) -> Result<CaseFiles, Failure> {
    let bundle = bundle.to_owned();
    let read = files::spawn_blocking(move || Ok(CaseFiles::read(&bundle))).await?;
    read.map_err(|error| {
        if let CaseFilesError::Invalid {
            diagnostics,
            sources,
        } = error
        {
            invalid(diagnostics, sources)
        } else {
            Failure::of(error)
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
        home: settings.dirs.home.clone(),
    };
    let settings = Settings {
        dirs,
        ..settings.clone()
    };
    Ok((Some(dir), settings))
}

async fn open(args: &TestArgs, settings: &Settings) -> Result<Runner, Failure> {
    let policy = PolicyFile::read(args.policy.as_deref()).await?;
    let factory = Arc::new(HostFactory::start(settings, &policy)?);
    let PolicyFile { policy, source, .. } = policy;
    let policy = source.is_some().then_some(policy);
    let make_host = {
        let factory = Arc::clone(&factory);
        move |policy| factory.builder(policy).build()
    };
    let runner = Runner::open(&args.bundle, policy, make_host).await;
    factory.progress.idle();
    let runner = runner.map_err(|error| {
        if let OpenError::Load(error) = error {
            Failure::of_bundle(error, source.as_ref())
        } else {
            Failure::of(error)
        }
    })?;
    note_policy_warnings(source.as_ref(), runner.bundle(), settings);
    with_mcp_servers(runner, settings).await
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

fn nothing_to_run(args: &TestArgs) -> Failure {
    let bundle = args.bundle.display();
    let error = match &args.filter {
        Some(filter) => anyhow!("no case of {bundle} has '{filter}' in its file, name or tool"),
        None => anyhow!("{bundle} has no case to run"),
    };
    Failure::from(error).hint("`toolhost test --list` lists the cases there are.")
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

/// The command that calls a tool of the bundle under the policy of the run, up to the tool's name.
fn call_command(args: &TestArgs) -> String {
    let word = |path: &Path| shell_word(&path.to_string_lossy()).into_owned();
    let mut command = format!("toolhost call {}", word(&args.bundle));
    if let Some(policy) = &args.policy {
        command += &format!(" --policy {}", word(policy));
    }
    command
}
