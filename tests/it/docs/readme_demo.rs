//! The README shows what the demo prints.

use toolhost_tests::root;

#[expect(dead_code, reason = "the program's own entry and arguments")]
#[path = "../../../demo/src/main.rs"]
mod demo;

/// A text in which each number is `0`: times differ from run to run.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => (),
            '.' if out.ends_with('0') => (),
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}

#[tokio::test]
async fn the_readme_shows_what_the_demo_prints() {
    let paths = demo::Paths {
        bundle: root("guest-examples/goondan.yaml"),
        guests: root("target/guests"),
    };
    let mut printed = Vec::new();
    demo::run(&paths, &mut printed).await.unwrap();
    let printed = without_numbers(&String::from_utf8(printed).unwrap());

    let readme = std::fs::read_to_string(root("README.md")).unwrap();
    let (_, output) = readme.split_once("```text\n").unwrap();
    let (output, _) = output.split_once("```").unwrap();
    for line in output.lines() {
        let line = without_numbers(line);
        assert!(
            printed.lines().any(|l| l == line),
            "{line}\nis not in\n{printed}"
        );
    }
}
