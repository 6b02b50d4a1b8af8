//! Recording the host calls of a call, and replaying them without the world.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_contract::{Answer, RecordedOutcome, Recording, RecordingEnd, Redactor, ReplayEvent};
use toolhost_sandbox::{
    CallReport, HttpGrant, HttpRule, Invocation, Operation, Outcome, PreparedTool, RecordOptions,
    ReplayEnd, ReplayError, ReplayOptions, ReplayReport, ReplayStep,
};
use toolhost_tests::{Work, invocation, limits, nothing, prepared, root, sandbox};

use super::agents_port::Port;
use crate::http::server::{Server, ok};

/// A call of an example: its component, its handler, its input, and the files in its workdir.
struct Example {
    component: &'static str,
    handler: &'static str,
    input: Value,
    files: &'static [(&'static str, &'static str)],
}

const TEXT_TRANSFORM: &str =
    "guest-examples/typescript/text-transform/.toolhost/text-transform.wasm";
const CSV_STATS: &str = "guest-examples/python/csv-stats/.toolhost/csv-stats.wasm";

fn examples() -> Vec<Example> {
    let example = |component, handler, input, files| Example {
        component,
        handler,
        input,
        files,
    };
    let sales = &[("sales.csv", "region;amount\nnorth;10\nsouth;20.5\n")];
    let a = &[
        ("a.txt", "one two\nthree\n"),
        ("b/c.json", "{\"x\": [1, 2]}"),
    ];
    vec![
        example(
            "target/guests/echo.wasm",
            "say",
            json!({"any": [1, null]}),
            &[],
        ),
        example("target/guests/echo.wasm", "context", json!({}), &[]),
        example(
            "target/guests/text.wasm",
            "upper",
            json!({"text": "straße"}),
            &[],
        ),
        example(
            "target/guests/text.wasm",
            "fail",
            json!({"length": 5, "code": "MINE"}),
            &[],
        ),
        example(
            "target/guests/file-system.wasm",
            "read",
            json!({"path": "a.txt"}),
            a,
        ),
        example(
            "target/guests/file-system.wasm",
            "read",
            json!({"path": "nowhere"}),
            a,
        ),
        example(
            "target/guests/file-system.wasm",
            "list",
            json!({"recursive": true}),
            a,
        ),
        example(
            "target/guests/file-system.wasm",
            "mkdir",
            json!({"path": "d/e"}),
            a,
        ),
        example(
            "target/guests/file-system.wasm",
            "write",
            json!({"path": "a.txt", "content": "x".repeat(10_000), "append": true}),
            a,
        ),
        example(
            "target/guests/json-query.wasm",
            "query",
            json!({"path": "b/c.json", "filter": ".x[1]"}),
            a,
        ),
        example(
            "target/guests/bash.wasm",
            "exec",
            json!({"command": "sort -r a.txt > sorted.txt; date +%N > now.txt; wc -l *.txt; echo $RANDOM"}),
            a,
        ),
        example(
            TEXT_TRANSFORM,
            "case",
            json!({"text": "Crème brûlée", "to": "slug"}),
            &[],
        ),
        example(
            TEXT_TRANSFORM,
            "case",
            json!({"text": "…", "to": "slug"}),
            &[],
        ),
        example(
            CSV_STATS,
            "describe",
            json!({"path": "sales.csv", "top": 1}),
            sales,
        ),
        example(
            CSV_STATS,
            "count",
            json!({"path": "sales.csv", "by": "nothing"}),
            sales,
        ),
    ]
}

/// Returns the component of a path in the workspace, prepared once.
async fn component(path: &str) -> PreparedTool {
    static KNOWN: Mutex<BTreeMap<String, PreparedTool>> = Mutex::new(BTreeMap::new());
    let known = KNOWN.lock().unwrap().get(path).cloned();
    if let Some(known) = known {
        return known;
    }
    let file: PathBuf = root(path);
    let bytes = std::fs::read(&file)
        .unwrap_or_else(|e| panic!("{}: {e}; run `cargo xtask guests`", file.display()));
    let (tool, _) = sandbox().prepare(bytes).await.unwrap();
    KNOWN.lock().unwrap().insert(path.to_owned(), tool.clone());
    tool
}

