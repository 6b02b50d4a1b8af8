use serde_json::json;

use super::*;

const TYPES: &str = "wasi:filesystem/types@0.2.6#[method]";
const STREAMS: &str = "wasi:io/streams@0.2.6#[method]";

/// Makes a recording of these host calls: function, arguments and answer.
fn recording(calls: &[(String, Value, Value)]) -> CallRecording {
    let header = json!({
        "format": "toolhost.call", "version": 1, "detail": "full",
        "recordedAt": "2026-11-23T23:00:00.000Z", "tool": "notes__count",
        "component": {"sha256": "ab", "imports": []},
        "engine": {"toolhost": "0.1.0", "architecture": "x86_64"},
        "operation": {"kind": "handler", "name": "count", "input": "{\"path\":\"a.txt\"}"},
        "context": {"agentName": "coder", "turnId": "turn"},
        "grants": {"workdir": "read-write", "env": [], "agents": false},
        "limits": {"deadlineMs": 1, "memoryBytes": 1, "tableElements": 1, "instances": 1,
            "handles": 1, "hostcallBytes": 1, "outputBytes": 1, "jsonDepth": 1, "jsonValues": 1},
        "policySha256": "cd",
    });
    let mut lines = vec![header.to_string()];
    for (index, (function, arguments, answer)) in calls.iter().enumerate() {
        let answer = json!({"returned": answer});
        let call =
            json!({"index": index, "function": function, "arguments": arguments, "answer": answer});
        lines.push(call.to_string());
    }
    let output = json!({"lines": 1, "mark": "\u{202e}"});
    lines.push(
        json!({
            "end": {"kind": "complete"}, "hostCalls": calls.len(),
            "outcome": {"kind": "output", "value": output},
            "result": {"toolCallId": "c", "toolName": "notes__count", "status": "ok", "output": output},
            "usage": {},
        })
        .to_string(),
    );
    let text = lines.join("\n") + "\n";
    CallRecording::parse(text.as_bytes(), "a.call").unwrap()
}

fn bytes(content: &[u8]) -> Value {
    json!({"bytes": data_encoding::BASE64.encode(content)})
}

fn handle(number: u64) -> Value {
    json!({"handle": number})
}

/// `get-directories`, and an opened file for each path, with the handles 2, 3, …
fn opened(paths: &[(&str, &[&str])]) -> Vec<(String, Value, Value)> {
    let mut calls = vec![(
        "wasi:filesystem/preopens@0.2.6#get-directories".to_owned(),
        json!([]),
        json!([[handle(1), "/"]]),
    )];
    for (number, (path, flags)) in (2..).zip(paths) {
        calls.push((
            format!("{TYPES}descriptor.open-at"),
            json!([handle(1), [], path, flags, ["read"]]),
            json!({"ok": handle(number)}),
        ));
    }
    calls
}

fn files_of(calls: &[(String, Value, Value)]) -> (Vec<(String, Content)>, Vec<String>) {
    let fixtures = Fixtures::of(&recording(calls));
    let notes = fixtures.notes.clone();
    (fixtures.files(), notes)
}

#[test]
fn the_files_that_a_call_read_are_in_the_case_and_it_is_a_case_file() {
    let mut calls = opened(&[("./sub/../a.txt", &[]), ("b.bin", &[])]);
    calls.push((
        format!("{TYPES}descriptor.read-via-stream"),
        json!([handle(2), 0]),
        json!({"ok": handle(9)}),
    ));
    for part in ["one ", "two\n"] {
        calls.push((
            format!("{STREAMS}input-stream.blocking-read"),
            json!([handle(9), 4]),
            json!({"ok": bytes(part.as_bytes())}),
        ));
    }
    calls.push((
        format!("{TYPES}descriptor.read"),
        json!([handle(3), 10, 0]),
        json!({"ok": [bytes(&[0, 255]), true]}),
    ));
    let case = RecordedCase::of(&recording(&calls), "a.call").unwrap();
    assert_eq!(case.stem, "recorded-count");
    assert_eq!(case.notes, Vec::<String>::new());
    let expected = r#"# Made by `toolhost test --from a.call`.
- name: "recorded call of notes__count"
  tool: "notes__count"
  args: {"path":"a.txt"}
  context: {"agentName":"coder","turnId":"turn"}
  files:
    "a.txt": "one two\n"
    "b.bin": {base64: "AP8="}
  expect:
    output: {"lines":1,"mark":"\u202e"}
"#;
    assert_eq!(case.text, expected);
}

