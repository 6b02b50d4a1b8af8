//! Recordings that are replayed, compared, and made test cases.

use super::*;

/// Files of the workdir, a tool and arguments.
type Call = (&'static [(&'static str, &'static str)], &'static str, Value);

/// Calls of the examples in a language, with their bundle.
fn calls_of_examples() -> Vec<(PathBuf, Vec<Call>)> {
    let csv: &[(&str, &str)] = &[("log.csv", "time|level\n1|info\n2|error\n3|info\n")];
    vec![
        (
            examples(),
            vec![
                (&[], "text__upper", json!({"text": "hi"})),
                (&[], "text__fail", json!({"length": 5, "code": "MINE"})),
                (&[], "echo__context", json!({})),
                (
                    &[("a.txt", "one\n")],
                    "file-system__read",
                    json!({"path": "a.txt"}),
                ),
                (&[], "file-system__read", json!({"path": "missing.txt"})),
                (
                    &[],
                    "file-system__write",
                    json!({"path": "n/b.txt", "content": "x"}),
                ),
                (
                    &[("d/a.txt", "1"), ("d/e/b.txt", "2")],
                    "file-system__list",
                    json!({"path": "d", "recursive": true}),
                ),
            ],
        ),
        (
            root("guest-examples/typescript/text-transform"),
            vec![
                (
                    &[],
                    "text-transform__case",
                    json!({"text": "grüße", "to": "upper"}),
                ),
                (
                    &[("a.txt", "abc")],
                    "text-transform__case",
                    json!({"path": "a.txt", "to": "upper"}),
                ),
                (
                    &[],
                    "text-transform__case",
                    json!({"path": "missing.txt", "to": "upper"}),
                ),
            ],
        ),
        (
            root("guest-examples/python/csv-stats"),
            vec![
                (
                    csv,
                    "csv-stats__count",
                    json!({"path": "log.csv", "by": "level", "limit": 1}),
                ),
                (
                    csv,
                    "csv-stats__count",
                    json!({"path": "log.csv", "by": "none"}),
                ),
                (
                    &[],
                    "csv-stats__count",
                    json!({"path": "missing.csv", "by": "level"}),
                ),
            ],
        ),
    ]
}

#[test]
fn calls_in_rust_typescript_and_python_replay_to_the_same_result_and_become_cases_that_pass() {
    for (bundle, calls) in calls_of_examples() {
        let built = bundle.join(".toolhost");
        if !built.exists() {
            eprintln!("NOT TESTED: {} is not built", bundle.display());
            continue;
        }
        for (files, tool, args) in calls {
            let terminal = Terminal::new();
            for (path, content) in files {
                terminal.write(&format!("D/{path}"), content);
            }
            let (ran, file) = record(&terminal, &bundle, tool, &args);
            let result = ran.json();
            // The files are gone: the replay has the answers of the recording.
            fs::remove_dir_all(terminal.path("D")).unwrap();
            let replayed = replay(&terminal, &bundle, &file, &["--json"])
                .exits(0)
                .json();
            assert_eq!(replayed["same"], true, "{tool}: {replayed}");
            assert_eq!(replayed["component"]["changed"], false);
            assert_eq!(replayed["result"], replayed["recorded"]);
            if result["status"] == "ok" {
                assert_eq!(replayed["result"]["value"], result["output"], "{tool}");
            }
            let human = replay(&terminal, &bundle, &file, &[]).exits(0);
            assert!(human.stdout.contains(" did the same: "), "{human:?}");

            // A copy of the bundle, so that the case is not written into the repository.
            let copy = terminal.path("bundle");
            copy_bundle(&bundle, &copy);
            let from = |options: &[&str]| {
                let mut command = terminal.toolhost(["test"]);
                command.arg(&copy).arg("--from").arg(&file);
                Ran::of(command.args(options)).exits(0)
            };
            let printed = from(&["--list"]);
            assert!(!copy.join("tests").exists());
            let (_, export) = tool.split_once("__").unwrap();
            let case = copy.join(format!("tests/recorded-{export}.yaml"));
            let ran = from(&[]);
            assert_eq!(fs::read_to_string(&case).unwrap(), printed.stdout);
            assert!(ran.stderr.contains("the case is in "), "{ran:?}");
            let mut test = terminal.toolhost(["test", "--no-generated"]);
            let ran = Ran::of(test.arg(&copy)).exits(0);
            assert!(ran.stdout.contains("1 case: 1 passed"), "{ran:?}");

            // Another one does not replace it.
            fs::write(&case, "mine").unwrap();
            fs::remove_file(&case).unwrap();
            fs::write(&case, printed.stdout.replace("recorded call", "kept")).unwrap();
            from(&[]);
            assert!(fs::read_to_string(&case).unwrap().contains("kept"));
            assert!(
                copy.join(format!("tests/recorded-{export}-2.yaml"))
                    .exists()
            );
        }
    }
}

