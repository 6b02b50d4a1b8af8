//! Recorded calls: their host calls, and replays.

use std::collections::HashMap;

use serde_json::{Value, json};
use toolhost::recording::{Answer, HostCall, Readable, ReplayEnd, ReplayOptions};

use crate::failure::Failure;
use crate::page::PageInner;
use crate::query::Query;
use crate::recordings::Recorded;
use crate::root::{Root, shown};

/// Most host calls of a page.
const STEPS_MAX: usize = 1000;

/// Most log records, and most HTTP requests, that are shown of a call.
const FACTS_MAX: usize = 1000;

/// Reads the recording of a call.
pub(super) async fn of_call(page: &PageInner, root: &Root, id: u64) -> Result<Recorded, Failure> {
    let (_, call) = root.call(id).await?;
    let Some(path) = &call.recording else {
        return Err(Failure::not_found("the call was not recorded")
            .hint("`toolhost serve --record failed` records calls that fail."));
    };
    page.recordings.read(root.path.as_deref(), path).await
}

pub(super) async fn steps(
    page: &PageInner,
    root: &Root,
    id: u64,
    query: &mut Query,
) -> Result<Value, Failure> {
    let from: usize = query.take("from", "a number")?.unwrap_or_default();
    let limit: usize = query.take("limit", "a number")?.unwrap_or(200);
    let function = query.text("function").unwrap_or_default();
    let recorded = of_call(page, root, id).await?;
    let readable = Readable::of(&recorded.recording);
    let calls = recorded.recording.recording.calls.iter();
    let calls: Vec<&HostCall> = calls
        .filter(|call| call.function.contains(&function))
        .collect();
    let steps = calls
        .iter()
        .skip(from)
        .take(limit.min(STEPS_MAX))
        .map(|call| {
            json!({
                "index": call.index,
                "function": call.function,
                "arguments": readable.arguments(call),
                "answer": readable.answer(call),
                "ended": !matches!(call.answer, Answer::Returned(_)),
            })
        });
    Ok(json!({"total": calls.len(), "steps": steps.collect::<Vec<_>>()}))
}

/// Runs the component of the loaded bundle with the recorded answers.
pub(super) async fn replay(page: &PageInner, root: &Root, id: u64) -> Result<Value, Failure> {
    let Some(bundle) = &page.bundle else {
        return Err(
            Failure::not_found("no bundle is loaded whose component could run")
                .hint("`toolhost watch --bundle DIR` loads one."),
        );
    };
    let recorded = of_call(page, root, id).await?;
    let recording = &recorded.recording;
    let replayed = bundle
        .current()
        .replay(recording, ReplayOptions::default())
        .await;
    let replay = replayed.map_err(|error| Failure::not_found(error.to_string()))?;
    let report = &replay.report;
    let readable = Readable::of(recording);
    let divergence = report.divergence.as_ref().map(|divergence| {
        json!({
            "index": divergence.index,
            "expected": readable.event(&divergence.expected),
            "actual": readable.event(&divergence.actual),
        })
    });
    Ok(json!({
        "same": matches!(report.end, ReplayEnd::Finished | ReplayEnd::RecordingCut),
        "end": match report.end {
            ReplayEnd::Finished => "finished",
            ReplayEnd::Diverged => "diverged",
            ReplayEnd::RecordingCut => "recordingCut",
            ReplayEnd::Stopped => "stopped",
        },
        "component": {
            "recorded": recording.recording.component.sha256,
            "current": replay.component_sha256,
            "changed": replay.component_changed,
        },
        "hostCalls": report.calls,
        "outcome": Readable::end(&report.outcome),
        "divergence": divergence,
    }))
}

/// Makes a test case of a recorded call.
pub(super) async fn case(page: &PageInner, root: &Root, id: u64) -> Result<Value, Failure> {
    let Some(case_of) = &page.case_of else {
        return Err(Failure::not_found("this page makes no test cases"));
    };
    let recorded = of_call(page, root, id).await?;
    let case = case_of(&recorded.recording, &shown(&recorded.path)).map_err(Failure::not_found)?;
    Ok(json!({"yaml": case.yaml, "notes": case.notes}))
}

