//! `toolhost undo`: lists the calls in a workdir that were transactions, and undoes one.

use serde_json::json;
use toolhost::Workdir;
use toolhost::events::Timestamp;
use toolhost::workdir::{UndoError, UndoRecord};

use super::caller;
use crate::args::UndoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn undo(args: &UndoArgs, settings: &Settings) -> Result<Exit, Failure> {
    let policy = PolicyChoice::new(None, args.bundle.as_deref());
    let context = HostContext::open_with(settings, policy.read().await?, StateRoot::Needed)?;
    let workdir = workdir(args, &context, settings).await?;
    let host = &context.host;
    if args.list {
        let records = host.undo_records(&workdir).await?;
        print_list(&records, args.json)?;
        return Ok(Exit::Done);
    }
    let undone = host.undo(&workdir, args.id.as_deref()).await;
    let undone = undone.map_err(|error| failure(error, args))?;
    if args.json {
        let (id, call, files) = (&undone.id, &undone.label, &undone.files);
        let undone = json!({"id": id, "call": call, "files": files});
        stdout::json(&json!({ "undone": undone }))?;
    } else {
        let files = undone
            .files
            .iter()
            .map(|file| format!("\n  {}", text::line(file)));
        let files: String = files.collect();
        stdout::write(&format!("undid {}{files}", text::line(&undone.label)))?;
    }
    Ok(Exit::Done)
}

async fn workdir(
    args: &UndoArgs,
    context: &HostContext,
    settings: &Settings,
) -> Result<Workdir, Failure> {
    match (&args.workdir, &args.bundle) {
        (Some(dir), _) => caller::workdir(&context.host, dir),
        (None, Some(bundle)) => {
            let bundle = context.load(bundle).await?;
            caller::workspace(&bundle, &args.instance, settings)
        }
        (None, None) => {
            let error = anyhow::anyhow!("the workdir of the call is not known");
            Err(Failure::from(error).hint("Pass --workdir DIR or --bundle BUNDLE."))
        }
    }
}

fn print_list(records: &[UndoRecord], as_json: bool) -> Result<(), Failure> {
    if as_json {
        let calls = records.iter().map(|record| {
            json!({
                "id": record.id,
                "call": record.label,
                "committed": Timestamp(record.committed),
                "files": record.files,
                "bytes": record.bytes,
            })
        });
        let calls: Vec<_> = calls.collect();
        return Ok(stdout::json(&json!({ "calls": calls }))?);
    }
    if records.is_empty() {
        return Ok(stdout::write("no call in this workdir can be undone")?);
    }
    let lines = records.iter().map(|record| {
        let (id, time) = (&record.id, Timestamp(record.committed));
        let (call, files) = (text::line(&record.label), record.count);
        let files = text::counted(files, "file");
        format!("{id}  {time}  {call}  {files}")
    });
    Ok(stdout::write(&lines.collect::<Vec<_>>().join("\n"))?)
}

fn failure(error: UndoError, args: &UndoArgs) -> Failure {
    let is_refused = matches!(error, UndoError::Nothing | UndoError::Conflict { .. });
    let hint = match (&error, &args.id) {
        (UndoError::Nothing, Some(_)) => Some("--list lists the calls that can be undone."),
        (UndoError::Nothing, None) => Some(
            "A call can be undone if its policy had `workdir: transactional`. Pass the same --state-root as for the call.",
        ),
        _ => None,
    };
    let mut failure = Failure::from(error);
    failure.hint = hint.map(str::to_owned);
    if is_refused {
        failure.exit = Exit::Refused;
    }
    failure
}
