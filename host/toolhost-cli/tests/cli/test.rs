//! `toolhost test`: cases of case files and generated cases.

mod expectations;
mod generated;
mod github;
mod http;
mod options;
mod reports;
mod search;
mod selected;
mod updates;
pub(crate) mod watch;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::terminal::{Ran, Terminal, root};

/// A bundle with only the example tools.
const EXAMPLES: &str = "\
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: text}
spec:
  entry: ./text.wasm
  exports:
    - name: upper
      parameters: {type: object, properties: {text: {type: string}}, required: [text], additionalProperties: false}
    - name: fail
      parameters: {type: object, properties: {length: {type: integer, minimum: 0, maximum: 100}}, required: [length]}
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: echo}
spec: {entry: ./echo.wasm, exports: [{name: say}, {name: context}]}
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: fs}
spec:
  entry: ./file-system.wasm
  exports:
    - name: write
      parameters: {type: object, properties: {path: {type: string}, content: {type: string}}, required: [path, content]}
";

/// A bundle with these cases.
fn bundle(terminal: &Terminal, cases: &str) -> PathBuf {
    terminal.write("here/goondan.yaml", EXAMPLES);
    for name in ["text", "echo", "file-system"] {
        let guest = root("target/guests").join(format!("{name}.wasm"));
        terminal.write(&format!("here/{name}.wasm"), fs::read(guest).unwrap());
    }
    terminal.write("here/tests/a.yaml", cases)
}

/// Runs these cases without generated ones.
fn cases(terminal: &Terminal, cases: &str) -> Ran {
    bundle(terminal, cases);
    terminal.run(["test", "--no-generated", "-q"])
}

/// The report of these cases as JSON.
fn json(cases: &str, exit: i32) -> Value {
    let terminal = Terminal::new();
    bundle(&terminal, cases);
    let ran = terminal.run(["test", "--no-generated", "-q", "--json"]);
    ran.exits(exit).json()
}

/// The output, without times.
fn timeless(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        if let Some((before, _)) = line.rsplit_once(" · ") {
            *line = format!("{before} · [time]");
        }
    }
    lines.join("\n")
}
