//! `toolhost test --watch` builds sources before it runs.

use super::{Desk, is_installed};
use crate::test::watch::{WAITING, Watching};

#[test]
fn tests_run_again_after_a_changed_source_was_built() {
    if !is_installed("cargo") {
        return;
    }
    let desk = Desk::new();
    desk.run(&["new", "notes", "--lang", "rust"]).exits(0);
    let words = ["test", "notes", "--watch", "--no-generated"];
    let watching = Watching::start(&mut desk.toolhost(&words));
    watching.until(&["built notes in ", "2 cases: 2 passed", WAITING]);

    let (good, bad) = ("text.lines().count()", "text.lines().count() + 1");
    desk.edit("notes/src/lib.rs", good, bad);
    watching.until(&[
        "file changed: notes/src/lib.rs",
        "2 cases: 1 passed, 1 failed",
        WAITING,
    ]);

    // What does not compile is not tested.
    desk.edit("notes/src/lib.rs", bad, "text.lines().count()?");
    let seen = watching.until(&["error: src/lib.rs:", WAITING]);
    assert!(
        !seen.iter().any(|line| line.contains(" cases: ")),
        "{seen:#?}"
    );
    desk.edit("notes/src/lib.rs", "text.lines().count()?", good);
    watching.until(&["2 cases: 2 passed", WAITING]);
    assert_eq!(watching.end(), Some(130));
}