#[test]
fn what_the_call_itself_wrote_is_no_fixture() {
    let mut calls = opened(&[
        ("made.txt", &["create", "truncate"]),
        ("log.txt", &["create"]),
    ]);
    for descriptor in [2, 3] {
        calls.push((
            format!("{TYPES}descriptor.write"),
            json!([handle(descriptor), bytes(b"x"), 0]),
            json!({"ok": 1}),
        ));
        calls.push((
            format!("{TYPES}descriptor.read"),
            json!([handle(descriptor), 1, 0]),
            json!({"ok": [bytes(b"x"), false]}),
        ));
    }
    calls.push((
        format!("{TYPES}descriptor.create-directory-at"),
        json!([handle(1), "new"]),
        json!({"ok": null}),
    ));
    calls.push((
        format!("{TYPES}descriptor.stat-at"),
        json!([handle(1), [], "new"]),
        json!({"ok": {"type": "directory"}}),
    ));
    assert_eq!(files_of(&calls), (Vec::new(), Vec::new()));
}

#[test]
fn a_file_that_was_read_in_part_is_noted() {
    let mut calls = opened(&[("a.txt", &[]), ("b.txt", &[])]);
    calls.push((
        format!("{TYPES}descriptor.stat"),
        json!([handle(2)]),
        json!({"ok": {"type": "regular-file", "size": 100}}),
    ));
    calls.push((
        format!("{TYPES}descriptor.read"),
        json!([handle(2), 3, 0]),
        json!({"ok": [bytes(b"abc"), false]}),
    ));
    calls.push((
        format!("{TYPES}descriptor.read"),
        json!([handle(3), 3, 50]),
        json!({"ok": [bytes(b"abc"), false]}),
    ));
    let (files, notes) = files_of(&calls);
    let a = Content::File(format!("abc{}", " ".repeat(97)).into_bytes());
    let b = Content::File(Vec::new());
    assert_eq!(files, [("a.txt".to_owned(), a), ("b.txt".to_owned(), b)]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes.iter().all(|note| note.contains("did not read it")));
}

#[test]
fn the_entries_of_a_listed_directory_are_in_the_case() {
    let mut calls = opened(&[("dir", &["directory"])]);
    calls.push((
        format!("{TYPES}descriptor.read-directory"),
        json!([handle(2)]),
        json!({"ok": handle(3)}),
    ));
    for entry in [
        json!({"some": {"type": "regular-file", "name": "a"}}),
        json!({"some": {"type": "directory", "name": "b"}}),
        json!(null),
    ] {
        calls.push((
            format!("{TYPES}directory-entry-stream.read-directory-entry"),
            json!([handle(3)]),
            json!({"ok": entry}),
        ));
    }
    let (files, notes) = files_of(&calls);
    assert_eq!(
        files,
        [
            ("dir/a".to_owned(), Content::File(Vec::new())),
            ("dir/b".to_owned(), Content::Directory)
        ]
    );
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn a_path_out_of_the_workdir_is_no_fixture() {
    let calls = opened(&[("../secret", &[]), ("a/../../b", &[])]);
    assert_eq!(files_of(&calls).0, Vec::new());
}

/// What a case has of a recording in which files have sizes that nothing proves.
#[test]
fn the_files_of_a_case_have_a_total() {
    let names: Vec<String> = (0..3_000).map(|number| format!("{number:04}")).collect();
    let paths: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &[][..])).collect();
    let mut calls = opened(&paths);
    for number in 2..3_002 {
        calls.push((
            format!("{TYPES}descriptor.stat"),
            json!([handle(number)]),
            json!({"ok": {"type": "regular-file", "size": 1 << 20}}),
        ));
    }
    let (files, notes) = files_of(&calls);
    assert_eq!(files.len(), 8);
    assert_eq!(notes.len(), 9, "{notes:?}");
    assert!(notes[8].starts_with("2992 more are left out"), "{notes:?}");
    let (files, _) = files_of(&opened(&paths));
    assert_eq!(files.len(), 2_000);
}

#[test]
fn what_a_recording_names_again_and_again_is_looked_at_up_to_a_limit() {
    let mut calls = opened(&[("a.txt", &[])]);
    for _ in 0..100 {
        calls.push((
            format!("{TYPES}descriptor.read"),
            json!([handle(2), 1 << 20, 0]),
            json!({"ok": [{"blob": "one"}, false]}),
        ));
    }
    let mut recording = recording(&calls);
    let content = data_encoding::BASE64.encode(&[b'x'; 1 << 20]);
    recording.recording.blobs.insert("one".to_owned(), content);
    let fixtures = Fixtures::of(&recording);
    let note = &fixtures.notes[0];
    assert!(note.contains("from host call 66 on is left out"), "{note}");
    assert_eq!(fixtures.files().len(), 1);

    // Each is beneath the one before.
    let mut calls = opened(&[]);
    let name = "x".repeat(200);
    for number in 1..2_000 {
        calls.push((
            format!("{TYPES}descriptor.open-at"),
            json!([handle(number), [], name, ["directory"], ["read"]]),
            json!({"ok": handle(number + 1)}),
        ));
    }
    let (files, _) = files_of(&calls);
    let longest = files.iter().map(|(path, _)| path.len()).max();
    assert_eq!(longest, Some(4_019));
}
