//! No files of a crate import each other in a circle: each file can be read after those that it
//! imports. ARCHITECTURE.md draws the order.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    reason = "a test fails by panicking; syntax trees have variants that no test looks at"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::graph::{Crate, Imports};

mod graph;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

/// Returns the root file of each crate of the workspace.
fn roots() -> Vec<PathBuf> {
    let top = workspace();
    let mut dirs = vec![
        top.join("benches"),
        top.join("xtask"),
        top.join("guest-sdk/rust"),
    ];
    let host = std::fs::read_dir(top.join("host")).unwrap();
    dirs.extend(host.map(|entry| entry.unwrap().path()));
    let files = dirs
        .iter()
        .flat_map(|dir| ["src/lib.rs", "src/main.rs"].map(|name| dir.join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// Returns the sets of files that reach each other.
fn circles(imports: &Imports) -> Vec<BTreeSet<PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = imports
        .keys()
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut next = vec![start];
            while let Some(file) = next.pop() {
                for target in imports.get(file).into_iter().flatten() {
                    if seen.insert(target) {
                        next.push(target);
                    }
                }
            }
            (start, seen)
        })
        .collect();
    let mut found: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
    for (file, reached) in &reach {
        if reached.contains(file) {
            let back = reached.iter().filter(|other| reach[*other].contains(file));
            found.insert(back.map(|other| (*other).clone()).collect());
        }
    }
    found.into_iter().collect()
}

fn name(file: &Path) -> String {
    file.strip_prefix(workspace())
        .unwrap_or(file)
        .display()
        .to_string()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut report = String::new();
    for root in roots() {
        let imports = Crate::read(&root).imports();
        for circle in circles(&imports) {
            writeln!(report, "a circle of {} files:", circle.len()).unwrap();
            for file in &circle {
                for target in imports[file].intersection(&circle) {
                    writeln!(report, "  {} imports {}", name(file), name(target)).unwrap();
                }
            }
        }
    }
    assert!(
        report.is_empty(),
        "{report}move what both need into a file beneath them"
    );
}

#[test]
fn circles_are_found_through_re_exports_and_macros() {
    let dir = std::env::temp_dir().join(format!("xtask-circles-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("lib.rs", "mod a; mod b;");
    write(
        "a.rs",
        "pub(crate) use low::Low; mod low; pub(crate) struct Top;",
    );
    write("a/low.rs", "pub(crate) struct Low;");
    write("b.rs", "use crate::a::{Low, Top}; fn f(_: Low, _: Top) {}");
    let circle = || {
        let circles = circles(&Crate::read(&dir.join("lib.rs")).imports());
        let files: Vec<_> = circles.into_iter().flatten().collect();
        let names = files
            .iter()
            .map(|file| file.strip_prefix(&dir).unwrap().display().to_string());
        names.collect::<Vec<_>>()
    };
    assert!(circle().is_empty());

    // `b` takes `Low` from its file, also through the re-export; a macro's body names `b`.
    write(
        "a/low.rs",
        "pub(crate) struct Low; fn g() { dbg!(crate::b::f) }",
    );
    assert_eq!(circle(), ["a/low.rs", "b.rs"]);

    write(
        "a.rs",
        "pub(crate) use low::Low; mod low; pub(crate) fn h() -> Low { Low }",
    );
    write("b.rs", "pub(crate) fn f() { super::a::h(); }");
    assert_eq!(circle(), ["a/low.rs", "a.rs", "b.rs"]);

    // Tests may import what they test.
    write("b.rs", "#[cfg(test)] mod tests { use crate::a::h; }");
    assert!(circle().is_empty());
    std::fs::remove_dir_all(&dir).unwrap();
}
