//! No files of a crate import each other in a circle: each file can be read after those that it
//! imports. No part of a crate imports one that the pages of the architecture list above it.
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

mod floors;
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

#[test]
fn imports_lead_to_the_floors_beneath_as_the_page_lists_them() {
    let pages = floors::PAGES.map(|page| std::fs::read_to_string(workspace().join(page)).unwrap());
    let host = workspace().join("host");
    let mut crates: BTreeMap<String, (PathBuf, Imports)> = BTreeMap::new();
    for root in roots().iter().filter(|root| root.starts_with(&host)) {
        let (src, imports) = (root.parent().unwrap(), Crate::read(root).imports());
        let named = src.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let (_, of_all) = crates
            .entry(named.to_owned())
            .or_insert_with(|| (src.to_path_buf(), Imports::new()));
        of_all.extend(imports);
    }
    let parts = |name: &str| {
        let (src, imports) = crates.get(name)?;
        Some(floors::parts(src, imports))
    };
    let is_part = |name: &str, part: &str| parts(name).is_some_and(|parts| parts.contains(part));
    let listed =
        floors::read(&pages.concat(), is_part).unwrap_or_else(|problem| panic!("{problem}"));
    let mut report = String::new();
    for (krate, (src, imports)) in &crates {
        let none = floors::Floors::default();
        let floors = listed.get(krate).unwrap_or(&none);
        for part in parts(krate).unwrap() {
            if !floors.0.contains_key(&part) {
                writeln!(
                    report,
                    "{krate}: {} lists no floor of `{part}`",
                    floors::PAGES.join(" or ")
                )
                .unwrap();
            }
        }
        for (file, target) in floors::upward(src, imports, floors) {
            let (file, target) = (name(file), name(target));
            writeln!(report, "{file} imports {target}, which is not beneath it").unwrap();
        }
    }
    assert!(
        report.is_empty(),
        "{report}list what a part imports beneath it, or move what it imports down"
    );
}

#[test]
fn a_line_and_an_arrow_end_a_floor_and_the_words_beside_the_names_are_none() {
    let page = "## `toolhost-one`\n```text\na.rs   the top, above b   b/ ▸ c.rs  and d\nd/     words\n```\n\
                # The other crates\n```text\ntoolhost-two  a ▸ b c\n              d\n```\n";
    let is_part = |_: &str, part: &str| ["a", "b", "c", "d"].contains(&part);
    let floors = |floors: &[(&str, usize)]| {
        let floors = floors
            .iter()
            .map(|(name, floor)| ((*name).to_owned(), *floor));
        floors::Floors(floors.collect())
    };
    let crates = floors::read(page, is_part).unwrap();
    assert_eq!(
        crates["toolhost-one"],
        floors(&[("a", 0), ("b", 0), ("c", 1), ("d", 2)])
    );
    assert_eq!(
        crates["toolhost-two"],
        floors(&[("a", 0), ("b", 1), ("c", 1), ("d", 2)])
    );
    let check = |page: &str, problem: &str| {
        let text = format!("## `toolhost-one`\n```text\n{page}\n```\n");
        assert_eq!(floors::read(&text, is_part).unwrap_err(), problem);
    };
    check("e.rs  gone", "toolhost-one: `e` is not there");
    check("a.rs\na/", "toolhost-one: `a` is listed twice");
}

#[test]
fn an_import_to_the_same_floor_or_a_higher_one_is_reported() {
    let src = Path::new("src");
    let file = |name: &str| src.join(name);
    let floors = floors::Floors(BTreeMap::from([
        ("top".to_owned(), 0),
        ("low".to_owned(), 1),
        ("side".to_owned(), 1),
    ]));
    let upward = |from: &str, to: &str| {
        let imports = Imports::from([(file(from), BTreeSet::from([file(to)]))]);
        !floors::upward(src, &imports, &floors).is_empty()
    };
    assert!(upward("low/deep.rs", "top.rs"));
    assert!(upward("low.rs", "side.rs"));
    assert!(!upward("top/deep.rs", "low/deep.rs"));
    assert!(!upward("low/deep.rs", "low.rs"));
    assert!(!upward("lib.rs", "top.rs"));
}
