//! Parses the messages of cargo, each a line of JSON, and its list of source files.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::toolchains::build_error::Fault;

/// Longest rendered message, in characters.
const RENDERED_MAX: usize = 4_000;

/// The messages of one build.
#[derive(Debug)]
pub(super) struct Messages(Vec<Message>);

#[derive(Debug, Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Artifact {
        package_id: String,
        manifest_path: PathBuf,
        target: Target,
        filenames: Vec<PathBuf>,
    },
    #[serde(rename = "compiler-message")]
    Compiler { message: CompilerMessage },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

/// A message of the compiler.
#[derive(Debug, Deserialize)]
struct CompilerMessage {
    message: String,
    level: String,
    spans: Vec<Span>,
    rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    column_start: u64,
    is_primary: bool,
}

/// Whether an error is about the missing standard library of the target.
pub(super) fn lacks_std(text: &str) -> bool {
    ["can't find crate for `core`", "can't find crate for `std`"]
        .iter()
        .any(|words| text.contains(words))
}

impl Messages {
    /// Parses stdout. Ignores other lines, which build scripts print.
    pub(super) fn parse(stdout: &str) -> Self {
        let parse = |line: &str| serde_json::from_str(line).ok();
        Self(stdout.lines().filter_map(parse).collect())
    }

    fn compiler(&self) -> impl Iterator<Item = &CompilerMessage> {
        self.0.iter().filter_map(|message| match message {
            Message::Compiler { message } => Some(message),
            Message::Artifact { .. } | Message::Other => None,
        })
    }

    /// Whether the target's standard library is missing.
    pub(super) fn lack_std(&self) -> bool {
        self.compiler().any(|message| lacks_std(&message.message))
    }

    pub(super) fn errors(&self) -> Vec<Fault> {
        // The last message only counts the errors.
        let placed = |message: &&CompilerMessage| {
            message.level.starts_with("error") && !message.spans.is_empty()
        };
        let errors: Vec<_> = self.compiler().filter(placed).map(fault).collect();
        if !errors.is_empty() {
            return errors;
        }
        let errors = self
            .compiler()
            .filter(|message| message.level.starts_with("error"));
        errors.map(fault).collect()
    }

    pub(super) fn warnings(&self) -> Vec<Fault> {
        let placed =
            |message: &&CompilerMessage| message.level == "warning" && !message.spans.is_empty();
        self.compiler().filter(placed).map(fault).collect()
    }

    /// Returns the component of the package with this manifest.
    pub(super) fn component(&self, manifest: &Path) -> Option<PathBuf> {
        self.0.iter().find_map(|message| match message {
            Message::Artifact {
                manifest_path,
                target,
                filenames,
                ..
            } if manifest_path == manifest && target.crate_types.iter().any(|t| t == "cdylib") => {
                let is_wasm = |path: &&PathBuf| path.extension().is_some_and(|e| e == "wasm");
                filenames.iter().find(is_wasm).cloned()
            }
            Message::Artifact { .. } | Message::Compiler { .. } | Message::Other => None,
        })
    }

    /// Returns the manifests of packages that are named by path.
    pub(super) fn local_manifests(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().filter_map(|message| match message {
            Message::Artifact {
                package_id,
                manifest_path,
                ..
            } if package_id.starts_with("path+") => Some(manifest_path.clone()),
            Message::Artifact { .. } | Message::Compiler { .. } | Message::Other => None,
        })
    }
}

fn fault(message: &CompilerMessage) -> Fault {
    let primary = message.spans.iter().find(|span| span.is_primary);
    let rendered = message.rendered.as_deref().unwrap_or_default();
    let rendered: String = rendered.chars().take(RENDERED_MAX).collect();
    Fault {
        file: primary.map(|span| span.file_name.clone()),
        line: primary.map(|span| span.line_start),
        column: primary.map(|span| span.column_start),
        ..Fault::new(&message.message).detail(rendered)
    }
}

/// Parses a list of source files: `component: source source`, with blanks in a path as `\ `.
pub(super) fn sources_of(list: &str) -> Vec<PathBuf> {
    let rest = list.lines().next().and_then(|line| line.split_once(": "));
    let (_, rest) = rest.unwrap_or_default();
    let mut sources = Vec::new();
    let mut path = String::new();
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&' ') => path.extend(letters.next()),
            ' ' => sources.push(std::mem::take(&mut path)),
            _ => path.push(letter),
        }
    }
    sources.push(path);
    sources.retain(|path| !path.is_empty());
    sources.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_sources_that_cargo_lists() {
        let list = "/t/tool.wasm: /a/src/lib.rs /with\\ blank/x.rs\n\n/other: /y\n";
        let expected = ["/a/src/lib.rs", "/with blank/x.rs"].map(PathBuf::from);
        assert_eq!(sources_of(list), expected);
        assert!(sources_of("/t/tool.wasm:\n").is_empty());
    }

    #[test]
    fn an_error_has_its_place() {
        let stdout = r#"{"reason":"compiler-message","message":{"message":"expected `;`","level":"error","code":null,"spans":[{"file_name":"src/lib.rs","line_start":3,"column_start":9,"is_primary":true}],"rendered":"drawn"}}
{"reason":"compiler-message","message":{"message":"aborting due to 1 previous error","level":"error","code":null,"spans":[],"rendered":""}}
what a build script printed
{"reason":"build-finished","success":false}"#;
        let errors = Messages::parse(stdout).errors();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].place().as_deref(), Some("src/lib.rs:3:9"));
        assert_eq!(errors[0].message, "expected `;`");
    }
}
