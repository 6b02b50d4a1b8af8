//! The programs of the pages, run over the base tools.

use serde_json::{Value, json};

use super::pages::snippets;
use crate::script::copy_tool;
use crate::terminal::{Ran, Terminal};

/// Pages with programs, in their order: the language, the arguments, and what a program returns.
fn programs() -> Vec<(&'static str, &'static str, Value, Value)> {
    let word = json!({"word": "ERROR"});
    let paths = json!({"paths": ["one.json", "two.json"]});
    vec![
        ("docs/scripts.md", "js", json!({}), json!(2)),
        ("docs/base-tools.md", "js", word, json!(2)),
        ("docs/base-tools.md", "python", paths, json!(7)),
    ]
}

#[test]
fn each_program_over_tools_returns_what_it_says() {
    let terminal = Terminal::new();
    let tools = [
        ("base", "file-system"),
        ("base", "json-query"),
        ("typescript/javascript", "javascript"),
        ("python/python", "python"),
    ];
    let mut documents = Vec::new();
    for (folder, tool) in tools {
        match copy_tool(folder, tool, &terminal.path("here")) {
            Some(document) => documents.push(document),
            None => return,
        }
    }
    terminal.write("here/goondan.yaml", documents.join("---\n"));
    for (file, text) in [
        ("logs/a.txt", "ERROR one"),
        ("logs/b.txt", "fine"),
        ("logs/c.txt", "ERROR two"),
        ("one.json", "{\"total\": 3}"),
        ("two.json", "{\"total\": 4}"),
    ] {
        terminal.write(&format!("work/{file}"), text);
    }
    let mut pages: Vec<&str> = programs().iter().map(|(page, ..)| *page).collect();
    pages.dedup();
    let is_program = |language: &str| matches!(language, "js" | "python");
    let written = pages.iter().flat_map(|page| snippets(page));
    let mut written = written.filter(|snippet| is_program(&snippet.language));
    for (page, language, args, expected) in programs() {
        let program = written.next().unwrap();
        assert_eq!(
            (program.page.as_str(), program.language.as_str()),
            (page, language)
        );
        let extension = if language == "js" { "js" } else { "py" };
        let file = terminal.write(&format!("here/program.{extension}"), &program.text);
        let mut command = terminal.toolhost(["script"]);
        command.arg(&file).arg(".");
        command.arg("--workdir").arg(terminal.path("work"));
        command.args(["--args", &args.to_string()]);
        let ran = Ran::of(&mut command).exits(0);
        assert_eq!(ran.json(), expected, "{page}:{}", program.line);
    }
    let more = written.next().map(|program| program.line);
    assert_eq!(more, None, "a program without a result in this test");
}
