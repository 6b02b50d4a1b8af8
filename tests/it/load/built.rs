//! Entries that are source: the built component loads only if the sources have not changed since.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use toolhost::{LoadError, manifest::Diagnostic};
use toolhost_manifest::bundle::built::{Source, Stamp};
use toolhost_tests::test_host::{code, open_step, tool_call};
use toolhost_tests::{Work, guest};

use super::{codes, host};

const SOURCE: &str = "export const handlers = {};\n";

/// A bundle of one Tool whose entry is source; the component of a guest stands for its built
/// component.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let manifest = json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
            "spec": {"entry": "./src/index.ts", "exports": [{"name": "upper"}]}});
        fs::create_dir(dir.path().join("src")).unwrap();
        fs::write(dir.path().join("goondan.yaml"), manifest.to_string()).unwrap();
        fs::write(dir.path().join("src/index.ts"), SOURCE).unwrap();
        Self { dir }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join(path)
    }

    fn stamp() -> Stamp {
        Stamp {
            entry: "./src/index.ts".to_owned(),
            kit: "typescript".to_owned(),
            sources: vec![Source::new("src/index.ts", SOURCE.as_bytes())],
            absent: None,
            handlers: None,
        }
    }

    fn build(&self, stamp: &Stamp) {
        let mut component = guest("text");
        stamp.put_on(&mut component).unwrap();
        fs::create_dir_all(self.path(".toolhost")).unwrap();
        fs::write(self.path(".toolhost/text.wasm"), component).unwrap();
    }

    /// Returns the only finding of a bundle that does not load.
    async fn refused(&self) -> Diagnostic {
        let Err(LoadError::Invalid { diagnostics, .. }) = host().load(self.dir.path()).await else {
            panic!("the bundle loaded");
        };
        assert_eq!(
            codes(&diagnostics),
            ["E_CONFIG_ENTRY_NOT_FOUND"],
            "{diagnostics:?}"
        );
        diagnostics[0].clone()
    }

    /// Asserts that the bundle is refused for this reason, with the command that builds it.
    async fn assert_refused_with(&self, why: &str) {
        let finding = self.refused().await;
        let message = "tool text: entry src/index.ts: ";
        assert!(finding.message.starts_with(message), "{}", finding.message);
        assert!(finding.message.contains(why), "{}", finding.message);
        let command = format!("toolhost build {}", self.dir.path().display());
        assert!(finding.help.ends_with(&command), "{}", finding.help);
        assert!(finding.place.document_path.ends_with("spec.entry"));
    }
}

#[tokio::test]
async fn a_component_built_from_source_loads_and_runs() {
    let project = Project::new();
    project.build(&Project::stamp());
    let loaded = host().load(project.dir.path()).await.unwrap();
    let work = Work::new();
    let agent = loaded.only_agent().unwrap();
    let step = open_step(&agent, "key", &work.workdir).await;
    let call = tool_call("text__upper", json!({"text": "hi"}));
    let result = step.execute_without_message(call).await;
    assert_eq!(
        result.output(),
        Some(&json!({"text": "HI"})),
        "{}",
        code(&result)
    );
}

#[tokio::test]
async fn a_source_entry_that_is_unbuilt_or_changed_is_refused_with_the_build_command() {
    // tool-spec-v2 §15
    let project = Project::new();
    project.assert_refused_with("it has not been built").await;

    project.build(&Project::stamp());
    assert!(host().load(project.dir.path()).await.is_ok());
    fs::write(project.path("src/index.ts"), "// another").unwrap();
    project
        .assert_refused_with("src/index.ts has changed since it was built")
        .await;
    fs::remove_file(project.path("src/index.ts")).unwrap();
    project
        .assert_refused_with("src/index.ts cannot be read: there is no such file or directory")
        .await;
    fs::write(project.path("src/index.ts"), SOURCE).unwrap();
    assert!(host().load(project.dir.path()).await.is_ok());

    let alone = Stamp {
        absent: Some(vec!["src/package.json".to_owned()]),
        ..Project::stamp()
    };
    project.build(&alone);
    assert!(host().load(project.dir.path()).await.is_ok());
    fs::write(project.path("src/package.json"), "{}").unwrap();
    project
        .assert_refused_with("src/package.json is new since it was built")
        .await;
    fs::remove_file(project.path("src/package.json")).unwrap();

    let other = Stamp {
        entry: "./other.ts".to_owned(),
        ..Project::stamp()
    };
    project.build(&other);
    project
        .assert_refused_with("it was built from another entry")
        .await;
    fs::write(project.path(".toolhost/text.wasm"), guest("text")).unwrap();
    project
        .assert_refused_with("the component was not made by `toolhost build`")
        .await;
}

