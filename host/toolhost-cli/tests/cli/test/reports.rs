//! Reports of failed cases.

use super::{bundle, cases, timeless};
use crate::terminal::Terminal;

const FAILING: &str = r#"# Of the examples.
- name: says it back
  tool: echo__say
  args: { a: 1 }
  expect: { output: { a: 1 } }

- name: is short
  tool: text__upper
  args: { text: hi }
  expect:
    output: { text: hi }

- name: is long
  tool: echo__say
  args: { text: "one\ntwo\nthree\nfour\nfive\nsix" }
  expect:
    outputAt: { /text: "one\nTWO\nthree\nfour\nfive\nsix\n" }
    files: { a.txt: hi }

- name: "says \e[31m what it did"
  tool: echo__context
  repeat: 2
  expect:
    outputContains: { agentName: nobody }
"#;

#[test]
fn a_failed_case_is_reported_with_the_difference() {
    let terminal = Terminal::new();
    let ran = cases(&terminal, FAILING).exits(1);
    let shown = timeless(&ran.stdout);
    insta::assert_snapshot!(shown, @r#"
FAIL tests/a.yaml:7 is short: output: expected {"text":"hi"} but got {"text":"HI"}
     output (- expected, + got):
         /text
       - "hi"
       + "HI"
FAIL tests/a.yaml:13 is long: output/text: expected "one\nTWO\nthree\nfour\nfive\nsix\n" but got "one\ntwo\nthree\nfour\nfive\nsix"
     files a.txt: expected "hi" but got nothing of that name
     output/text (- expected, + got):
         one
       - TWO
       + two
         three
         four
         five
       - six
       + six  (no line break at the end)
FAIL tests/a.yaml:20 says \u{1b}[31m what it did (2 of 2 runs): output/agentName: expected "nobody" but got "default"
     | info (echo): called by agent default
4 cases: 1 passed, 3 failed · [time]
"#);
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_junit_report_has_a_suite_for_each_file() {
    let terminal = Terminal::new();
    bundle(&terminal, FAILING);
    terminal.write(
        "here/tests/b.yml",
        "- {name: 'a <b> & \"c\"', tool: echo__say}\n",
    );
    terminal.run(["test", "--junit", "report.xml"]).exits(1);
    let text = std::fs::read_to_string(terminal.path("here/report.xml")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("testsuite"))
        .collect();
    let names: Vec<_> = suites
        .iter()
        .filter_map(|suite| suite.attribute("name"))
        .collect();
    assert_eq!(names, ["tests/a.yaml", "tests/b.yml", "generated"]);
    assert_eq!(suites[0].attribute("tests"), Some("4"));
    assert_eq!(suites[0].attribute("failures"), Some("3"));
    assert_eq!(document.root_element().attribute("failures"), Some("3"));
    let cases: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"))
        .collect();
    assert_eq!(cases[0].attribute("line"), Some("2"));
    assert_eq!(cases[4].attribute("name"), Some("a <b> & \"c\""));
    let failures = document
        .descendants()
        .filter(|node| node.has_tag_name("failure"));
    let messages: Vec<_> = failures
        .filter_map(|node| node.attribute("message"))
        .collect();
    assert_eq!(
        messages[0],
        r#"output: expected {"text":"hi"} but got {"text":"HI"}"#
    );
    let all = suites[2]
        .attribute("tests")
        .unwrap()
        .parse::<usize>()
        .unwrap();
    assert_eq!(cases.len(), 5 + all);
}

#[test]
fn the_json_report_has_every_case() {
    let report = super::json(FAILING, 1);
    assert_eq!(report["ok"], false);
    assert_eq!(
        (report["passed"].as_u64(), report["failed"].as_u64()),
        (Some(1), Some(3))
    );
    let short = &report["cases"][1];
    assert_eq!(short["file"], "tests/a.yaml");
    assert_eq!(short["line"], 7);
    assert_eq!(short["tool"], "text__upper");
    assert_eq!(short["status"], "failed");
    assert_eq!(short["problems"][0]["expected"], r#"{"text":"hi"}"#);
    assert!(short["usage"]["memoryPeak"].as_u64().unwrap() > 0);
    assert_eq!(report["generated"]["passed"], 0);
}

#[test]
fn a_junit_report_is_not_written_through_a_link() {
    let terminal = Terminal::new();
    bundle(&terminal, "- {name: says it back, tool: echo__say}\n");
    let victim = terminal.write("victim", "mine");
    let link = terminal.path("here/report.xml");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let words = ["test", "--no-generated", "--junit", "report.xml"];
    let ran = terminal.run(words).exits(2);
    assert!(ran.stderr.contains("it is a symbolic link"), "{ran:?}");
    assert_eq!(std::fs::read(&victim).unwrap(), b"mine");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());

    std::fs::remove_file(&link).unwrap();
    std::fs::write(&link, "an earlier report").unwrap();
    terminal.run(words).exits(0);
    assert!(std::fs::read_to_string(&link).unwrap().starts_with("<?xml"));
}
