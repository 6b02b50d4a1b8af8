//! `toolhost build --watch`.

use super::Desk;
use crate::test::watch::Watching;

const MANIFEST: &str = "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: notes}, \
                        spec: {entry: ./Cargo.toml, exports: [{name: count}]}}";

#[test]
fn a_watched_bundle_is_built_again_after_each_change_also_after_a_failure() {
    let desk = Desk::new();
    desk.write("goondan.yaml", MANIFEST);
    desk.write("Cargo.toml", "[package]\nname = 7\n");
    let watching = Watching::start(&mut desk.toolhost(&["build", "--watch"]));
    watching.until(&["error: "]);
    watching.until(&["note: building again when a source changes; Ctrl-C ends it"]);
    desk.write("Cargo.toml", "[package]\nname = 'a'\nedition = 'never'\n");
    watching.until(&["never"]);
    // A manifest with an error, and a good one again.
    desk.write("goondan.yaml", "kind: [");
    watching.until(&["goondan.yaml holds 1 error"]);
    desk.write("goondan.yaml", MANIFEST);
    watching.until(&["error: "]);
    assert_eq!(watching.end(), Some(130));
}

#[test]
fn a_bundle_that_cannot_be_read_is_not_watched() {
    let desk = Desk::new();
    desk.run(&["build", "--watch", "nowhere"])
        .fails(2, "nowhere");
    desk.run(&["build", "--watch", "--json"]).exits(2);
}
