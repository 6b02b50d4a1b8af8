use serde_json::json;
use toolhost_contract::{
    Answer, ExportName, Operation, RecordedComponent, RecordedEngine, RecordedLimits,
    RecordedOutcome, RecordingEnd, ToolName,
};

use super::super::call_recording::RecordedGrants;
use super::*;

/// A recording with two host calls and a list of bytes.
pub(in crate::recording) fn sample() -> CallRecording {
    let blob = HEXLOWER.encode(&Sha256::digest(b"one two\n"));
    let call = |index, arguments| HostCall {
        index,
        function: "wasi:filesystem/types@0.2.6#[method]descriptor.read".to_owned(),
        arguments,
        answer: Answer::Returned(json!({"ok": [{"blob": blob}, true]})),
    };
    CallRecording {
        tool: ToolName::parse("notes__count").unwrap(),
        recorded_at: "2026-11-23T23:00:00.000Z".to_owned(),
        grants: RecordedGrants {
            workdir: "read-write".to_owned(),
            env: vec!["TOKEN".to_owned()],
            http: None,
            credentials: Vec::new(),
            agents: false,
            tools: Vec::new(),
        },
        result: json!({"toolCallId": "call_1", "toolName": "notes__count", "status": "ok", "output": {"lines": 1}}),
        recording: Recording {
            version: RECORDING_VERSION,
            component: RecordedComponent {
                sha256: "ab".repeat(32),
                imports: vec!["wasi:filesystem/types@0.2.6".to_owned()],
            },
            engine: RecordedEngine {
                toolhost: "0.1.0".to_owned(),
                architecture: "x86_64".to_owned(),
            },
            operation: Operation::Handler {
                name: ExportName::parse("count").unwrap(),
                input: json!({"path": "a.txt"}).to_string(),
            },
            context: json!({"agentName": "coder", "turnId": "turn"}),
            limits: RecordedLimits {
                deadline_ms: 30_000,
                memory_bytes: 1,
                table_elements: 1,
                instances: 1,
                handles: 1,
                hostcall_bytes: 1,
                output_bytes: 1,
                json_depth: 1,
                json_values: 1,
            },
            policy_sha256: "cd".repeat(32),
            calls: vec![call(0, vec![json!(1)]), call(1, vec![json!("가\u{2028}")])],
            blobs: [(blob.clone(), BASE64.encode(b"one two\n"))].into(),
            outcome: RecordedOutcome::Output {
                value: json!({"lines": 1}),
            },
            usage: json!({"wallMs": 1.5}),
            end: RecordingEnd::Complete,
        },
        detail: Detail::Full,
    }
}

fn short() -> CallRecording {
    let mut short = sample();
    short.recording.calls.clear();
    short.recording.blobs.clear();
    short.detail = Detail::Summary;
    short
}

fn parse(text: &str) -> Result<CallRecording, RecordingError> {
    CallRecording::parse(text.as_bytes(), "a.call")
}

fn text_of(recording: &CallRecording) -> String {
    String::from_utf8(recording.to_bytes()).unwrap()
}

#[test]
fn a_recording_that_is_written_and_read_is_the_same() {
    for recording in [sample(), short()] {
        let text = text_of(&recording);
        assert!(!text.contains('\u{2028}'), "{text}");
        assert_eq!(parse(&text).unwrap(), recording);
    }
    assert_eq!(text_of(&sample()).lines().count(), 5);
}