#[tokio::test]
async fn sources_and_components_outside_the_bundle_are_not_read() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("index.ts");
    fs::write(&secret, SOURCE).unwrap();
    let project = Project::new();
    project.build(&Project::stamp());
    fs::remove_file(project.path("src/index.ts")).unwrap();
    symlink(&secret, project.path("src/index.ts")).unwrap();
    project
        .assert_refused_with("the path leaves the directory")
        .await;

    // A source path outside of the bundle is not read: only the build checks it.
    let project = Project::new();
    let mut stamp = Project::stamp();
    stamp.sources.push(Source::new("../nowhere.ts", b""));
    stamp.sources.push(Source::new("/nowhere.ts", b""));
    project.build(&stamp);
    assert!(host().load(project.dir.path()).await.is_ok());

    let built = outside.path().join("text.wasm");
    fs::rename(project.path(".toolhost/text.wasm"), &built).unwrap();
    symlink(&built, project.path(".toolhost/text.wasm")).unwrap();
    project
        .assert_refused_with("the path leaves the directory")
        .await;
}

#[tokio::test]
async fn a_source_that_is_a_pipe_or_endless_is_refused_at_once() {
    let project = Project::new();
    let mut stamp = Project::stamp();
    stamp.sources.push(Source::new("src/pipe", b""));
    project.build(&stamp);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = project.path("src/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    project
        .assert_refused_with("it is a named pipe, not a regular file")
        .await;

    fs::remove_file(&pipe).unwrap();
    // A sparse file larger than the read limit.
    let large = fs::File::create(&pipe).unwrap();
    large.set_len(1 << 40).unwrap();
    let finding = project.refused().await;
    assert!(
        finding
            .message
            .contains("too large or too deep to be compared"),
        "{}",
        finding.message
    );
    assert_eq!(finding.help, "Name the built component in spec.entry.");
}

#[tokio::test]
async fn tools_of_one_source_share_its_built_component() {
    let project = Project::new();
    let tool = |name: &str, export: &str| {
        json!({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name},
            "spec": {"entry": "./src/index.ts", "exports": [{"name": export}]}})
    };
    let manifest = format!("{}\n---\n{}", tool("text", "upper"), tool("other", "count"));
    fs::write(project.path("goondan.yaml"), manifest).unwrap();
    project.build(&Project::stamp());
    let loaded = host().load(project.dir.path()).await.unwrap();
    assert_eq!(loaded.components().len(), 2);
    assert!(!Path::new(&project.path(".toolhost/other.wasm")).exists());
}

/// Counts how often another task of this thread runs until `future` is ready.
async fn turns_beside<T>(future: impl Future<Output = T>) -> (T, usize) {
    let turns = std::cell::Cell::new(0_usize);
    let beside = async {
        loop {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        done = future => (done, turns.get()),
        () = beside => unreachable!("it never ends"),
    }
}

#[tokio::test(flavor = "current_thread")]
async fn other_tasks_of_the_thread_run_while_the_files_of_a_bundle_are_read_and_hashed() {
    let project = Project::new();
    project.build(&Project::stamp());
    let host = host();
    let loaded = host.load(project.dir.path()).await.unwrap();
    // The source is another one now, which is known only once all of it was hashed.
    let source = fs::File::create(project.path("src/index.ts")).unwrap();
    source.set_len(64 << 20).unwrap();
    let (refused, turns) = turns_beside(host.load(project.dir.path())).await;
    refused.unwrap_err();
    assert!(turns > 100, "{turns} while it was loaded");
    let (refused, turns) = turns_beside(loaded.reload()).await;
    refused.unwrap_err();
    assert!(turns > 100, "{turns} while it was loaded again");
    let live = toolhost::LiveBundle::new(loaded);
    let (refused, turns) = turns_beside(live.reload()).await;
    refused.unwrap_err();
    assert!(turns > 100, "{turns} while the current load was replaced");
}

#[tokio::test(flavor = "current_thread")]
async fn a_component_is_inspected_on_another_thread() {
    let mut bytes = guest("text");
    // It is known to be damaged only once all of it was read.
    bytes.truncate(bytes.len() - 1);
    let sandbox = toolhost_tests::sandbox();
    let mut inspected = std::pin::pin!(toolhost::sandbox::inspect(&sandbox, bytes));
    let first =
        std::future::poll_fn(|cx| std::task::Poll::Ready(inspected.as_mut().poll(cx).is_pending()));
    assert!(first.await, "it is read on the thread of the caller");
    inspected.await.unwrap_err();
}
