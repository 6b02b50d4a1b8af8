//! What the host keeps of failed calls by itself.

use super::*;

/// The recordings in the directory of the only instance beneath `state`.
fn kept(terminal: &Terminal) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![terminal.path("state")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "call") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn call(terminal: &Terminal, tool: &str, args: &str, options: &[&str]) -> Ran {
    let mut command = terminal.toolhost(["call"]);
    command.arg(examples()).args([tool, "--args", args]);
    command.arg("--state-root").arg(terminal.path("state"));
    command.arg("--workdir").arg(terminal.path("D"));
    Ran::of(command.args(options))
}

#[test]
fn a_failed_call_leaves_one_recording_and_the_note_names_it_once() {
    use std::os::unix::fs::PermissionsExt;

    let terminal = Terminal::new();
    let missing = r#"{"path":"nowhere.txt"}"#;
    let ran = call(&terminal, "file-system__read", missing, &[]).exits(1);
    let kept = kept(&terminal);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let path = kept[0].to_string_lossy().into_owned();
    assert_eq!(ran.stderr.matches(&path).count(), 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("run again with --record FILE to replay it"),
        "{ran:?}"
    );
    assert!(path.contains("/failed/"), "{path}");
    let mode = fs::metadata(&kept[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let lines = lines(&kept[0]);
    let (header, end) = (&lines[0], lines.last().unwrap());
    assert_eq!(header["detail"], "summary");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(header["operation"]["input"], missing);
    assert_eq!(end["result"], ran.json());
    replay(&terminal, &examples(), &kept[0], &[]).fails(2, "summary without host calls");
    // A recording that is compared with itself does not differ.
    let mut command = terminal.toolhost(["replay", "--diff"]);
    Ran::of(command.arg(&kept[0]).arg(&kept[0])).exits(0);
}

#[test]
fn with_usage_the_path_is_a_member_of_the_json_in_place_of_the_note() {
    let terminal = Terminal::new();
    let fails = r#"{"length":3}"#;
    let ran = call(&terminal, "text__fail", fails, &["--usage"]).exits(1);
    let path = kept(&terminal)[0].to_string_lossy().into_owned();
    assert_eq!(ran.json()["recording"], path);
    assert_eq!(ran.stderr, "");
    let ran = call(&terminal, "text__fail", fails, &["--quiet"]).exits(1);
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.json().get("recording"), None);
}

#[test]
fn a_call_that_succeeds_or_is_refused_leaves_nothing() {
    let terminal = Terminal::new();
    call(&terminal, "text__upper", r#"{"text":"hi"}"#, &[]).exits(0);
    let refused = call(&terminal, "text__upper", "{}", &[]).exits(1);
    assert_eq!(refused.stderr, "");
    assert_eq!(kept(&terminal), Vec::<PathBuf>::new());
}

#[test]
fn twenty_five_failed_calls_leave_the_newest_twenty() {
    let terminal = Terminal::new();
    for length in 1..=25 {
        let args = json!({"length": length}).to_string();
        call(&terminal, "text__fail", &args, &[]).exits(1);
    }
    let kept = kept(&terminal);
    assert_eq!(kept.len(), 20, "{kept:?}");
    let lengths: Vec<String> = kept
        .iter()
        .map(|path| {
            lines(path)[0]["operation"]["input"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let expected: Vec<String> = (6..=25)
        .map(|length| json!({"length": length}).to_string())
        .collect();
    assert_eq!(lengths, expected);
}
