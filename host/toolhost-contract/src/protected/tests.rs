use std::os::unix::fs::symlink;

use super::NameChange::{File, FolderOrLink, NewFolder, Remove};
use super::*;

const CHANGES: [NameChange; 4] = [Remove, NewFolder, File, FolderOrLink];

fn id(inode: u64) -> FileId {
    FileId { device: 1, inode }
}

/// A bundle in directory 1, its case files in 2 and 3, a closed directory 4.
fn protected() -> Protected {
    let mut all = Protected::default();
    all.add_bundle_dir(id(1));
    all.add_name(id(1), OsStr::new("Bundle.yaml"));
    all.add_cases(id(2));
    all.add_cases_beneath(id(3));
    all.close(id(4));
    all.add(id(5));
    all
}

/// The same in two lists, one of which is added to the other.
fn in_two_lists() -> Protected {
    let (mut one, mut other) = (Protected::default(), Protected::default());
    one.add_name(id(8), OsStr::new("bundle.yaml"));
    one.add_cases(id(2));
    other.add_name(id(8), OsStr::new("other"));
    other.add_bundle_dir(id(1));
    other.add_name(id(1), OsStr::new("bundle.yaml"));
    other.add_cases_beneath(id(3));
    other.close(id(4));
    other.add(id(5));
    one.extend(&other);
    one
}

#[test]
fn a_guest_cannot_change_protected_names_case_files_or_closed_directories() {
    let planted = &[Remove, File, FolderOrLink][..];
    for (dir, name, forbidden) in [
        (1, "bundle.yaml", &CHANGES[..]),
        (1, "BUNDLE.yaml", &CHANGES),
        (1, "tests", planted),
        (1, "Tests", planted),
        (1, "a.yaml", &[]),
        (1, "a", &[]),
        (2, "a.yaml", &CHANGES),
        (2, "a.YML", &CHANGES),
        (2, "a", &[FolderOrLink]),
        (2, "tests", &[FolderOrLink]),
        (3, "a.yaml", &CHANGES),
        (3, "a", &[]),
        (4, "a", &CHANGES),
        (5, "a.yaml", &[]),
        (5, "tests", &[]),
        (5, "bundle.yaml", &[]),
    ] {
        for change in CHANGES {
            for all in [protected(), in_two_lists()] {
                let is_forbidden = all.forbids(id(dir), name, change);
                let expected = forbidden.contains(&change);
                assert_eq!(is_forbidden, expected, "{dir}/{name} {change:?}");
                // The file system asks these first, which need no lookup.
                let is_asked = all.has_name(name)
                    || all.may_change_cases(name, change)
                    || all.is_closed(id(dir));
                assert!(is_asked || !is_forbidden, "{dir}/{name} {change:?}");
            }
        }
    }
}

#[test]
fn folders_that_are_to_be_made_are_protected_as_those_that_exist() {
    for (dir, made, name, forbidden) in [
        (1, &["tests"][..], "a.yaml", &CHANGES[..]),
        (1, &["Tests"], "a", &[FolderOrLink]),
        (1, &["tests", "more"], "a.YML", &CHANGES),
        (1, &["tests", "more"], "a", &[]),
        (1, &["other"], "a.yaml", &[]),
        (2, &[], "a", &[FolderOrLink]),
        (2, &["more"], "a.yaml", &CHANGES),
        (2, &["more"], "a", &[]),
        (5, &["tests"], "a.yaml", &[]),
    ] {
        let made: Vec<String> = made.iter().map(|name| (*name).to_owned()).collect();
        for change in CHANGES {
            for all in [protected(), in_two_lists()] {
                let is_forbidden = all.forbids_beneath(id(dir), &made, name, change);
                let expected = forbidden.contains(&change);
                assert_eq!(is_forbidden, expected, "{dir}/{made:?}/{name} {change:?}");
                let is_asked = all.may_change_cases(name, change);
                assert!(is_asked || !is_forbidden, "{name} {change:?}");
            }
        }
    }
}

#[test]
fn only_yaml_files_the_folder_of_cases_folders_and_links_may_change_cases() {
    for (name, expected) in [
        ("a.yaml", &CHANGES[..]),
        ("A.Yml", &CHANGES),
        ("TESTS", &CHANGES),
        ("a.yaml.txt", &[FolderOrLink]),
        ("test", &[FolderOrLink]),
    ] {
        for change in CHANGES {
            let may_change = protected().may_change_cases(name, change);
            assert_eq!(may_change, expected.contains(&change), "{name} {change:?}");
            assert!(!Protected::default().may_change_cases(name, change));
        }
    }
}