/// What the host calls of a recording tell.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) log: Vec<Value>,
    pub(super) requests: Vec<Value>,
}

/// A request that is being made, and that was sent.
#[derive(Default, Clone)]
struct Request {
    method: Option<String>,
    scheme: Option<String>,
    authority: String,
    path: String,
    status: Option<u64>,
}

/// Reads what a call logged and the requests that it sent.
pub(super) fn facts(recorded: &Recorded) -> Facts {
    let mut facts = Facts::default();
    // By the handles that stand for them: of the request, of the response to come, and of the response.
    let mut made: HashMap<u64, Request> = HashMap::new();
    let (mut futures, mut responses) = (HashMap::new(), HashMap::new());
    let mut sent: Vec<Request> = Vec::new();
    for call in &recorded.recording.recording.calls {
        let (first, second) = (call.arguments.first(), call.arguments.get(1));
        let answer = match &call.answer {
            Answer::Returned(value) => value,
            Answer::Ended(_) | Answer::Unanswered => &Value::Null,
        };
        match name(call) {
            ("wasi:logging/logging", "log") if facts.log.len() < FACTS_MAX => {
                facts.log.push(json!({
                    "level": first,
                    "context": second,
                    "message": call.arguments.get(2),
                }))
            }
            ("wasi:http/types", "[constructor]outgoing-request") => {
                made.extend(handle(answer).map(|request| (request, Request::default())));
            }
            ("wasi:http/types", function) => {
                let request = first.and_then(handle);
                let set = function.strip_prefix("[method]outgoing-request.set-");
                match (function, request, set) {
                    (_, Some(handle), Some(what)) => {
                        if let Some(request) = made.get_mut(&handle) {
                            request.set(what, second.and_then(word));
                        }
                    }
                    ("[method]future-incoming-response.get", Some(future), _) => {
                        let request = futures.get(&future).copied();
                        let response = answer.pointer("/some/ok/ok").and_then(handle);
                        responses.extend(response.zip(request));
                    }
                    ("[method]incoming-response.status", Some(response), _) => {
                        let request = responses.get(&response).copied();
                        let request = request.and_then(|at: usize| sent.get_mut(at));
                        if let Some(request) = request {
                            request.status = answer.as_u64();
                        }
                    }
                    _ => {}
                }
            }
            ("wasi:http/outgoing-handler", "handle") if sent.len() < FACTS_MAX => {
                let request = first
                    .and_then(handle)
                    .and_then(|handle| made.remove(&handle));
                let future = answer.get("ok").and_then(handle);
                futures.extend(future.map(|future| (future, sent.len())));
                sent.extend(request);
            }
            _ => {}
        }
    }
    facts.requests = sent.iter().map(Request::to_value).collect();
    facts
}

impl Request {
    fn set(&mut self, what: &str, value: Option<String>) {
        match what {
            "method" => self.method = value.map(|method| method.to_uppercase()),
            "scheme" => self.scheme = value.map(|scheme| scheme.to_lowercase()),
            "authority" => self.authority = value.unwrap_or_default(),
            "path-with-query" => self.path = value.unwrap_or_default(),
            _ => {}
        }
    }

    fn to_value(&self) -> Value {
        let scheme = self.scheme.as_deref().unwrap_or("https");
        json!({
            "method": self.method.as_deref().unwrap_or("GET"),
            "url": format!("{scheme}://{}{}", self.authority, self.path),
            "status": self.status,
        })
    }
}

/// Returns the interface without its version, and the function of a host call.
fn name(call: &HostCall) -> (&str, &str) {
    let (interface, function) = call.function.split_once('#').unwrap_or_default();
    let interface = interface
        .split_once('@')
        .map_or(interface, |(name, _)| name);
    (interface, function)
}

/// Returns the number of a handle.
fn handle(value: &Value) -> Option<u64> {
    value.get("handle")?.as_u64()
}

/// Returns a text, or that of a variant such as `{"other": "PATCH"}`, also within an option.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(members) => members.values().next().and_then(word),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
