//! Opens the agent instance that a command calls for: host, bundle, agent and workdir.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::json;
use toolhost::tool::ToolPattern;
use toolhost::workdir::{FileChangeKind, FileChanges};
use toolhost::{
    Host, Instance, LoadedBundle, ResourceName, ToolResult, ToolStatus, Workdir, WorkdirError,
};

use super::agents::agent;
use crate::args::CallerArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot, note_policy_warnings};
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::terminal::{Verbosity, stdout};

/// An instance, and its bundle.
pub(super) struct Caller {
    pub(super) instance: Instance,
    pub(super) bundle: LoadedBundle,
    /// Whether another command can poll a pending call.
    pub(super) keeps_state: bool,
}

/// Which component a command runs.
#[derive(Debug, Clone)]
pub(super) enum Runs<'a> {
    /// That of the tool with this name, which may be any text.
    Tool(&'a str),
    /// That of the tool with this handle, if it has to be polled.
    Handle(&'a str),
    /// All: a Tool runs a program that calls others. `calls` are those that it may call; if there are none, those of the
    /// policy, or else all.
    Program {
        tool: ResourceName,
        calls: &'a [ToolPattern],
    },
}

/// Loads the bundle and opens the instance. Without `--workdir` the state root is needed in any case.
pub(super) async fn open(
    bundle: &Path,
    runs: Runs<'_>,
    args: &CallerArgs,
    state_root: StateRoot,
    settings: &Settings,
) -> Result<Caller, Failure> {
    let state_root = match args.workdir {
        Some(_) => state_root,
        None => StateRoot::Needed,
    };
    let mut policy = PolicyChoice::new(args.policy.as_deref(), Some(bundle))
        .or_transactional(args.workdir.as_deref(), settings);
    policy.allow_http.clone_from(&args.allow_http);
    if let Runs::Program { tool, calls } = &runs {
        policy.programs = vec![tool.clone()];
        policy.called = calls.to_vec();
    }
    let context = HostContext::open_with(settings, policy.read().await?, state_root)?;
    // Before the bundle, which may take long to load.
    let dir = args.workdir.as_deref();
    let option = dir.map(|dir| workdir(&context.host, dir)).transpose()?;
    let loaded = match &runs {
        Runs::Tool(tool) => context.load_for_call(bundle, tool).await?,
        Runs::Handle(_) => context.load_for(bundle, None).await?,
        Runs::Program { .. } => context.load(bundle).await?,
    };
    note_policy_warnings(context.policy.as_ref(), &loaded, settings);
    let agent = agent(&loaded, args.agent.as_deref(), settings)?;
    let workdir = match option {
        Some(workdir) => workdir,
        None => workspace(&loaded, &args.instance, settings)?,
    };
    let instance = agent.instance(args.instance.as_str(), workdir);
    let polled = match runs {
        Runs::Tool(_) | Runs::Program { .. } => None,
        Runs::Handle(handle) => instance.polled_tool(handle).await,
    };
    let (instance, bundle) = match polled {
        None => (instance, loaded),
        Some(tool) => {
            let loaded = context.load_for(bundle, Some(&tool)).await?;
            let agent = loaded.agent(instance.agent().name())?;
            let workdir = instance.workdir().clone();
            (agent.instance(instance.key(), workdir), loaded)
        }
    };
    Ok(Caller {
        instance,
        bundle,
        keeps_state: context.keeps_state,
    })
}

/// Prints a result, with its usage, the files that it changed and the path of its recording if `--usage` is set.
/// With `--verbose`, the files are listed on stderr too.
pub(super) fn print(
    result: &ToolResult,
    args: &CallerArgs,
    settings: &Settings,
) -> anyhow::Result<()> {
    if settings.verbosity >= Verbosity::Verbose {
        note_changes(&result.usage().changes, settings);
    }
    stdout::json(&if args.usage {
        result.to_receipt()
    } else {
        json!(result)
    })
}

/// Lists the files that a call changed, a line each.
fn note_changes(changes: &FileChanges, settings: &Settings) {
    for file in &changes.files {
        let (kind, path) = (file.kind.as_str(), &file.path);
        settings.note(&match &file.kind {
            FileChangeKind::Renamed { from } => format!("{kind} {from} to {path}"),
            FileChangeKind::Created | FileChangeKind::Changed | FileChangeKind::Deleted => {
                format!("{kind} {path}")
            }
        });
    }
    if changes.truncated {
        settings.note("the call changed more files than are listed");
    }
}

pub(super) fn exit(result: &ToolResult) -> Exit {
    match result.status() {
        ToolStatus::Ok | ToolStatus::Pending => Exit::Done,
        ToolStatus::Error => Exit::Refused,
    }
}

/// Opens the workdir that the user names.
pub(super) fn workdir(host: &Host, dir: &Path) -> Result<Workdir, Failure> {
    host.workdir(dir).map_err(|error| {
        let hint = match &error {
            WorkdirError::Open { source, .. } if source.kind() == ErrorKind::NotFound => {
                format!("Create it first: mkdir -p {}", dir.display())
            }
            WorkdirError::Open { .. } => "Name a directory that you can read.".to_owned(),
            WorkdirError::NotADirectory { .. } => "Name a directory.".to_owned(),
            WorkdirError::Contains { .. }
            | WorkdirError::Within { .. }
            | WorkdirError::OfKernel { .. } => {
                "Name a directory with only files that the tool may change.".to_owned()
            }
        };
        Failure::from(error).hint(hint)
    })
}

pub(super) fn workspace(
    bundle: &LoadedBundle,
    instance: &str,
    settings: &Settings,
) -> Result<Workdir, Failure> {
    let wrong = |error| {
        let hint = "Pass --workdir DIR, or --state-root DIR with a directory you can write.";
        Failure::from(error).hint(hint)
    };
    let path = bundle.instance_path(instance).map_err(wrong)?;
    let is_new = !path.exists();
    let workdir = bundle.instance_workspace(instance).map_err(wrong)?;
    if is_new || settings.verbosity >= Verbosity::Verbose {
        let path = path.display();
        settings.note(&format!("the workdir is {path}; --workdir names another"));
    }
    Ok(workdir)
}
