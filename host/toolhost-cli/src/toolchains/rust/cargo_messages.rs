//! Parses the messages of cargo, each a line of JSON, and its list of source files.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toolhost::tool::JsonLimits;

use crate::toolchains::build_error::Fault;

/// Longest rendered message, in characters.
const RENDERED_MAX: usize = 4_000;

/// The messages of one build.
#[derive(Debug, Default)]
pub(super) struct Messages {
    artifacts: Vec<Artifact>,
    compiler: Vec<CompilerMessage>,
    /// The ids of packages whose build script ran.
    scripts: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Artifact(Artifact),
    #[serde(rename = "compiler-message")]
    Compiler { message: CompilerMessage },
    #[serde(rename = "build-script-executed")]
    Script { package_id: String },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    package_id: String,
    manifest_path: PathBuf,
    target: Target,
    filenames: Vec<PathBuf>,
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
        let mut messages = Self::default();
        for line in stdout.lines() {
            match JsonLimits::REPLY.parse(line) {
                Ok(Message::Artifact(artifact)) => messages.artifacts.push(artifact),
                Ok(Message::Compiler { message }) => messages.compiler.push(message),
                Ok(Message::Script { package_id }) => messages.scripts.push(package_id),
                Ok(Message::Other) | Err(_) => (),
            }
        }
        messages
    }

    /// Whether the target's standard library is missing.
    pub(super) fn lack_std(&self) -> bool {
        let mut messages = self.compiler.iter();
        messages.any(|message| lacks_std(&message.message))
    }

    /// Whether a linker was not found.
    pub(super) fn lack_linker(&self, name: &str) -> bool {
        let not_found = format!("linker `{name}` not found");
        let mut messages = self.compiler.iter();
        messages.any(|message| message.message.contains(&not_found))
    }

    pub(super) fn errors(&self) -> Vec<Fault> {
        let errors = self.compiler.iter();
        let errors = errors.filter(|message| message.level.starts_with("error"));
        // The last message only counts the errors.
        let placed = errors.clone().filter(|message| !message.spans.is_empty());
        let placed: Vec<Fault> = placed.map(fault).collect();
        if placed.is_empty() {
            errors.map(fault).collect()
        } else {
            placed
        }
    }

    pub(super) fn warnings(&self) -> Vec<Fault> {
        let is_warning = |it: &&CompilerMessage| it.level == "warning" && !it.spans.is_empty();
        let warnings = self.compiler.iter().filter(is_warning);
        warnings.map(fault).collect()
    }

    /// Returns the component of the package with this manifest.
    pub(super) fn component(&self, manifest: &Path) -> Option<PathBuf> {
        let is_wasm = |path: &&PathBuf| path.extension().is_some_and(|it| it == "wasm");
        let artifacts = self.artifacts.iter().filter(|artifact| {
            let mut types = artifact.target.crate_types.iter();
            artifact.manifest_path == manifest && types.any(|it| it == "cdylib")
        });
        let mut components =
            artifacts.filter_map(|artifact| artifact.filenames.iter().find(is_wasm));
        components.next().cloned()
    }

    /// Returns whether a package that is named by path has a build script.
    pub(super) fn has_local_script(&self) -> bool {
        self.scripts.iter().any(|package| is_local(package))
    }

    /// Returns the manifests of packages that are named by path.
    pub(super) fn local_manifests(&self) -> impl Iterator<Item = PathBuf> {
        let artifacts = self.artifacts.iter();
        let local = artifacts.filter(|artifact| is_local(&artifact.package_id));
        local.map(|artifact| artifact.manifest_path.clone())
    }
}

fn is_local(package_id: &str) -> bool {
    package_id.starts_with("path+")
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
