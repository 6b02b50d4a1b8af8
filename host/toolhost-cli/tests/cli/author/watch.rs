//! `toolhost build --watch`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use super::Desk;

struct Watching {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Watching {
    fn start(desk: &Desk) -> Self {
        let mut build = desk.toolhost(&["build", "--watch"]);
        build.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = build.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// Reads the lines up to one with this text.
    #[track_caller]
    fn reads(&mut self, text: &str) -> String {
        let mut read = String::new();
        while !read.contains(text) {
            let count = self.stderr.read_line(&mut read).unwrap();
            assert!(count > 0, "it ended without {text:?}: {read}");
        }
        read
    }

    fn interrupt(mut self) -> (Option<i32>, String) {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(
            Command::new("sh")
                .args(["-c", &kill])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

const MANIFEST: &str = "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: notes}, \
                        spec: {entry: ./Cargo.toml, exports: [{name: count}]}}";

#[test]
fn a_watched_bundle_is_built_again_after_each_change_also_after_a_failure() {
    let desk = Desk::new();
    desk.write("goondan.yaml", MANIFEST);
    desk.write("Cargo.toml", "[package]\nname = 7\n");
    let mut watching = Watching::start(&desk);
    watching.reads("error: ");
    watching.reads("note: building again when a source changes; Ctrl-C ends it");
    desk.write("Cargo.toml", "[package]\nname = 'a'\nedition = 'never'\n");
    watching.reads("never");
    // A manifest with an error, and a good one again.
    desk.write("goondan.yaml", "kind: [");
    watching.reads("goondan.yaml holds 1 error");
    desk.write("goondan.yaml", MANIFEST);
    watching.reads("error: ");
    let (code, rest) = watching.interrupt();
    assert_eq!(code, Some(130), "{rest}");
}

#[test]
fn a_bundle_that_cannot_be_read_is_not_watched() {
    let desk = Desk::new();
    desk.run(&["build", "--watch", "nowhere"])
        .fails(2, "nowhere");
    desk.run(&["build", "--watch", "--json"]).exits(2);
}