/// Copies the manifest, the sources and the components of a bundle, without its cases.
fn copy_bundle(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_left_out =
            ["tests", "target", "node_modules", "base", "any-language"].contains(&&*name);
        if path.is_file() {
            fs::copy(&path, to.join(name)).unwrap();
        } else if path.is_dir() && !is_left_out {
            copy_bundle(&path, &to.join(name));
        }
    }
}

#[test]
fn a_changed_component_diverges_at_a_named_host_call() {
    let terminal = Terminal::new();
    let before = probe(&terminal, "before", "list_dir", "run");
    let after = probe(&terminal, "after", "look_at_environment", "run");
    let (ran, file) = record(&terminal, &before, "probe__run", &json!({}));
    assert_eq!(ran.code.map(|code| code < 2), Some(true), "{ran:?}");
    replay(&terminal, &before, &file, &[]).exits(0);

    let ran = replay(&terminal, &after, &file, &[]).exits(1);
    assert!(
        ran.stderr
            .contains("note: the component has changed since: "),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("probe__run diverged at host call "),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("\n  expected ") && ran.stdout.contains("\n  actual "),
        "{ran:?}"
    );
    let json = replay(&terminal, &after, &file, &["--json"])
        .exits(1)
        .json();
    assert_eq!(
        (&json["same"], &json["component"]["changed"]),
        (&json!(false), &json!(true))
    );
    let divergence = &json["divergence"];
    assert!(divergence["index"].is_u64(), "{divergence}");
    assert_ne!(divergence["expected"], divergence["actual"]);
}

#[test]
fn a_replay_needs_the_tool_of_the_recording() {
    let terminal = Terminal::new();
    let bundle = probe(&terminal, "bundle", "echo_raw", "run");
    let (ran, file) = record(
        &terminal,
        &examples(),
        "text__upper",
        &json!({"text": "hi"}),
    );
    ran.exits(0);
    let ran =
        replay(&terminal, &bundle, &file, &[]).fails(2, "the bundle has no tool 'text__upper'");
    assert!(ran.stderr.contains("hint: Pass --bundle"), "{ran:?}");
}

#[test]
fn each_step_is_printed_without_a_terminal_and_is_a_line_of_json_with_json() {
    let terminal = Terminal::new();
    terminal.write("D/a.txt", "one two\n");
    let args = json!({"path": "a.txt"});
    let (ran, file) = record(&terminal, &examples(), "file-system__read", &args);
    ran.exits(0);
    let recorded = lines(&file);
    let calls: Vec<&Value> = recorded
        .iter()
        .filter(|line| line.get("index").is_some())
        .collect();
    assert!(!calls.is_empty());

    let ran = replay(&terminal, &examples(), &file, &["--step"]).exits(0);
    let opens = ran
        .stdout
        .lines()
        .find(|line| line.contains("descriptor.open-at("));
    assert!(opens.unwrap().contains("\"a.txt\""), "{ran:?}");
    assert!(ran.stdout.contains("\"one two"), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), calls.len() + 1, "{ran:?}");

    let ran = replay(&terminal, &examples(), &file, &["--step", "--json"]).exits(0);
    let printed: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (report, printed) = printed.split_last().unwrap();
    assert_eq!(printed.iter().collect::<Vec<_>>(), calls);
    assert_eq!(report["hostCalls"], calls.len());
}

#[test]
fn two_recordings_are_compared_and_the_first_host_call_that_differs_is_named() {
    let terminal = Terminal::new();
    terminal.write("D/a.txt", "one");
    terminal.write("D/b.txt", "two");
    let recorded = |path: &str| {
        let args = json!({"path": path});
        let (ran, file) = record(&terminal, &examples(), "file-system__read", &args);
        ran.exits(0);
        let kept = terminal.path(&format!("{path}.call"));
        fs::rename(file, &kept).unwrap();
        kept
    };
    let (left, right) = (recorded("a.txt"), recorded("b.txt"));
    let diff = |left: &Path, right: &Path, options: &[&str]| {
        let mut command = terminal.toolhost(["replay", "--diff"]);
        Ran::of(command.arg(left).arg(right).args(options))
    };
    let same = diff(&left, &left, &[]).exits(0);
    assert_eq!(same.stdout, "the recordings do not differ\n");
    let ran = diff(&left, &right, &[]).exits(1);
    assert!(
        ran.stdout
            .contains(r#"arguments.path: "a.txt" became "b.txt""#),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains(" is the first that differs: the arguments of "),
        "{ran:?}"
    );
    let json = diff(&left, &right, &["--json"]).exits(1).json();
    assert_eq!(json["same"], false);
    assert_eq!(json["hostCall"]["what"], "arguments");
    let ran = terminal.run(["replay", "--diff", "a.call"]).exits(2);
    assert!(ran.stderr.contains("Usage: toolhost replay"), "{ran:?}");
}
