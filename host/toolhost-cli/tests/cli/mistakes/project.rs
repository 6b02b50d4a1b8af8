//! A tool with mistakes.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::answer::Answer;
use crate::author::Desk;
use crate::terminal::{Ran, root};

/// The folder of the tool.
const TOOL: &str = "mistakes";

/// A mistake that a compiler finds: an edit of the template of `toolhost new`.
pub(super) struct Broken {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}

pub(super) struct Project {
    desk: Desk,
    /// The language of `toolhost new`; none for a component that was built without a kit.
    kit: Option<&'static str>,
    entry: &'static str,
}

impl Project {
    /// Lays out the tool whose handlers make mistakes. Returns nothing, and prints why, if it cannot be
    /// built on this machine.
    #[expect(
        clippy::print_stderr,
        reason = "who runs the tests reads what was not tested"
    )]
    pub(super) fn of(language: &str, is_kit: bool, served: &[&str]) -> Option<Self> {
        let (kit, entry, program) = match (is_kit, language) {
            (true, "rust") => (Some("rust"), "./Cargo.toml", "cargo"),
            (true, "typescript") => (Some("typescript"), "./index.ts", "node"),
            (true, _) => (Some("python"), "./tool.py", "python3"),
            (false, _) => (None, "./mistakes.wasm", "true"),
        };
        let project = Self {
            desk: Desk::new(),
            kit,
            entry,
        };
        let built = root("target/mistakes")
            .join(language)
            .join(".toolhost/count.wasm");
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("NOT TESTED: mistakes in {language}: {program} is not installed");
            return None;
        }
        match kit {
            None if !built.exists() => {
                eprintln!(
                    "NOT TESTED: mistakes in {language}: `cargo xtask test` builds {}",
                    built.display()
                );
                return None;
            }
            None => {
                fs::create_dir_all(project.desk.path(TOOL)).unwrap();
                fs::copy(built, project.desk.path(TOOL).join("mistakes.wasm")).unwrap();
            }
            Some(kit) => {
                let from = root("tests/mistakes/kits").join(kit);
                copy(&from, &project.desk.path(TOOL));
            }
        }
        project.write_manifest(&project.manifest(served));
        if kit.is_some() {
            project.desk.run(&["build", TOOL]).exits(0);
        }
        // Compiles the component, so that each mistake takes the seconds of its own.
        project.desk.run(&["check", TOOL]).exits(0);
        fs::write(
            project.desk.path("deadline.yaml"),
            "defaults: {limits: {deadlineMs: 1000}}\n",
        )
        .unwrap();
        Some(project)
    }

    pub(super) fn manifest(&self, served: &[&str]) -> String {
        let export = |name: &&str| {
            format!(
                "    - {{name: {name}, parameters: {{type: object, additionalProperties: false}}}}\n"
            )
        };
        let exports: String = served.iter().map(export).collect();
        format!(
            "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: {TOOL}}}\nspec:\n  entry: {}\n  exports:\n{exports}",
            self.entry
        )
    }

    pub(super) fn write_manifest(&self, manifest: &str) {
        self.desk.write(&format!("{TOOL}/goondan.yaml"), manifest);
    }

    /// The answer to a mistake in the manifest: of `build`, or else of `check`.
    pub(super) fn load(&self, manifest: &str) -> Answer {
        self.write_manifest(manifest);
        if self.kit.is_some()
            && let Some(answer) =
                Answer::of_build(&self.desk.run(&["build", TOOL, "--json"]).json())
        {
            return answer;
        }
        Answer::of_check(&self.desk.run(&["check", TOOL, "--json"]).json())
    }

    /// The answer to a call.
    pub(super) fn call(&self, handler: &str) -> Answer {
        let tool = format!("{TOOL}__{handler}");
        let mut command = self.desk.toolhost(&["call", TOOL, &tool, "--workdir"]);
        command.arg(self.desk.terminal().path("D"));
        if handler == "loop" {
            command.arg("--policy").arg(self.desk.path("deadline.yaml"));
        }
        Answer::of_call(&Ran::of(&mut command).json())
    }

    /// The answer to a mistake in the source of a new tool.
    pub(super) fn build_broken(&self, mistake: &Broken) -> Answer {
        let kit = self.kit.expect("a language with a kit");
        let folder = mistake.name.replace(' ', "-");
        self.desk
            .run(&["new", "broken", "--lang", kit, "--path", &folder])
            .exits(0);
        self.desk.edit(
            &format!("{folder}/{}", mistake.file),
            mistake.before,
            mistake.after,
        );
        let ran = self.desk.run(&["build", &folder, "--json"]);
        Answer::of_build(&ran.json()).expect("it does not build")
    }

    pub(super) fn redacted(&self, text: &str) -> String {
        let text = self.desk.terminal().redacted(text);
        // The folder in which StarlingMonkey's build saw the source.
        match text.split_once("@/tmp/") {
            Some((before, after)) => format!(
                "{before}@[tmp]/{}",
                after.split_once('/').map_or(after, |(_, rest)| rest)
            ),
            None => text,
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to)
        } else {
            fs::copy(&path, &to).map(drop).unwrap()
        }
    }
}