fn work_with(files: &[(&str, &str)]) -> Work {
    let work = Work::new();
    for (path, content) in files {
        let path = work.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    work
}

/// Runs a call and records it.
async fn recorded(tool: &PreparedTool, mut call: Invocation) -> (CallReport, Recording) {
    call.record = Some(RecordOptions::new(Redactor::default()));
    let mut report = tool.call(call).await;
    let recording = report.recording.take().unwrap();
    // As it is read from a file.
    let json = serde_json::to_string(&recording).unwrap();
    let read: Recording = serde_json::from_str(&json).unwrap();
    assert_eq!(read, *recording);
    (report, read)
}

async fn replayed(tool: &PreparedTool, recording: &Recording) -> ReplayReport {
    let replayed = tool.replay(recording, ReplayOptions::default()).await;
    replayed.unwrap()
}

/// Records a call, replays it, and asserts that both end alike.
async fn record_and_replay(tool: &PreparedTool, call: Invocation) -> (CallReport, Recording) {
    let (report, recording) = recorded(tool, call).await;
    let replay = replayed(tool, &recording).await;
    assert_eq!(replay.divergence, None);
    assert_eq!(replay.end, ReplayEnd::Finished);
    assert_eq!(replay.calls, recording.calls.len() as u64);
    assert_eq!(replay.outcome, recording.outcome);
    (report, recording)
}

#[tokio::test]
async fn calls_of_all_examples_are_recorded_and_replayed_to_the_same_bytes() {
    for example in examples() {
        let tool = component(example.component).await;
        let work = work_with(example.files);
        let plain = tool
            .call(invocation(example.handler, &example.input, Some(&work)))
            .await;
        let work = work_with(example.files);
        let call = invocation(example.handler, &example.input, Some(&work));
        let (report, recording) = record_and_replay(&tool, call).await;
        let name = (example.component, example.handler);
        if example.handler == "exec" {
            assert!(
                matches!(report.outcome, Ok(Outcome::Output(_))),
                "{name:?} {report:?}"
            );
        } else {
            assert_eq!(
                report.outcome.as_ref().unwrap(),
                plain.outcome.as_ref().unwrap(),
                "{name:?}"
            );
        }
        if let Ok(Outcome::Output(output)) = report.outcome {
            assert_eq!(recording.outcome, RecordedOutcome::Output { value: output });
        }
        assert_eq!(
            report.usage.bytes_written, plain.usage.bytes_written,
            "{name:?}"
        );
        assert_eq!(report.usage.bytes_read, plain.usage.bytes_read, "{name:?}");
        assert_eq!(report.usage.files_made, plain.usage.files_made, "{name:?}");
        assert_eq!(recording.end, RecordingEnd::Complete);
    }
}

#[tokio::test]
async fn a_replay_of_a_call_that_wrote_files_writes_none() {
    let tool = prepared("file-system").await;
    let work = Work::new();
    let input = json!({"path": "a/b.txt", "content": "hi"});
    let (report, recording) = recorded(&tool, invocation("write", &input, Some(&work))).await;
    assert_eq!(report.usage.bytes_written, 2);
    std::fs::remove_dir_all(work.path("a")).unwrap();
    let replay = replayed(&tool, &recording).await;
    assert_eq!(replay.end, ReplayEnd::Finished);
    assert!(!work.path("a").exists());
}

#[tokio::test]
async fn a_changed_component_diverges_at_the_first_host_call_that_differs() {
    let tool = prepared("file-system").await;
    let work = work_with(&[("a.txt", "hi"), ("b.txt", "ho")]);
    let input = json!({"path": "a.txt"});
    let (_, recording) = recorded(&tool, invocation("read", &input, Some(&work))).await;

    // Another release of WASI: its functions have other names.
    let other = prepared("file-system@0.2.6").await;
    let replay = replayed(&other, &recording).await;
    assert_eq!((replay.end, replay.calls), (ReplayEnd::Diverged, 0));
    let divergence = replay.divergence.unwrap();
    let function = |event: &ReplayEvent| match event {
        ReplayEvent::Call { function, .. } => function.clone(),
        other @ (ReplayEvent::End { .. } | ReplayEvent::InvalidAnswer { .. }) => {
            panic!("{other:?}")
        }
    };
    assert_eq!(divergence.index, 0);
    assert_eq!(function(&divergence.expected), recording.calls[0].function);
    assert_eq!(
        function(&divergence.actual),
        "wasi:filesystem/preopens@0.2.6#get-directories"
    );

    // Another path: the first call is the same.
    let mut changed = recording.clone();
    let input = json!({"path": "b.txt"}).to_string();
    changed.operation = toolhost_contract::Operation::Handler {
        name: toolhost_contract::ExportName::parse("read").unwrap(),
        input,
    };
    let replay = replayed(&tool, &changed).await;
    let divergence = replay.divergence.unwrap();
    assert_eq!(divergence.index, 1);
    assert!(function(&divergence.actual).ends_with("#[method]descriptor.open-at"));
    let ReplayEvent::Call { arguments, .. } = divergence.actual else {
        unreachable!();
    };
    assert_eq!(arguments[2], "b.txt");

    // A component that ends earlier, and one that goes on longer.
    let mut longer = recording.clone();
    longer.calls.push(recording.calls[0].clone());
    longer.calls.last_mut().unwrap().index = recording.calls.len() as u64;
    let divergence = replayed(&tool, &longer).await.divergence.unwrap();
    assert_eq!(divergence.index, recording.calls.len() as u64);
    assert!(matches!(divergence.actual, ReplayEvent::End { .. }));
    let mut shorter = recording.clone();
    shorter.calls.pop();
    let divergence = replayed(&tool, &shorter).await.divergence.unwrap();
    assert!(matches!(divergence.expected, ReplayEvent::End { .. }));
    assert_eq!(divergence.index, shorter.calls.len() as u64);
}

#[tokio::test]
async fn a_bent_recording_is_refused_with_its_place() {
    let tool = prepared("file-system").await;
    let work = work_with(&[("a.txt", &"x".repeat(1_000))]);
    let input = json!({"path": "a.txt"});
    let (_, good) = recorded(&tool, invocation("read", &input, Some(&work))).await;
    assert!(!good.blobs.is_empty());
    let invalid_answer = async |bend: &dyn Fn(&mut Recording)| {
        let mut bent = good.clone();
        bend(&mut bent);
        let divergence = replayed(&tool, &bent).await.divergence.unwrap();
        let ReplayEvent::InvalidAnswer { problem, .. } = divergence.expected else {
            panic!("{divergence:?}");
        };
        (divergence.index, problem)
    };
    let (index, problem) = invalid_answer(&|bent| {
        bent.calls[0].answer = Answer::Returned(json!("nothing"));
    })
    .await;
    assert_eq!(
        (index, problem.as_str()),
        (0, "is \"nothing\", expected a list")
    );
    let (_, problem) = invalid_answer(&|bent| bent.blobs.clear()).await;
    assert!(problem.contains("is missing"), "{problem}");
    let (_, problem) = invalid_answer(&|bent| {
        bent.blobs
            .values_mut()
            .for_each(|blob| *blob = "AAAA".to_owned());
    })
    .await;
    assert!(problem.contains("another digest"), "{problem}");

    let refused = async |bend: &dyn Fn(&mut Recording)| {
        let mut bent = good.clone();
        bend(&mut bent);
        let error = tool
            .replay(&bent, ReplayOptions::default())
            .await
            .unwrap_err();
        (error.to_string(), error)
    };
    let (text, _) = refused(&|bent| bent.calls[1].index = 7).await;
    assert_eq!(text, "the recording is invalid: calls[1].index: it is 7");
    let (text, _) = refused(&|bent| bent.context["turnId"] = json!(1)).await;
    assert!(text.contains("context.turnId"), "{text}");
    let (_, error) = refused(&|bent| bent.version = 2).await;
    assert!(matches!(error, ReplayError::Version { found: 2, known: 1 }));
    let (text, error) = refused(&|bent| bent.engine.architecture = "riscv64".to_owned()).await;
    assert!(
        matches!(error, ReplayError::Architecture { .. }) && text.contains("riscv64"),
        "{text}"
    );
}

#[tokio::test]
async fn a_call_that_the_host_stopped_is_replayed_to_the_same_end() {
    let short = || limits(|limits| limits.deadline = Duration::from_millis(400));
    for (guest, reason) in [
        ("spin_forever", "timeout"),
        ("sleep_forever", "timeout"),
        ("panic_with_reason", "trap"),
        ("trap", "trap"),
        ("exit_process", "exit"),
        ("eat_memory", "out-of-memory"),
    ] {
        let work = Work::new();
        let mut call = invocation("run", &nothing(), Some(&work));
        if reason == "timeout" {
            call.limits = short();
        }
        let plain = prepared(guest).await.call(call.clone()).await;
        let (report, recording) = record_and_replay(&prepared(guest).await, call).await;
        let (error, plain) = (report.outcome.unwrap_err(), plain.outcome.unwrap_err());
        assert_eq!(error.to_string(), plain.to_string());
        assert!(
            matches!(&recording.outcome, RecordedOutcome::Stopped { reason: found, .. } if found == reason),
            "{guest}: {:?}",
            recording.outcome
        );
    }
}

#[tokio::test]
async fn a_recording_ends_at_its_limit_and_the_call_goes_on() {
    let tool = prepared("file-system").await;
    let work = work_with(&[("a.txt", &"x".repeat(50_000))]);
    let mut call = invocation("read", &json!({"path": "a.txt"}), Some(&work));
    let mut options = RecordOptions::new(Redactor::default());
    options.max_bytes = 10_000;
    call.record = Some(options);
    let memory = sandbox().memory_in_use();
    let report = tool.call(call).await;
    assert_eq!(sandbox().memory_in_use(), memory);
    let recording = report.recording.expect("a recording");
    assert_eq!(recording.end, RecordingEnd::CutAtLimit { limit: 10_000 });
    assert!(matches!(&report.outcome, Ok(Outcome::Output(output)) if output["size"] == 50_000));
    assert!(serde_json::to_string(&recording.calls).unwrap().len() < 10_000);
    let replay = replayed(&tool, &recording).await;
    assert_eq!(
        (replay.end, replay.divergence),
        (ReplayEnd::RecordingCut, None)
    );
    assert_eq!(replay.calls, recording.calls.len() as u64);
}

#[tokio::test]
async fn secrets_are_redacted_in_a_recording_and_its_replay_does_not_diverge() {
    let secret = "sk-0123456789abcdef";
    let redactor = || RecordOptions::new(Redactor::new([("TOKEN", secret)]));
    let without_secret = |recording: &Recording| {
        let json = serde_json::to_string(recording).unwrap();
        assert!(
            !json.contains(secret) && json.contains("[redacted:TOKEN]"),
            "{json}"
        );
        for at in 0..3 {
            // In base64, as lists of bytes are written.
            let bytes = [&[b'x'; 2][..at.min(2)], secret.as_bytes()].concat();
            let encoded = data_encoding::BASE64.encode(&bytes);
            let aligned = encoded.get(4..20).unwrap();
            assert!(!json.contains(aligned), "{json}");
        }
    };
    // The guest returns its environment.
    let tool = prepared("look_at_environment").await;
    let mut call = invocation("run", &nothing(), None);
    call.grants.env = vec![("TOKEN".to_owned(), secret.to_owned())];
    call.record = Some(redactor());
    let report = tool.call(call).await;
    assert!(
        matches!(&report.outcome, Ok(Outcome::Output(output)) if output["env"]["TOKEN"] == secret)
    );
    let recording = report.recording.expect("a recording");
    without_secret(&recording);
    let replay = replayed(&tool, &recording).await;
    assert_eq!((replay.end, replay.divergence), (ReplayEnd::Finished, None));

    // The guest writes its input to a file, and reads it back.
    let tool = prepared("bash").await;
    let work = Work::new();
    let command = format!("echo 'token={secret}' > a.txt; cat a.txt; wc -c a.txt");
    let mut call = invocation("exec", &json!({"command": command}), Some(&work));
    call.record = Some(redactor());
    let report = tool.call(call).await;
    let written = std::fs::read_to_string(work.path("a.txt")).unwrap();
    assert_eq!(written, format!("token={secret}\n"));
    let recording = report.recording.expect("a recording");
    without_secret(&recording);
    let replay = replayed(&tool, &recording).await;
    assert_eq!((replay.end, replay.divergence), (ReplayEnd::Finished, None));
}

#[tokio::test]
async fn requests_are_replayed_without_their_server() {
    let server = Server::says(&ok("the answer"));
    let origin = server.origin();
    let tool = prepared("http-fetch").await;
    let mut call = invocation("get", &json!({"url": format!("{origin}/x")}), None);
    let grant = HttpGrant {
        allow: [HttpRule::parse(&origin).unwrap()].into(),
        ..HttpGrant::default()
    };
    call.grants.http = Some(Arc::new(grant));
    let (report, recording) = recorded(&tool, call).await;
    let Ok(Outcome::Output(output)) = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    assert!(output.to_string().contains("the answer"), "{output}");
    assert_eq!(report.usage.http_requests, 1);
    let accepted = server.accepted();
    let replay = replayed(&tool, &recording).await;
    assert_eq!((replay.end, replay.divergence), (ReplayEnd::Finished, None));
    assert_eq!(replay.outcome, recording.outcome);
    assert_eq!(server.accepted(), accepted);
}

#[tokio::test]
async fn requests_to_agents_are_replayed_without_them() {
    let tool = prepared("ask_agents").await;
    let port = Port::new();
    let input = json!({"do": "request", "target": "coder", "input": 1});
    let mut call = invocation("run", &input, None);
    let granted = Arc::clone(&port);
    call.agents = Some(granted);
    let (report, recording) = recorded(&tool, call).await;
    assert!(
        matches!(report.outcome, Ok(Outcome::Output(_))),
        "{:?}",
        report.outcome
    );
    assert_eq!(port.take().len(), 1);
    let replay = replayed(&tool, &recording).await;
    assert_eq!((replay.end, replay.divergence), (ReplayEnd::Finished, None));
    assert!(port.take().is_empty());
}

#[tokio::test]
async fn polls_and_cancels_are_recorded_and_replayed() {
    let tool = prepared("pending").await;
    let work = Work::new();
    let handle = || "next:job-2".to_owned();
    let mut call = invocation("run", &nothing(), Some(&work));
    call.operation = Arc::new(Operation::Poll { handle: handle() });
    let (report, _) = record_and_replay(&tool, call.clone()).await;
    assert_eq!(
        report.outcome.unwrap(),
        Outcome::Pending("job-2".to_owned())
    );
    call.operation = Arc::new(Operation::Cancel { handle: handle() });
    let (report, recording) = record_and_replay(&tool, call).await;
    assert_eq!(report.usage.bytes_written, handle().len() as u64);
    assert!(!recording.calls.is_empty());
}

#[tokio::test]
async fn a_recorded_call_is_denied_what_it_was_not_granted() {
    let tool = prepared("fetch").await;
    let input = json!({"url": "http://127.0.0.1:1/"});
    let call = invocation("run", &input, None);
    let plain = tool.call(call.clone()).await;
    let (report, _) = record_and_replay(&tool, call).await;
    assert!(!plain.usage.denials.is_empty());
    assert_eq!(report.usage.denials, plain.usage.denials);
    assert_eq!(report.just_denied, plain.just_denied);
}

#[tokio::test]
async fn an_observer_sees_each_host_call_and_can_end_the_replay() {
    let tool = prepared("file-system").await;
    let work = work_with(&[("a.txt", "hi")]);
    let input = json!({"path": "a.txt"});
    let (_, recording) = recorded(&tool, invocation("read", &input, Some(&work))).await;
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let mut options = ReplayOptions::default();
    let noted = Arc::clone(&seen);
    options.on_call = Some(Box::new(move |call| {
        noted.lock().unwrap().push(call.index);
        match call.index {
            2 => ReplayStep::Stop,
            _ => ReplayStep::Continue,
        }
    }));
    let replay = tool.replay(&recording, options).await.unwrap();
    assert_eq!(replay.end, ReplayEnd::Stopped);
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2]);
}
