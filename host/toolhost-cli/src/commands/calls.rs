//! `toolhost calls`: the calls that hosts keep in the state root.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use toolhost::ToolStatus;
use toolhost::calls::{CallKind, CallLog, CallPage, CallQuery, CallRecord};
use toolhost::tool::ToolCallUsage;

use crate::args::{CallsAction, CallsArgs, ShowArgs};
use crate::call_line::CallLine;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::settings::Settings;
use crate::terminal::progress::size;
use crate::terminal::{stdout, text};

/// How often `--follow` looks for further calls.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Most calls that `--follow` prints at once.
const FOLLOWED: usize = 1000;

pub(crate) async fn calls(args: &CallsArgs, settings: &Settings) -> Result<Exit, Failure> {
    let Some(root) = settings.dirs.state_root.as_deref() else {
        let error = anyhow!("the directory of calls is not known");
        return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
    };
    if let Some(CallsAction::Show(args)) = &args.action {
        return show(args, root).await;
    }
    let Some(log) = open(root).await? else {
        if args.follow {
            return follow(root, None, args, 0).await;
        }
        if args.json {
            stdout::json(&json!({"calls": [], "lost": 0}))?;
        } else {
            stdout::write(&format!("no calls are kept in {}", text::path(root)))?;
        }
        return Ok(Exit::Done);
    };
    let mut page = log.search(query(args)).await?;
    // As in a log, the newest is last.
    page.calls.reverse();
    if page.lost > 0 {
        let lost = text::counted(page.lost, "call");
        settings.note(&format!(
            "{lost} of this time came too fast to be kept, and are missing"
        ));
    }
    let last = page.calls.iter().map(|call| call.id).max();
    if args.follow {
        print_each(&page, args)?;
        return follow(root, Some(log), args, last.unwrap_or_default()).await;
    }
    if args.json {
        stdout::json(&json!({"calls": page.calls, "lost": page.lost}))?;
    } else if page.calls.is_empty() {
        stdout::write("no kept call is like that")?;
    } else {
        print_each(&page, args)?;
    }
    Ok(Exit::Done)
}

async fn open(root: &Path) -> Result<Option<CallLog>, Failure> {
    let root = root.to_owned();
    let opened = files::spawn_blocking(move || Ok(CallLog::open(&root)?));
    Ok(opened.await?)
}

fn query(args: &CallsArgs) -> CallQuery {
    let mut query = CallQuery::default();
    query.status = args.failed.then_some(ToolStatus::Error);
    query.tool.clone_from(&args.tool);
    query.agent.clone_from(&args.agent);
    query.instance.clone_from(&args.instance);
    query.code.clone_from(&args.code);
    query.text.clone_from(&args.text);
    (query.since, query.until) = (args.since, args.until);
    query.limit = args.limit.into();
    query
}

/// Prints the calls that come after one, as they end.
async fn follow(
    root: &Path,
    mut log: Option<CallLog>,
    args: &CallsArgs,
    mut last: u64,
) -> Result<Exit, Failure> {
    loop {
        match &log {
            // No host has kept a call here yet.
            None => log = open(root).await?,
            Some(log) => {
                let mut query = query(args);
                (query.after, query.limit) = (Some(last), FOLLOWED);
                let page = log.search(query).await?;
                print_each(&page, args)?;
                last = page.calls.last().map_or(last, |call| call.id);
            }
        }
        tokio::time::sleep(FOLLOW_INTERVAL).await;
    }
}

fn print_each(page: &CallPage, args: &CallsArgs) -> anyhow::Result<()> {
    for call in &page.calls {
        if args.json {
            stdout::json_line(&json!(call))?;
        } else {
            let parent = call.parent_call_id.as_ref().map_or("", |_| "↳ ");
            stdout::write(&format!("{:>6}  {parent}{}", call.id, CallLine::from(call)))?;
        }
    }
    Ok(())
}

