//! Calls that ended.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolhost::ToolStatus;
use toolhost::approvals::Approval;
use toolhost::calls::{CallKind, CallLog, CallQuery, CallRecord, CallRef, CallStats};
use toolhost::events::Timestamp;
use toolhost::text::shell_word;

use super::recorded;
use crate::failure::Failure;
use crate::page::PageInner;
use crate::query::Query;
use crate::root::{Root, shown};

/// Most inner calls that are shown with a call.
const INNER_MAX: usize = 1000;

/// The end of arguments that were cut.
const CUT: &str = "… (cut)";

/// The time that is counted, unless one is asked for.
const STATS_TIME: Duration = Duration::from_secs(3600);

pub(super) async fn list(root: &Root, query: &mut Query) -> Result<Value, Failure> {
    let mut asked = CallQuery::default();
    asked.status = query
        .text("status")
        .map(|status| match status.as_str() {
            "ok" => Ok(ToolStatus::Ok),
            "error" => Ok(ToolStatus::Error),
            "pending" => Ok(ToolStatus::Pending),
            _ => Err(Failure::invalid("'status' is not ok, error or pending")),
        })
        .transpose()?;
    asked.tool = query.text("tool");
    asked.code = query.text("code");
    asked.agent = query.text("agent");
    asked.instance = query.text("instance");
    asked.text = query.text("text");
    (asked.since, asked.until) = (query.time("since")?, query.time("until")?);
    asked.before = query.take("before", "a number")?;
    asked.after = query.take("after", "a number")?;
    asked.limit = query.take("limit", "a number")?.unwrap_or_default();
    let Some(log) = root.calls().await? else {
        return Ok(json!({"calls": [], "lost": 0}));
    };
    let page = log.search(asked).await?;
    Ok(json!({"calls": page.calls, "next": page.next, "lost": page.lost}))
}

pub(super) async fn stats(root: &Root, query: &mut Query) -> Result<Value, Failure> {
    let until = query.time("until")?.unwrap_or_else(SystemTime::now);
    let before = until
        .checked_sub(STATS_TIME)
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let since = query.time("since")?.unwrap_or(before);
    let stats = match root.calls().await? {
        Some(log) => log.stats(since, until).await?,
        None => CallStats::default(),
    };
    Ok(json!({
        "since": Timestamp(since),
        "until": Timestamp(until),
        "counted": stats.sampled,
        "of": stats.calls,
        "bucketMs": stats.bucket_ms,
        "buckets": stats.buckets,
        "codes": stats.codes,
        "tools": stats.tools,
    }))
}

/// Shows a call with the calls that it made, and what its recording tells.
pub(super) async fn show(page: &PageInner, root: &Root, id: u64) -> Result<Value, Failure> {
    let (log, call) = root.call(id).await?;
    let recorded = match &call.recording {
        None => None,
        Some(path) => Some(page.recordings.read(root.path.as_deref(), path).await),
    };
    let recording = match (&recorded, &call.recording) {
        (Some(Ok(recorded)), _) => json!({
            "path": shown(&recorded.path),
            "full": recorded.recording.can_be_replayed(),
            "steps": recorded.recording.recording.calls.len(),
            "bytes": recorded.bytes.len(),
        }),
        (Some(Err(failure)), Some(path)) => {
            json!({"path": shown(path), "problem": failure.to_value().pointer("/error/message")})
        }
        _ => Value::Null,
    };
    let facts = match &recorded {
        Some(Ok(recorded)) => recorded::facts(recorded),
        _ => recorded::Facts::default(),
    };
    Ok(json!({
        "inner": inner(log, &call).await?,
        "parent": parent(log, &call).await?,
        "original": original(log, &call).await?.map(|call| call.id),
        "approval": waited_for(root, &call).await?.map(|approval| approval.id),
        "line": line(page, &call),
        "recording": recording,
        "log": facts.log,
        "requests": facts.requests,
        "diffs": diffs(root, &call).await?,
        "call": call,
    }))
}

