//! `toolhost call`, `poll` and `cancel`: call a tool, poll or cancel a pending call, and print the
//! ToolResult.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use toolhost::recording::{CallRecorder, CallRecording};
use toolhost::text::shell_word;
use toolhost::{ErrorCode, LiveBundle, ToolCall, ToolErrorCode, ToolResult, ToolStatus, TurnStart};

use super::caller::{Caller, Runs};
use super::recording_file::RecordingFile;
use super::{caller, changesets, mcp_servers};
use crate::args::{CallArgs, PendingArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::StateRoot;
use crate::settings::Settings;
use crate::terminal::progress::Progress;
use crate::terminal::text;

/// Id of the call.
const CALL_ID: &str = "call_1";

pub(crate) async fn call(args: &CallArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, tool) = args.target()?;
    let input = args.args.read().await?;
    let runs = Runs::Tool(&tool);
    let caller = caller::open(bundle, runs, &args.caller, StateRoot::Optional, settings).await?;
    let workdir = caller.instance.workdir();
    let file = args.record.as_deref();
    let file = file.map(|path| RecordingFile::new(path, workdir));
    let file = file.transpose()?;
    let servers = mcp_servers::start(&caller.bundle, settings).await?;
    let live = LiveBundle::new(caller.bundle.clone());
    // Held until the call has ended.
    let _changesets = changesets::start(&live, settings)?;
    let recorded = Recorded::default();
    let mut start = TurnStart::new("turn");
    if let Some(subject) = &args.caller.subject {
        start = start.with_subject(subject.as_str());
    }
    if file.is_some() {
        let recorded = recorded.clone();
        start = start.with_recorder(CallRecorder::new(move |call| recorded.set(call)));
    }
    let turn = caller.instance.open_turn(start).await?;
    let step = turn.open_step().await?;
    let call = ToolCall::new(CALL_ID, tool.as_ref(), input);
    let result = {
        let progress = Progress::start(settings.verbosity);
        let _phase = progress.calling(&tool);
        step.execute_without_message(call).await
    };
    caller::print(&result, &args.caller, settings)?;
    match &file {
        Some(file) => write(file, recorded.take(), bundle, settings)?,
        None => note_failed_call(&result, args.caller.usage, settings),
    }
    let bundle = bundle.display();
    if host_code(&result) == Some(ToolErrorCode::NotInCatalog) {
        let closest = step.catalog().closest(&tool);
        let closest = closest.map_or_else(String::new, |name| format!("did you mean '{name}'? "));
        settings.note(&format!(
            "{closest}`toolhost list {bundle}` lists the tools"
        ));
    }
    for notice in step.notices() {
        let user = args.caller.subject.as_deref();
        let user = user.map_or_else(String::new, |user| {
            format!(" --subject {}", text::line(user))
        });
        settings.note(&format!(
            "{}; `toolhost auth login {}{user}`, with the same --bundle and --policy, waits for the answer",
            text::line(&notice.message),
            notice.app
        ));
    }
    if result.status() == ToolStatus::Pending {
        let handle = result.handle().unwrap_or_default();
        if result.awaits_approval().is_some() && caller.keeps_state {
            settings.note("a person has to approve it: `toolhost approvals` lists what waits, with the same --state-root");
        }
        settings.note(&if caller.keeps_state {
            format!("`toolhost poll {bundle} {handle}` polls for the result; pass the same --agent, --instance and --workdir")
        } else {
            "the handle is lost: pass --state-root DIR, with a directory that only you can write, to keep it".to_owned()
        });
    }
    step.close(()).await?;
    turn.close(()).await?;
    servers.close().await;
    Ok(caller::exit(&result))
}

/// The recording of a call, once it has ended.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Option<CallRecording>>>);

impl Recorded {
    fn set(&self, recording: CallRecording) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(recording);
    }

    fn take(&self) -> Option<CallRecording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Writes the recording of the call, and notes how it is replayed.
fn write(
    file: &RecordingFile,
    recording: Option<CallRecording>,
    bundle: &Path,
    settings: &Settings,
) -> Result<(), Failure> {
    let Some(recording) = recording else {
        settings.note("nothing was recorded: no component ran");
        return Ok(());
    };
    file.write(&recording)?;
    let path = file.path().to_string_lossy();
    let bundle = bundle.to_string_lossy();
    settings.note(&format!(
        "recorded in {path}; `toolhost replay {} --bundle {}` replays it",
        shell_word(&path),
        shell_word(&bundle)
    ));
    Ok(())
}

/// Notes where the host recorded a failed call. With `--usage` the path is in the JSON.
fn note_failed_call(result: &ToolResult, is_in_json: bool, settings: &Settings) {
    if let Some(path) = result.recording().filter(|_| !is_in_json) {
        settings.note(&format!(
            "recorded in {}; run again with --record FILE to replay it",
            path.display()
        ));
    }
}

pub(crate) async fn poll(args: &PendingArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, handle) = args.target();
    let runs = Runs::Handle(&handle);
    let caller = caller::open(bundle, runs, &args.caller, StateRoot::Needed, settings).await?;
    let result = {
        let progress = Progress::start(settings.verbosity);
        let _phase = progress.waiting("polling");
        caller.instance.poll(&handle).await
    };
    caller::print(&result, &args.caller, settings)?;
    note_unknown_handle(&result, &caller, settings);
    note_failed_call(&result, args.caller.usage, settings);
    Ok(caller::exit(&result))
}

/// Notes whose handles are known, if it is none of them.
fn note_unknown_handle(result: &ToolResult, caller: &Caller, settings: &Settings) {
    if host_code(result) == Some(ToolErrorCode::UnknownHandle) {
        let (agent, key) = (caller.instance.agent().name(), caller.instance.key());
        settings.note(&format!(
            "asked instance '{key}' of agent '{agent}': pass the --agent, --instance and --state-root of the call"
        ));
    }
}

pub(crate) async fn cancel(args: &PendingArgs, settings: &Settings) -> Result<Exit, Failure> {
    let (bundle, handle) = args.target();
    let runs = Runs::Handle(&handle);
    let caller = caller::open(bundle, runs, &args.caller, StateRoot::Needed, settings).await?;
    let result = caller.instance.cancel(&handle).await;
    caller::print(&result, &args.caller, settings)?;
    note_unknown_handle(&result, &caller, settings);
    Ok(match host_code(&result) {
        Some(ToolErrorCode::UnknownHandle | ToolErrorCode::Host) => Exit::Refused,
        _ => Exit::Done,
    })
}

/// The code of an error that the host returned, not the tool.
fn host_code(result: &ToolResult) -> Option<ToolErrorCode> {
    match result.tool_error().map(|error| &error.code) {
        Some(ErrorCode::Host(code)) => Some(*code),
        Some(ErrorCode::Handler(_)) | None => None,
    }
}