#[test]
fn a_list_has_what_was_added_and_nothing_else() {
    for all in [protected(), in_two_lists()] {
        assert_eq!(all.ids().collect::<Vec<_>>(), [id(5)]);
        assert!(all.contains(id(5)) && !all.contains(id(1)));
        assert!(all.has_name("BUNDLE.YAML") && !all.has_name("a"));
        assert!(all.contains_name(id(1), "bundle.yaml") && all.contains_name(id(4), "a"));
        assert!(!all.contains_name(id(5), "bundle.yaml") && !all.contains_name(id(1), "a"));
        assert!(all.is_closed(id(4)) && !all.is_closed(id(1)));
        assert!(all.has_closed_dirs());
    }
    assert!(in_two_lists().contains_name(id(8), "bundle.yaml"));
    assert!(in_two_lists().contains_name(id(8), "other"));
    let none = Protected::default();
    assert!(!none.has_closed_dirs() && !none.has_name("a"));
}

/// A folder for one test, removed at its end.
struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Self {
        let name = format!("protected-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::create_dir(path.join("other")).unwrap();
        fs::write(path.join("a/b/file"), "").unwrap();
        Self(path)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn id(&self, path: &str) -> FileId {
        id_of(&symlink_metadata(self.at(path)).unwrap())
    }

    fn link(&self, path: &str, to: &str) {
        symlink(to, self.at(path)).unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_path_protects_its_target_its_links_and_the_folders_above_both() {
    let site = Site::new("chain");
    site.link("other/to-folder", "../a/b");
    site.link("other/to-file", "to-folder/file");
    for (path, to, ids, names, others) in [
        (
            "a/b/file",
            "a/b/file",
            &["", "a", "a/b"][..],
            &[("", "a"), ("a", "b"), ("a/b", "file")][..],
            &["other"][..],
        ),
        ("a/b", "a/b", &["", "a"], &[("a", "b")], &["a/b/file"]),
        ("a/b/..", "a", &[""], &[("a", "b")], &["a/b"]),
        (
            "other/to-folder",
            "a/b",
            &["other", "other/to-folder", "a"],
            &[("other", "to-folder")],
            &["other/to-file", "a/b/file"],
        ),
        (
            "other/to-file",
            "a/b/file",
            &["other", "other/to-file", "other/to-folder", "a/b", "a"],
            &[("other", "to-folder"), ("a/b", "file")],
            &[],
        ),
    ] {
        let mut all = Protected::default();
        let target = all.add_path_chain(&site.at(path)).unwrap();
        assert_eq!(target, site.id(to), "{path}");
        for part in [to].iter().chain(ids) {
            assert!(all.contains(site.id(part)), "{path}: {part}");
        }
        for (dir, name) in names {
            let is_protected = all.contains_name(site.id(dir), name);
            assert!(is_protected, "{path}: {name} in {dir}");
        }
        for other in others {
            assert!(!all.contains(site.id(other)), "{path}: {other}");
        }
    }
}

#[test]
fn a_path_with_more_links_than_the_kernel_follows_is_refused() {
    let site = Site::new("links");
    site.link("0", "a/b/file");
    for n in 1..=LINKS_MAX {
        site.link(&n.to_string(), &(n - 1).to_string());
    }
    site.link("loop", "loop");
    let add = |name: &str| Protected::default().add_path_chain(&site.at(name));
    let last = (LINKS_MAX - 1).to_string();
    assert_eq!(add(&last).unwrap(), site.id("a/b/file"));
    for name in [&LINKS_MAX.to_string(), "loop"] {
        let error = add(name).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TooManyLinks, "{name}");
    }
}

#[test]
fn paths_that_are_added_together_protect_as_much_as_each_alone() {
    let site = Site::new("together");
    site.link("to-folder", "a/b");
    site.link("a/to-file", "../a/b/file");
    site.link("a/to-nothing", "nowhere");
    let paths = [
        "a/b/file",
        "a/b/missing",
        "missing/file",
        "to-folder/file",
        "to-folder/missing",
        "a/to-file",
        "a/to-nothing",
        "a/to-file/beneath",
        "a",
        "a/b/../b/file",
    ];
    let paths = paths.map(|path| site.at(path));
    let (mut alone, mut together) = (Protected::default(), Protected::default());
    for path in &paths {
        let _ = alone.add_path_chain(path);
    }
    together.add_path_chains(paths);
    assert!(alone.has_name("missing") && alone.ids.len() > 5);
    assert_eq!(together.ids, alone.ids);
    assert_eq!(together.names, alone.names);
    assert_eq!(together.closed, alone.closed);
}
