//! Limits on the cost of loading an untrusted bundle, and on its findings.

use std::fmt::Write;
use std::time::{Duration, Instant};

use toolhost::manifest::YamlSource;
use toolhost_manifest::bundle::Bundle;

use super::*;
use crate::sandbox::wat::component_of;

/// A bound that separates seconds from minutes, also on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Offset at which the texts of `describe` begin.
const TEXTS: usize = 64 * 1024;

/// Returns a component whose `describe` names these handlers with these parameters.
fn describing(handlers: &[(String, String)], beside: &str) -> Vec<u8> {
    let (mut specs, mut texts) = (Vec::new(), Vec::new());
    let mut lay = |specs: &mut Vec<u8>, text: &str| {
        for number in [TEXTS + texts.len(), text.len()] {
            specs.extend(u32::try_from(number).unwrap().to_le_bytes());
        }
        texts.extend(text.bytes());
    };
    for (name, parameters) in handlers {
        lay(&mut specs, name);
        specs.extend([0; 12]);
        specs.extend([u8::from(!parameters.is_empty()), 0, 0, 0]);
        lay(&mut specs, parameters);
    }
    assert!(32 + specs.len() < TEXTS);
    let count = u32::try_from(handlers.len()).unwrap().to_le_bytes();
    let list = [32_u32.to_le_bytes(), count].concat();
    let data = |at: usize, bytes: &[u8]| {
        let mut line = format!("(data (i32.const {at}) \"");
        for byte in bytes {
            write!(line, "\\{byte:02x}").unwrap();
        }
        line + "\")\n"
    };
    let pages = (TEXTS + texts.len()).div_ceil(64 * 1024);
    let guest = format!(
        r#"(core module $guest
            (memory (export "memory") {pages})
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "describe") (result i32) (i32.const 16))
            (func (export "call") (param i32) (result i32) unreachable)
            (func (export "done") (param i32))
            {}{}{})"#,
        data(16, &list),
        data(32, &specs),
        data(TEXTS, &texts),
    );
    component_of(&guest, beside)
}

fn manifest(exports: &str) -> String {
    format!(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t}}\n\
         spec: {{entry: ./t.wasm, exports: [{exports}]}}\n"
    )
}

/// Returns a schema of a hundred patterns, each of letters of all languages.
fn of_patterns(number: usize) -> String {
    let patterns = (0..100).map(|i| json!({"pattern": format!(r"\p{{L}}{{5}}{number}x{i}")}));
    json!({"type": "object", "anyOf": patterns.collect::<Vec<_>>()}).to_string()
}

/// Returns the resident memory of this process in MiB.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4096) >> 20
}

#[tokio::test]
async fn the_patterns_of_a_component_are_compiled_within_one_budget() {
    let handlers: Vec<_> = (0..200)
        .map(|i| (format!("h{i}"), of_patterns(i)))
        .collect();
    let exports: Vec<_> = handlers
        .iter()
        .map(|(name, _)| format!("{{name: {name}}}"))
        .collect();
    let component = describing(&handlers, "");
    let manifest = manifest(&exports.join(","));
    let (begun, before) = (Instant::now(), resident());
    let found = findings(&manifest, &[("t.wasm", component)]).await;
    assert!(begun.elapsed() < TIME_LIMIT, "{:?}", begun.elapsed());
    let grown = resident() - before;
    assert!(grown < 300, "{grown} MiB");
    assert!(
        codes(&found)
            .iter()
            .all(|code| *code == "E_COMPONENT_DESCRIBE_FAILED")
    );
    let last = found.last().unwrap().message.as_str();
    assert!(last.contains("all schemas together"), "{last}");
}

#[test]
fn the_patterns_of_a_file_are_compiled_within_one_budget() {
    let export = |i| format!("{{name: h{i}, parameters: {}}}", of_patterns(i));
    let exports: Vec<_> = (0..200).map(export).collect();
    let source = YamlSource::new("b.yaml", &manifest(&exports.join(",")));
    let begun = Instant::now();
    let found = Bundle::parse(&source).unwrap_err();
    assert!(begun.elapsed() < TIME_LIMIT, "{:?}", begun.elapsed());
    let last = found.last().unwrap().message.as_str();
    assert!(last.contains("all schemas together"), "{last}");
}

#[tokio::test]
async fn the_number_and_length_of_findings_are_limited() {
    let handler = |i| (format!("{i:03}{}", "h".repeat(50)), String::new());
    let handlers: Vec<_> = (0..256).map(handler).collect();
    let exports: Vec<_> = (0..60_000).map(|i| format!("{{name: a{i}}}")).collect();
    let files = [("t.wasm", describing(&handlers, ""))];
    let before = resident();
    let found = findings(&manifest(&exports.join(",")), &files).await;
    let grown = resident() - before;
    assert!(grown < 500, "{grown} MiB");
    assert_eq!(codes(&found), vec!["E_COMPONENT_MISSING_HANDLER"; 1_000]);
    let last = found.last().unwrap().message.as_str();
    assert_eq!(last, "59000 more findings are left out");
    for finding in found {
        assert!(finding.message.len() < 2_000, "{finding}");
    }
}

#[tokio::test]
async fn names_from_a_component_are_escaped_and_truncated_in_findings() {
    let acting = "a\n\u{1b}[2Jx.yaml:1:1: error[E_HOST] forged".repeat(1_000);
    let mut imported = String::new();
    for byte in acting.bytes() {
        write!(imported, "\\{byte:02x}").unwrap();
    }
    let import = format!("(import \"{imported}\" (func))");
    let usual = [("run".to_owned(), String::new())];
    for component in [
        describing(&[(acting, String::new())], ""),
        describing(&usual, &import),
    ] {
        let found = findings(&manifest("{name: run}"), &[("t.wasm", component)]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        for text in [found[0].to_string(), found[0].help.clone()] {
            assert!(!text.chars().any(char::is_control), "{text:.300}");
            assert!(text.len() < 16_000, "{}", text.len());
        }
    }
}
