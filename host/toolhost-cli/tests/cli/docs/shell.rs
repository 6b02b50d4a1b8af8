//! Commands in the pages: each line of a shell snippet, and each `toolhost …` in the text.

use std::fs;

use super::pages::{code_spans, pages, snippets_in};
use crate::terminal::{Terminal, root};

/// Programs that lines may begin with, beside `toolhost`.
const PROGRAMS: [&str; 17] = [
    "nats-server",
    "chmod",
    "claude",
    "gh",
    "sha256sum",
    "cargo",
    "cd",
    "cp",
    "echo",
    "mkdir",
    "node",
    "npm",
    "npx",
    "python3",
    "rustup",
    "uvx",
    "wkg",
];

/// The words of a line, up to a comment or another program; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('#' | '|' | '&' | '>', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The words after `toolhost` in a command that starts it with `uvx` or `npx`; none in others.
fn launched(words: &[String]) -> &[String] {
    let at = |word: &str| words.iter().rposition(|other| other == word);
    let start = at("uvx")
        .and(at("toolhost"))
        .or(at("npx").and(at("toolhost-cli")));
    start.map_or(&[], |start| &words[start + 1..])
}

/// Asserts that the binary knows the command and each option, without running the command.
fn check_toolhost(terminal: &Terminal, place: &str, words: &[String]) {
    let ran = terminal.run(words.iter().map(String::as_str).chain(["--help"]));
    assert_eq!(ran.code, Some(0), "{place}: {words:?}: {}", ran.stderr);
}

#[test]
fn commands_and_their_options_exist() {
    let terminal = Terminal::new();
    let tasks = fs::read_to_string(root("xtask/src/task.rs")).unwrap();
    for snippet in snippets_in("sh") {
        for (line, number) in snippet.text.lines().zip(snippet.line + 1..) {
            let place = format!("{}:{number}", snippet.page);
            let words = words(line);
            let Some((program, rest)) = words.split_first() else {
                continue;
            };
            let launched = launched(&words);
            if program == "toolhost" {
                check_toolhost(&terminal, &place, rest);
            } else if !launched.is_empty() {
                check_toolhost(&terminal, &place, launched);
            } else if let ("cargo", ["xtask", task, ..]) = (
                program.as_str(),
                &*rest.iter().map(String::as_str).collect::<Vec<_>>(),
            ) {
                assert!(tasks.contains(&format!("\"{task}\"")), "{place}: {line}");
            } else {
                let placeholder = program.starts_with('<');
                assert!(
                    placeholder || PROGRAMS.contains(&program.as_str()),
                    "{place}: {line}"
                );
            }
            for path in rest
                .iter()
                .filter(|word| word.starts_with("guest-examples"))
            {
                assert!(root(path).exists(), "{place}: {path} is missing");
            }
        }
    }
}

#[test]
fn commands_within_paragraphs_exist() {
    let terminal = Terminal::new();
    for page in pages() {
        for (number, span) in code_spans(&page) {
            // The name of a test.
            if span.contains("::") {
                continue;
            }
            let words = words(&span);
            if let Some(("toolhost", rest)) = words.split_first().map(|(w, r)| (w.as_str(), r)) {
                check_toolhost(&terminal, &format!("{page}:{number}"), rest);
            }
        }
    }
}

#[test]
fn commands_of_the_ci_example_exist() {
    let terminal = Terminal::new();
    let page = fs::read_to_string(root("docs/ci-example.yml")).unwrap();
    let lines = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- run: toolhost "));
    let mut found = 0;
    for line in lines {
        check_toolhost(&terminal, "docs/ci-example.yml", &words(line));
        found += 1;
    }
    assert!(found > 2, "{found}");
}