/// Returns all calls that a call made, and those that these made, the oldest first.
async fn inner(log: &CallLog, call: &CallRecord) -> Result<Vec<CallRecord>, Failure> {
    let mut found: Vec<CallRecord> = Vec::new();
    let mut makers: Vec<CallRef> = vec![call.into()];
    while let Some(maker) = makers.pop() {
        let mut query = CallQuery::default();
        query.made_by = Some(maker);
        query.limit = INNER_MAX.saturating_sub(found.len());
        if query.limit == 0 {
            break;
        }
        for made in log.search(query).await?.calls {
            if made.usage.tool_calls.is_some() {
                makers.push((&made).into());
            }
            found.push(made);
        }
    }
    found.sort_by_key(|call| call.id);
    Ok(found)
}

/// Returns the call that made a call.
async fn parent(log: &CallLog, call: &CallRecord) -> Result<Option<CallRecord>, Failure> {
    match &call.parent_call_id {
        None => Ok(None),
        Some(id) => first_of(log, id, &call.instance, |it| it.turn == call.turn).await,
    }
}

/// Returns the call whose poll or end this is.
async fn original(log: &CallLog, call: &CallRecord) -> Result<Option<CallRecord>, Failure> {
    match &call.handle {
        Some(handle) if call.kind != CallKind::Call => {
            call_of(log, &call.call_id, &call.instance, handle).await
        }
        _ => Ok(None),
    }
}

/// Returns the call of an instance that got this handle.
pub(super) async fn call_of(
    log: &CallLog,
    call_id: &str,
    instance: &str,
    handle: &str,
) -> Result<Option<CallRecord>, Failure> {
    first_of(log, call_id, instance, |it| {
        it.kind == CallKind::Call && it.handle.as_deref() == Some(handle)
    })
    .await
}

/// Returns the newest call of an instance that has this id, and for which this holds.
async fn first_of(
    log: &CallLog,
    call_id: &str,
    instance: &str,
    is_it: impl Fn(&CallRecord) -> bool,
) -> Result<Option<CallRecord>, Failure> {
    let mut query = CallQuery::default();
    query.call_id = Some(call_id.to_owned());
    query.instance = Some(instance.to_owned());
    let calls = log.search(query).await?.calls;
    Ok(calls.into_iter().find(is_it))
}

/// Returns the diffs of the files that a call changed, or would have: as its policy keeps them, or as they were shown for
/// approval.
async fn diffs(root: &Root, call: &CallRecord) -> Result<Vec<Value>, Failure> {
    if call.files.iter().any(|file| file.diff.is_some()) {
        return Ok(call.files.iter().map(|file| json!(file)).collect());
    }
    let (Some(waited), Some(approvals)) = (waited_for(root, call).await?, root.approvals().await?)
    else {
        return Ok(Vec::new());
    };
    let what = approvals.get(&waited.id).await?.what;
    let files = what.get("files").and_then(Value::as_array);
    Ok(files.cloned().unwrap_or_default())
}

/// Returns what a call waited for last, without what that is.
async fn waited_for(root: &Root, call: &CallRecord) -> Result<Option<Approval>, Failure> {
    match (&call.handle, root.approvals().await?) {
        (Some(handle), Some(approvals)) => Ok(approvals.of_call(handle).await?),
        _ => Ok(None),
    }
}

/// Returns the line of a shell that makes the call again; none if its arguments are not kept whole.
fn line(page: &PageInner, call: &CallRecord) -> Option<String> {
    let args = call
        .arguments
        .as_deref()
        .filter(|args| !args.ends_with(CUT))?;
    let bundle = page
        .bundle
        .as_ref()
        .map(|bundle| bundle.current().source().to_owned())
        .map(|path| std::path::absolute(&path).unwrap_or(path));
    let bundle = bundle.map_or_else(
        || "BUNDLE".to_owned(),
        |path| shell_word(&path.to_string_lossy()).into_owned(),
    );
    let (tool, args) = (shell_word(&call.tool), shell_word(args));
    let (agent, instance) = (shell_word(&call.agent), shell_word(&call.instance));
    let options = &page.call_options;
    Some(format!(
        "toolhost call {bundle} {tool} --args {args} --agent {agent} --instance {instance}{options}"
    ))
}