#[test]
fn a_file_that_was_cut_is_refused_wherever_it_was_cut() {
    let text = text_of(&sample());
    for at in 0..text.len() {
        let Some(cut) = text.get(..at) else { continue };
        let error = parse(cut).unwrap_err();
        let in_first_line = !cut.contains('\n');
        assert_eq!(
            matches!(error, RecordingError::NotARecording { .. }),
            in_first_line,
            "{at}: {error}"
        );
        assert!(
            in_first_line || matches!(error, RecordingError::Cut { .. }),
            "{at}: {error}"
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    let cut = format!("{}\n", lines.get(..3).unwrap().join("\n"));
    let error = parse(&cut).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.call was cut: it ends after line 3, without the line that ends a recording"
    );
    assert!(error.help().contains("again"));
}

#[test]
fn a_recording_that_reached_its_limit_is_read_with_its_end_mark() {
    let mut recording = sample();
    recording.recording.end = RecordingEnd::CutAtLimit { limit: 64 << 20 };
    assert_eq!(parse(&text_of(&recording)).unwrap(), recording);
}

#[test]
fn another_version_is_refused_by_its_number_before_the_rest_is_read() {
    let error = parse("{\"format\":\"toolhost.call\",\"version\":7,\"new\":1}\n").unwrap_err();
    assert_eq!(
        error,
        RecordingError::Version {
            file: "a.call".to_owned(),
            found: 7
        }
    );
    assert!(error.to_string().contains("version 7"), "{error}");
    assert!(error.help().contains("newer"));
}

#[test]
fn each_change_of_a_file_is_an_error_that_names_the_line() {
    let text = text_of(&sample());
    let check = |from: &str, to: &str, line: usize, expected: &str| {
        let bent = text.replacen(from, to, 1);
        assert_ne!(bent, text, "{from}");
        let error = parse(&bent).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a.call:{line}: ")), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    check("\"tool\":", "\"tole\":", 1, "tole");
    check("\"deadlineMs\":30000", "\"deadlineMs\":-1", 1, "-1");
    check("b25lIH", "b25lIX", 2, "SHA-256");
    check("b25lIH", "!!!!!!", 2, "base64");
    check("{\"index\":0", "{\"index\":3", 3, "host call 0 is missing");
    check("{\"index\":1", "{\"index\":1,\"x\":1", 4, "x");
    check(
        "{\"index\":1",
        "{\"what\":1",
        4,
        "a line of a recording is not",
    );
    check("{\"index\":1", "{\"index\"", 4, "not valid JSON");
    check(
        "\"hostCalls\":2",
        "\"hostCalls\":3",
        5,
        "3 host calls, but 2 lines",
    );
    let more = format!("{text}{{\"index\":2}}\n");
    let error = parse(&more).unwrap_err().to_string();
    assert!(error.contains("a.call:6: a line follows"), "{error}");
}

#[test]
fn a_name_that_is_none_is_refused_where_the_file_is_read() {
    let text = text_of(&sample());
    for (from, to, says) in [
        (r#""name":"count""#, r#""name":"x/../../../evil""#, "evil"),
        (r#""name":"count""#, r#""name":"..""#, ".."),
        (
            r#""tool":"notes__count""#,
            r#""tool":"notes__../count""#,
            "'../count'",
        ),
        (
            r#""tool":"notes__count""#,
            r#""tool":"/etc/passwd""#,
            "/etc/passwd",
        ),
    ] {
        let bent = text.replacen(from, to, 1);
        assert_ne!(bent, text, "{from}");
        let error = parse(&bent).unwrap_err().to_string();
        assert!(
            error.starts_with("a.call:1: ") && error.contains(says),
            "{error}"
        );
    }
}

#[test]
fn a_small_file_of_many_values_is_refused_before_they_are_parsed() {
    let text = text_of(&sample());
    let with = |text: &str, from: &str, count: usize| {
        let many = format!("\"arguments\":[[{}0]]", "[],".repeat(count));
        let bent = text.replacen(&format!("\"arguments\":[{from}]"), &many, 1);
        assert_ne!(bent, text);
        bent
    };
    let refused = |text: &str, line: usize| {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a.call:{line}: ")), "{error}");
        assert!(error.contains("JSON values"), "{error}");
    };
    refused(&with(&text, "1", 400_000), 3);
    // What all lines have together counts.
    let half = with(&text, "1", 170_000);
    assert!(parse(&half).is_ok());
    refused(&with(&half, r#""가\u2028""#, 170_000), 4);
}

#[test]
fn what_is_no_recording_is_refused_by_its_first_line() {
    for text in [
        "",
        "\n",
        "hello\n",
        "[]\n",
        "{}\n",
        "{\"format\":\"x\",\"version\":1}\n",
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            matches!(error, RecordingError::NotARecording { .. }),
            "{text}: {error}"
        );
        assert!(error.help().contains("--record FILE"));
    }
}

#[test]
fn a_summary_has_no_host_calls() {
    let summary = text_of(&sample()).replacen("\"full\"", "\"summary\"", 1);
    let error = parse(&summary).unwrap_err().to_string();
    assert!(error.contains("a line of a recording"), "{error}");
}

#[test]
fn recordings_are_compared_by_arguments_component_policy_and_host_calls() {
    let left = sample();
    assert!(left.compare(&left).is_same());
    let mut right = left.clone();
    right.recorded_at = "2027-01-01T00:00:00.000Z".to_owned();
    right.recording.usage = json!({});
    right.recording.context = json!({"agentName": "coder", "turnId": "other"});
    assert!(left.compare(&right).is_same());

    right.recording.component.sha256 = "ef".repeat(32);
    right.recording.limits.deadline_ms = 5;
    right.grants.env.clear();
    right.recording.operation = Operation::Handler {
        name: ExportName::parse("count").unwrap(),
        input: json!({"path": "b.txt"}).to_string(),
    };
    right.recording.calls[1].answer = Answer::Returned(json!({"err": "no-entry"}));
    let compared = left.compare(&right);
    let what: Vec<&str> = compared.differences.iter().map(|one| &*one.what).collect();
    assert_eq!(
        what,
        [
            "component.sha256",
            "arguments.path",
            "grants.env",
            "limits.deadlineMs"
        ]
    );
    let first = compared.host_call.unwrap();
    assert_eq!((first.index, first.what), (1, "answer"));
    assert_eq!(first.right, json!({"returned": {"err": "no-entry"}}));

    right.recording.calls.truncate(1);
    let ends = left.compare(&right).host_call.unwrap();
    assert_eq!((ends.index, ends.what), (1, "end"));
    assert!(left.compare(&short()).not_compared.is_some());
}

#[test]
fn two_equal_calls_do_not_differ() {
    let calls = |function: &str, argument: u64, answer: Value| {
        let mut recording = sample();
        recording.recording.calls = vec![HostCall {
            index: 0,
            function: function.to_owned(),
            arguments: vec![json!(argument)],
            answer: Answer::Returned(answer),
        }];
        recording
    };
    let stat = |size: u64, time: u64| json!({"ok": {"type": "regular-file", "size": size, "data-access-timestamp": {"some": {"seconds": time}}}});
    let clock = "wasi:clocks/monotonic-clock@0.2.6#subscribe-instant";
    assert!(
        calls(clock, 1, json!(5))
            .compare(&calls(clock, 2, json!(6)))
            .is_same()
    );
    for function in [
        "wasi:clocks/wall-clock@0.2.0#now",
        "wasi:random/random@0.2.6#get-random-bytes",
        "wasi:io/poll@0.2.6#poll",
        "wasi:filesystem/types@0.2.6#[method]descriptor.metadata-hash-at",
    ] {
        let (left, right) = (calls(function, 1, json!(5)), calls(function, 1, json!(6)));
        assert!(left.compare(&right).is_same(), "{function}");
    }
    let random = "wasi:random/random@0.2.6#get-random-bytes";
    let differ = |left: CallRecording, right: CallRecording| {
        left.compare(&right).host_call.map(|call| call.what)
    };
    let other = calls(random, 2, json!(5));
    assert_eq!(differ(calls(random, 1, json!(5)), other), Some("arguments"));
    let stat_at = "wasi:filesystem/types@0.2.6#[method]descriptor.stat-at";
    let of = |size, time| calls(stat_at, 1, stat(size, time));
    assert_eq!(differ(of(1, 5), of(1, 6)), None);
    assert_eq!(differ(of(1, 5), of(2, 5)), Some("answer"));
    let read = "wasi:filesystem/types@0.2.6#[method]descriptor.read";
    let of = |answer: u64| calls(read, 1, json!(answer));
    assert_eq!(differ(of(1), of(2)), Some("answer"));
}