async fn show(args: &ShowArgs, root: &Path) -> Result<Exit, Failure> {
    let call = match open(root).await? {
        None => None,
        Some(log) => {
            let mut call = match args.id.parse() {
                Ok(id) => log.get(id).await?,
                Err(_) => None,
            };
            if call.is_none() {
                let mut query = CallQuery::default();
                (query.call_id, query.limit) = (Some(args.id.clone()), 1);
                if let Some(newest) = log.search(query).await?.calls.first() {
                    call = log.get(newest.id).await?;
                }
            }
            let inner = match &call {
                Some(call) => {
                    let mut query = CallQuery::default();
                    query.made_by = Some(call.into());
                    log.search(query).await?.calls
                }
                None => Vec::new(),
            };
            call.map(|call| (call, inner))
        }
    };
    let Some((call, inner)) = call else {
        let id = text::line(&args.id);
        let error = anyhow!("no kept call has the number or the id '{id}'");
        return Err(Failure::from(error).hint("`toolhost calls` lists them."));
    };
    if args.json {
        let mut shown = json!(call);
        stdout::set(&mut shown, "calls", json!(inner));
        stdout::json(&shown)?;
    } else {
        stdout::write(&page(&call, &inner))?;
    }
    Ok(Exit::Done)
}

/// All that is kept of a call, as lines.
fn page(call: &CallRecord, inner: &[CallRecord]) -> String {
    let mut lines = vec![format!("{}  {}", call.id, CallLine::from(call))];
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            lines.push(format!("{name:<10} {value}"));
        }
    };
    let plain = |value: &Option<String>| value.as_deref().map(text::line).unwrap_or_default();
    add("message", &plain(&call.message));
    add("agent", &text::line(&call.agent));
    add("turn", &text::line(&call.turn));
    add("step", &text::line(&call.step));
    add("call", &text::line(&call.call_id));
    add("made by", &plain(&call.parent_call_id));
    add("handle", &plain(&call.handle));
    if call.kind != CallKind::Call || call.usage.wall > Duration::ZERO {
        add("used", &used(call));
    }
    for denial in &call.denials {
        let operation = text::line(&denial.operation);
        match &denial.policy_line {
            Some(line) => add(
                "denied",
                &format!("{operation}; this line of the policy allows it: {line}"),
            ),
            None => add("denied", &operation),
        }
    }
    for file in &call.files {
        let path = text::line(&file.path);
        add("file", &format!("{} {path}", file.kind.as_str()));
    }
    if call.usage.changes.truncated {
        add("file", "and more");
    }
    for made in inner {
        add("made", &format!("{}  {}", made.id, CallLine::from(made)));
    }
    let listed = call.usage.tool_calls.as_deref();
    if let (true, Some(made)) = (inner.is_empty(), listed) {
        let one = |call: &ToolCallUsage| text::line(&format!("{} {}", call.id, call.tool));
        made.calls.iter().for_each(|call| add("made", &one(call)));
    }
    add("arguments", &plain(&call.arguments));
    add("output", &plain(&call.output));
    if let Some(file) = &call.recording {
        let is_there = if file.exists() {
            ""
        } else {
            " (removed since)"
        };
        add("recording", &format!("{}{is_there}", text::path(file)));
    }
    lines.join("\n")
}

fn used(call: &CallRecord) -> String {
    let usage = &call.usage;
    let milliseconds = usage.wall.as_secs_f64() * 1e3;
    let mut parts = vec![
        format!("{milliseconds:.1} ms"),
        format!("memory {}", size(usage.memory_peak)),
    ];
    for (what, bytes) in [
        ("read", usage.bytes_read),
        ("written", usage.bytes_written),
        ("output", usage.output_bytes),
    ] {
        if bytes > 0 {
            parts.push(format!("{what} {}", size(bytes)));
        }
    }
    if usage.http_requests > 0 {
        parts.push(text::counted(usage.http_requests, "HTTP request"));
    }
    parts.join(", ")
}
