//! `toolhost call`: one call, its ToolResult on stdout.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use toolhost::{
    ErrorCode, Host, LoadedBundle, ToolCall, ToolErrorCode, ToolResult, ToolStatus, Workdir,
    WorkdirError,
};

use super::agent;
use crate::args::CallArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::house::{House, StateRoot};
use crate::output;
use crate::setting::Setting;

/// Id of the one call that is made.
const CALL_ID: &str = "call_1";

/// Calls a tool.
pub(crate) async fn call(args: &CallArgs, setting: &Setting) -> Result<Exit, Failure> {
    let target = args.target()?;
    let input = args.args.read().await?;
    let state_root = match args.workdir {
        Some(_) => StateRoot::Optional,
        None => StateRoot::Needed,
    };
    let house = House::open(setting, args.policy.as_deref(), state_root).await?;
    // Before the bundle, which may take long to compile.
    let given = args
        .workdir
        .as_deref()
        .map(|dir| open(&house.host, dir))
        .transpose()?;
    let bundle = house.load(target.bundle).await?;
    house.warn_of_policy(&bundle, setting);
    let agent = agent(&bundle, args.agent.as_deref(), setting)?;
    let workdir = match given {
        Some(workdir) => workdir,
        None => workspace(&bundle, &args.instance, setting)?,
    };
    let call = ToolCall::new(CALL_ID, target.tool.as_ref(), input);
    let instance = agent.instance(args.instance.as_str(), workdir);
    let turn = instance.open_turn("turn").await.map_err(Failure::of)?;
    let step = turn.open_step().await.map_err(Failure::of)?;
    let result = step.execute_alone(call).await;
    output::json(&answer(&result, args)?)?;
    if is_outside_the_catalog(&result) {
        let bundle = target.bundle.display();
        let meant = step.catalog().closest(target.tool.as_ref());
        let meant = meant.map_or_else(String::new, |name| format!("did you mean '{name}'? "));
        setting.note(&format!(
            "{meant}`toolhost list {bundle}` lists the tools there are"
        ));
    }
    Ok(match result.status() {
        ToolStatus::Ok | ToolStatus::Pending => Exit::Done,
        ToolStatus::Error => Exit::Refused,
    })
}

fn open(host: &Host, dir: &Path) -> Result<Workdir, Failure> {
    host.workdir(dir).map_err(|error| {
        let hint = match &error {
            WorkdirError::Open { source, .. } if source.kind() == ErrorKind::NotFound => {
                format!("Make it first: mkdir -p {}", dir.display())
            }
            WorkdirError::Open { .. } => "Name a directory that you can read.".to_owned(),
            WorkdirError::NotADirectory { .. } => "Name a directory.".to_owned(),
            // The library's enum may grow.
            WorkdirError::Contains { .. } | WorkdirError::Within { .. } | _ => {
                "Name a directory that holds nothing but what the tool may change.".to_owned()
            }
        };
        Failure::of(error).hint(hint)
    })
}

fn workspace(bundle: &LoadedBundle, instance: &str, setting: &Setting) -> Result<Workdir, Failure> {
    let wrong = |error| {
        let hint = "Pass --workdir DIR, or --state-root DIR with a directory you can write.";
        Failure::of(error).hint(hint)
    };
    let path = bundle.instance_path(instance).map_err(wrong)?;
    let workdir = bundle.instance_workspace(instance).map_err(wrong)?;
    setting.note(&format!(
        "the workdir is the workspace of instance '{instance}': {} (--workdir names another)",
        path.display()
    ));
    Ok(workdir)
}

fn answer(result: &ToolResult, args: &CallArgs) -> anyhow::Result<Value> {
    let unwritable = "the result cannot be written as JSON";
    let mut answer = serde_json::to_value(result).context(unwritable)?;
    if let (true, Some(members)) = (args.usage, answer.as_object_mut()) {
        let usage = serde_json::to_value(result.usage()).context(unwritable)?;
        members.insert("usage".to_owned(), usage);
    }
    Ok(answer)
}

fn is_outside_the_catalog(result: &ToolResult) -> bool {
    let code = result.tool_error().map(|error| &error.code);
    matches!(code, Some(ErrorCode::Host(ToolErrorCode::NotInCatalog)))
}
