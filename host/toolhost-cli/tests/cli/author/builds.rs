//! `toolhost build`, with the real compilers. Each test takes a core and much memory: nextest
//! runs them one at a time.

mod watch;

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use super::Desk;
use crate::terminal::{Ran, root};

/// Whether a program is installed; prints a note if it is not.
#[expect(clippy::print_stderr, reason = "prints what was skipped")]
fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("NOT TESTED: {program} is not installed");
    }
    found
}

/// Creates, builds, checks, tests and calls a tool.
fn new_and_call(desk: &Desk, lang: &str) {
    desk.run(&["new", lang, "--lang", lang]).exits(0);
    let ran = desk.run(&["build", lang]).exits(0);
    let component = format!("{lang}: .toolhost/{lang}.wasm, ");
    assert!(
        ran.stdout.starts_with(&component) && ran.stdout.contains(", built in "),
        "{ran:?}"
    );
    let ran = desk.run(&["check", lang]).exits(0);
    assert!(
        ran.stdout
            .contains("goondan.yaml: ok: 1 tool, 1 export, 0 agents"),
        "{ran:?}"
    );
    desk.run(&["test", lang]).exits(0);
    fs::write(desk.terminal.path("D/a.txt"), "one two\nthree\n").unwrap();
    let tool = format!("{lang}__count");
    let result = desk.call(lang, &tool, &json!({"path": "a.txt"}));
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(
        (&result["output"]["lines"], &result["output"]["words"]),
        (&json!(2), &json!(3)),
        "{result}"
    );
    let result = desk.call(lang, &tool, &json!({"path": "nowhere.txt"}));
    assert_eq!(result["status"], "error", "{result}");
    assert_ne!(result["error"]["code"], "E_TOOL_TRAP", "{result}");

    // A component that is up to date is kept, and no program runs for it.
    let ran = Ran::of(desk.toolhost(&["build", lang]).env("PATH", "/nowhere")).exits(0);
    assert!(ran.stdout.ends_with(" is up to date\n"), "{ran:?}");
}

/// Breaks a source: other commands refuse the tool, and a build names the error and keeps the component.
fn break_and_mend(desk: &Desk, lang: &str, source: &str, good: &str, bad: &str) {
    let component = format!("{lang}/.toolhost/{lang}.wasm");
    let before = fs::read(desk.path(&component)).unwrap();
    let file = format!("{lang}/{source}");
    desk.edit(&file, good, bad);
    let text = desk.read(&file);
    let line = text.lines().position(|line| line.contains(bad)).unwrap() + 1;

    let ran = desk
        .run(&["call", lang, &format!("{lang}__count")])
        .exits(2);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("has changed since it was built"),
        "{ran:?}"
    );
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("toolhost build {lang}")), "{ran:?}");

    let ran = desk.run(&["build", lang]).exits(1);
    assert!(
        ran.stderr.contains(&format!("error: {source}:{line}:")),
        "{ran:?}"
    );
    assert_eq!(ran.stdout, "");
    assert_eq!(
        fs::read(desk.path(&component)).unwrap(),
        before,
        "the old one stays"
    );
    let answer = desk.run(&["build", lang, "--json"]).exits(1).json();
    assert_eq!(answer["ok"], false);
    let tool = &answer["tools"][0];
    assert_eq!(
        (&tool["state"], &tool["whose"]),
        (&json!("failed"), &json!("source")),
        "{answer}"
    );
    let fault = &tool["errors"][0];
    assert_eq!(
        (&fault["file"], &fault["line"]),
        (&json!(source), &json!(line)),
        "{answer}"
    );

    desk.edit(&file, bad, good);
    let answer = desk.run(&["build", lang, "--json"]).exits(0).json();
    assert_eq!(
        answer["tools"][0]["state"], "current",
        "the sources are what they were: {answer}"
    );
    let names: Vec<_> = fs::read_dir(desk.path(&format!("{lang}/.toolhost")))
        .unwrap()
        .collect();
    let unfinished = |entry: &std::io::Result<fs::DirEntry>| {
        entry
            .as_ref()
            .is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"))
    };
    assert!(!names.iter().any(unfinished), "{names:?}");
}

/// Misspells an export: a build names it before its slow part, also if the component is up to date.
fn misspell_export(desk: &Desk, lang: &str) {
    let manifest = format!("{lang}/goondan.yaml");
    let without_exports = desk.read(&manifest);
    let exports = "\n  exports:\n    - name: cuont\n";
    desk.write(
        &manifest,
        &format!("{}{exports}", without_exports.trim_end()),
    );
    for words in [&["build", lang][..], &["build", lang, "--force"]] {
        let ran = desk.run(words).exits(1);
        let says = format!("export 'cuont' of tool {lang} has no handler: ");
        assert!(
            ran.stderr.contains(&format!("error: {manifest}:")) && ran.stderr.contains(&says),
            "{ran:?}"
        );
        assert!(
            ran.stderr.contains("hint: Did you mean 'count'?"),
            "{ran:?}"
        );
    }
    desk.write(&manifest, &without_exports);
    let answer = desk.run(&["build", lang, "--json"]).exits(0).json();
    assert_eq!(answer["tools"][0]["state"], "current", "{answer}");
}

/// Writes the exports into the manifest, changes the code, and finds the difference.
fn write_exports(desk: &Desk, lang: &str, source: &str) {
    let manifest = format!("{lang}/goondan.yaml");
    let before = desk.read(&manifest);
    let ran = desk.run(&["build", lang, "--write-exports"]).exits(0);
    assert!(ran.stderr.contains("wrote the exports of tool"), "{ran:?}");
    let written = desk.read(&manifest);
    assert!(written.starts_with(before.trim_end()), "{written}");
    for line in [
        "    - name: count\n",
        "      parameters: # from the code\n",
        "      outputSchema: # from the code\n",
    ] {
        assert!(written.contains(line), "{written}");
    }
    desk.run(&["build", lang, "--locked"]).exits(0);
    desk.edit(
        &format!("{lang}/{source}"),
        "Counts the lines",
        "Counts all lines",
    );
    let ran = desk.run(&["build", lang, "--locked"]).exits(1);
    for says in [
        "the exports of tool",
        "  | -      description: \"Counts the lines",
        "  | +      description: \"Counts all lines",
        "hint: Run `toolhost build` without --locked",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
    assert_eq!(desk.read(&manifest), written, "nothing is written");
    desk.run(&["build", lang]).exits(0);
    assert_eq!(
        desk.read(&manifest),
        written.replace("Counts the lines", "Counts all lines")
    );
    desk.run(&["check", lang]).exits(0);
    // A handler with another name takes the place of the one that is gone.
    let code = desk.read(&format!("{lang}/{source}"));
    desk.write(
        &format!("{lang}/{source}"),
        &code
            .replace("handlers! { count }", "handlers! { tally }")
            .replace("fn count(", "fn tally("),
    );
    desk.run(&["build", lang]).exits(0);
    let renamed = desk.read(&manifest);
    assert!(
        renamed.contains("- name: tally\n") && !renamed.contains("- name: count\n"),
        "{renamed}"
    );
    desk.write(&format!("{lang}/{source}"), &code);
    desk.edit(
        &format!("{lang}/{source}"),
        "Counts all lines",
        "Counts the lines",
    );
    desk.write(&manifest, &before);
    desk.run(&["build", lang]).exits(0);
}

/// Describes an argument that no schema can have. The build says so, and the next one is of the corrected source.
fn describe_wrongly(desk: &Desk) {
    let (good, bad) = (
        "    path: &str,",
        "    #[schemars(regex(pattern = \"(\"))]\n    path: &str,",
    );
    desk.edit("rust/src/lib.rs", good, bad);
    for words in [&["build", "rust"][..], &["build", "rust", "--force"]] {
        let ran = desk.run(words).exits(2);
        assert!(
            ran.stderr
                .contains("'(' at parameters.properties.path.pattern"),
            "{ran:?}"
        );
    }
    desk.edit("rust/src/lib.rs", bad, good);
    desk.run(&["build", "rust"]).exits(0);
    desk.run(&["check", "rust"]).exits(0);
}

/// Makes mistakes that serde and rustc do not know, or not well. The build says each at its line.
fn say_what_no_schema_says(desk: &Desk) {
    let source = desk.read("rust/src/lib.rs");
    let line_of = |text: &str, part: &str| {
        let before = text.split(part).next().unwrap();
        before.matches('\n').count() + 1
    };
    let check = |edits: &[(&str, &str)], expected: &[(&str, &str)]| {
        let mut text = source.clone();
        for (good, bad) in edits {
            assert_eq!(text.matches(good).count(), 1, "{text}");
            text = text.replace(good, bad);
        }
        desk.write("rust/src/lib.rs", &text);
        let ran = desk.run(&["build", "rust"]).exits(1);
        assert_eq!(
            ran.stderr
                .lines()
                .filter(|line| line.starts_with("error: "))
                .count(),
            expected.len(),
            "{ran:?}"
        );
        for (part, message) in expected {
            let place = format!("error: src/lib.rs:{}:", line_of(&text, part));
            let line = ran.stderr.lines().find(|line| line.contains(message));
            assert!(
                line.is_some_and(|line| line.starts_with(&place)),
                "{place} {ran:?}"
            );
        }
    };
    check(
        &[("handlers! { count }", "")],
        &[("fn count(", "the package has no `handlers!`")],
    );
    // What the sources alone tell is a note.
    let bound = "    #[schemars(range(min = 1))]\n    path: &str,";
    let text = source.replace("    path: &str,", bound);
    desk.write("rust/src/lib.rs", &text);
    let ran = desk.run(&["build", "rust"]).exits(0);
    let place = format!("src/lib.rs:{}:", line_of(&text, "#[schemars(range"));
    let mut lines = ran.stderr.lines();
    let says =
        |line: &str| line.contains("`range` has no effect on `&str`") && line.contains(&place);
    assert!(lines.any(says), "{ran:?}");
    check(
        &[(
            "handlers! { count }",
            "handlers! {\n    count,\n    counts,\n    count\n}",
        )],
        &[
            (
                "counts,\n    count\n",
                "`handlers!` lists `counts`, which is not a function with #[tool]",
            ),
            ("count\n}", "`handlers!` lists count twice"),
        ],
    );
    check(
        &[
            (
                "handlers! { count }",
                "handlers! {\n    count,\n    \"count\" => again,\n}",
            ),
            (
                "fn counts(",
                "fn again(_: &Context, _: toolhost_guest::Value) -> Result<(), ToolError> { Ok(()) }\n\nfn counts(",
            ),
        ],
        &[(
            "\"count\" => again",
            "`handlers!` lists another function of this name before",
        )],
    );
    check(
        &[(
            "    path: &str,",
            "    path: &str,\n    #[tool(default = 500)]\n    #[schemars(range(max = 100))]\n    _limit: u32,",
        )],
        &[(
            "_limit: u32",
            "_limit.default: the default does not fit: must be at most 100 but is 500",
        )],
    );
    desk.write("rust/src/lib.rs", &source);
}

/// Builds another tool, whose library has the same name, in the same target directory. Each gets its own component.
fn build_another(desk: &Desk) {
    desk.run(&["new", "other", "--lang", "rust"]).exits(0);
    let code = desk.read("other/src/lib.rs");
    let code = code
        .replace("handlers! { count }", "handlers! { tally }")
        .replace("fn count(", "fn tally(");
    desk.write("other/src/lib.rs", &code);
    desk.run(&["build", "other"]).exits(0);
    desk.run(&["build", "rust", "--force"]).exits(0);
    for (tool, listed) in [("rust", "rust__count"), ("other", "other__tally")] {
        let ran = desk.run(&["list", tool]).exits(0);
        assert!(ran.stdout.contains(listed), "{ran:?}");
    }
}

/// Adds a `requirements.txt` after the build, with a package that runs code in an encoding that pip would follow.
fn add_a_hidden_backend(desk: &Desk) {
    let canary = desk.path("canary");
    let backend = format!("open({canary:?}, 'w')\ndef build_wheel(*a): raise SystemExit(1)\n");
    desk.write("python/lib/evil.py", &backend);
    desk.write(
        "python/lib/pyproject.toml",
        "[build-system]\nrequires = []\nbuild-backend = \"evil\"\nbackend-path = [\".\"]\n",
    );
    let lib = desk.path("python/lib");
    let hidden = format!("# -*- coding: utf-7 -*-\nsix # +AAo-{}\n", lib.display());
    desk.write("python/requirements.txt", &hidden);
    let ran = desk.run(&["check", "python"]).exits(1);
    assert!(
        ran.stderr
            .contains("requirements.txt is new since it was built"),
        "{ran:?}"
    );
    // From its folder, where it also has modules with the names of those that the kit uses.
    for name in ["venv", "pip", "json", "componentize_py"] {
        desk.write(&format!("python/{name}.py"), &backend);
    }
    let mut build = desk.toolhost(&["build"]);
    let ran = Ran::of(build.current_dir(desk.path("python"))).exits(1);
    assert!(
        ran.stderr.contains("declares the encoding `utf-7`"),
        "{ran:?}"
    );
    assert!(!canary.exists());
    for name in [
        "venv.py",
        "pip.py",
        "json.py",
        "componentize_py.py",
        "requirements.txt",
    ] {
        fs::remove_file(desk.path("python").join(name)).unwrap();
    }
    desk.run(&["check", "python"]).exits(0);
}

#[test]
fn a_rust_tool_is_built_and_called() {
    let desk = Desk::new();
    new_and_call(&desk, "rust");
    misspell_export(&desk, "rust");
    write_exports(&desk, "rust", "src/lib.rs");
    describe_wrongly(&desk);
    say_what_no_schema_says(&desk);
    build_another(&desk);
    let (good, bad) = (
        "lines: text.lines().count()",
        "lines: text.lines().count()?",
    );
    break_and_mend(&desk, "rust", "src/lib.rs", good, bad);
    // A file that a guest may have written there is not part of the next build.
    desk.write(
        "rust/.toolhost/sdk/rust/build.rs",
        "compile_error!(\"run\");",
    );
    let answer = desk
        .run(&["build", "rust", "--force", "--json"])
        .exits(0)
        .json();
    assert_eq!(answer["tools"][0]["state"], "built", "{answer}");
    assert!(!desk.path("rust/.toolhost/sdk/rust/build.rs").exists());
    assert!(!desk.path("rust/target").exists());

    // As after a clone, and with code that its build writes.
    fs::remove_dir_all(desk.path("rust/.toolhost")).unwrap();
    desk.write(
        "rust/build.rs",
        "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
         std::fs::write(out + \"/made.rs\", \"// made\").unwrap();\n}\n",
    );
    let source = desk.read("rust/src/lib.rs");
    let made = "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n";
    desk.write("rust/src/lib.rs", &format!("{source}{made}"));
    for state in ["built", "current"] {
        let answer = desk.run(&["build", "rust", "--json"]).exits(0).json();
        assert_eq!(answer["tools"][0]["state"], state, "{answer}");
    }
    desk.write(
        "rust/src/lib.rs",
        &format!("extern crate leftpad;\n{source}"),
    );
    let ran = desk.run(&["build", "rust"]).exits(1);
    assert!(
        ran.stderr.contains("src/lib.rs:1:") && ran.stderr.contains("leftpad"),
        "{ran:?}"
    );
}

#[test]
fn a_typescript_tool_is_built_and_called() {
    if !is_installed("npm") {
        return;
    }
    let desk = Desk::new();
    new_and_call(&desk, "typescript");
    misspell_export(&desk, "typescript");
    let (good, bad) = ("chars: [...text]", "chars: = [...text]");
    break_and_mend(&desk, "typescript", "index.ts", good, bad);
}

#[test]
fn a_python_tool_is_built_and_called() {
    if !is_installed("python3") {
        return;
    }
    let desk = Desk::new();
    new_and_call(&desk, "python");
    misspell_export(&desk, "python");
    add_a_hidden_backend(&desk);
    // Found by parsing, and by running the module.
    for (good, bad) in [
        ("def count(", "def count(("),
        (
            "from typing import TypedDict",
            "from typing import Some, TypedDict",
        ),
    ] {
        break_and_mend(&desk, "python", "tool.py", good, bad);
    }
}

#[test]
fn handlers_that_are_not_written_out_are_read_from_the_component() {
    if !is_installed("npm") {
        return;
    }
    let desk = Desk::new();
    desk.run(&["new", "notes", "--lang", "typescript"]).exits(0);
    let source = desk.read("notes/index.ts");
    let made = "\nconst made = (name: string) => ({ [name]: handlers.count });\nObject.assign(handlers, made('more'));\n";
    desk.write("notes/index.ts", &format!("{source}{made}"));
    let manifest = desk.read("notes/goondan.yaml");
    let exports = "\n  exports:\n    - name: count\n";
    desk.write(
        "notes/goondan.yaml",
        &format!("{}{exports}", manifest.trim_end()),
    );
    let ran = desk.run(&["build", "notes"]).exits(0);
    assert!(
        ran.stderr
            .contains("also has handlers that are not exported: more")
            && ran
                .stderr
                .contains("hint: Add `- name: more` to spec.exports"),
        "{ran:?}"
    );
    desk.edit("notes/goondan.yaml", "name: count", "name: cuont");
    let ran = desk.run(&["build", "notes", "--force"]).exits(1);
    assert!(
        ran.stderr
            .contains("export 'cuont' of tool notes has no handler: ./index.ts has count, more"),
        "{ran:?}"
    );
}

#[test]
fn the_tool_in_the_specification_builds_unchanged() {
    if !is_installed("npm") {
        return;
    }
    // tool-spec-v2 §14.1
    let pages = fs::read_to_string(root("tests/fixtures/tool-spec-v2-examples.md")).unwrap();
    let (_, page) = pages.split_once("### 14.1").unwrap();
    let block = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let desk = Desk::new();
    desk.write("goondan.yaml", block("yaml"));
    desk.write("tools/file-system/index.ts", block("typescript"));
    desk.run(&["build"]).exits(0);
    desk.run(&["check"]).exits(0);

    let write = json!({"path": "notes/a.txt", "content": "안녕, otters"});
    let result = desk.call(".", "file-system__write", &write);
    let written = json!({"path": "/notes/a.txt", "size": 14, "written": true});
    assert_eq!(result["output"], written, "{result}");
    let file = fs::read_to_string(desk.terminal.path("D/notes/a.txt")).unwrap();
    assert_eq!(file, "안녕, otters");

    let read = json!({"path": "notes/a.txt", "maxBytes": 3});
    let result = desk.call(".", "file-system__read", &read);
    let expected =
        json!({"path": "/notes/a.txt", "size": 14, "truncated": true, "content": "안녕,"});
    assert_eq!(result["output"], expected, "{result}");

    let result = desk.call(".", "file-system__read", &json!({"path": "nowhere.txt"}));
    assert_eq!(result["status"], "error");
    assert_eq!(
        result["error"]["message"],
        "파일이 존재하지 않습니다: /nowhere.txt"
    );
    let result = desk.call(
        ".",
        "file-system__read",
        &json!({"path": "../../etc/passwd"}),
    );
    assert_eq!(result["status"], "error", "{result}");
}

#[test]
fn two_parallel_builds_leave_one_complete_component() {
    if !is_installed("npm") {
        return;
    }
    let desk = Desk::new();
    desk.run(&["new", "notes", "--lang", "typescript"]).exits(0);
    let start = || {
        let mut command = desk.toolhost(&["build", "notes", "--json"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()];
    let states = both.map(|child| {
        let output = child.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["ok"], true, "{answer}");
        answer["tools"][0]["state"].as_str().unwrap().to_owned()
    });
    let mut states: Vec<_> = states.iter().map(String::as_str).collect();
    states.sort_unstable();
    assert_eq!(
        states,
        ["built", "current"],
        "the second waits, and finds what the first made"
    );
    desk.run(&["check", "notes"]).exits(0);
}
