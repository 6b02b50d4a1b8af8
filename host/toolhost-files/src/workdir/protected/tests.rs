use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::NameChange::{File, FolderOrLink};
use super::*;

fn id(inode: u64) -> FileId {
    FileId { device: 1, inode }
}

/// A bundle in directory 1 with a name and its case files in directory 2, and file 3.
fn bundle() -> Protected {
    let mut all = Protected::default();
    all.add_bundle_dir(id(1));
    all.add_name(id(1), OsStr::new("name"));
    all.add_cases(id(2));
    all.add(id(3));
    all
}

fn closed(dir: u64) -> Protected {
    let mut all = Protected::default();
    all.close(id(dir));
    all
}

/// What a list says of a bundle, and of another directory.
fn answers(set: &ProtectedSet) -> [bool; 6] {
    let made = ["tests".to_owned()];
    [
        set.contains(id(3)),
        set.forbids(id(2), "a.yaml", File),
        set.forbids_beneath(id(1), &made, "a.yaml", File),
        set.contains(id(4)),
        set.forbids(id(4), "a.yaml", File),
        set.forbids_beneath(id(4), &made, "a.yaml", File),
    ]
}

#[test]
fn what_any_list_has_is_protected() {
    let of_bundle = [true, true, true, false, false, false];
    let lists = |lists: Vec<Protected>| Some(lists.into_iter().map(Arc::new).collect());
    for (found, expected) in [
        (lists(vec![]), [false; 6]),
        (lists(vec![bundle()]), of_bundle),
        (lists(vec![closed(9), bundle()]), of_bundle),
        (None, [true; 6]),
    ] {
        assert_eq!(answers(&ProtectedSet::from(found)), expected);
    }
}

#[test]
fn the_file_system_asks_what_is_known_and_then_what_is_protected_now() {
    let lists = vec![Arc::new(bundle()), Arc::new(closed(9))];
    let protected = WriteProtected::refreshed_by(move || Some(lists.clone()));
    assert!(protected.contains(id(3)) && !protected.contains(id(1)));
    assert!(protected.has_name("NAME") && !protected.has_name("other"));
    assert!(protected.may_change_cases("a.yaml", File));
    assert!(protected.may_change_cases("a", FolderOrLink));
    assert!(!protected.may_change_cases("a", File));
    assert!(protected.is_closed(id(9)) && !protected.is_closed(id(1)));
    assert!(protected.has_closed_dirs() && protected.is_refreshed());
    assert!(!protected.is_everything());
    let files = WriteProtected::new([id(3), id(4)]);
    assert!(files.contains(id(3)) && files.contains(id(4)) && !files.contains(id(5)));
    assert!(!files.is_refreshed() && !files.has_closed_dirs() && !files.is_everything());
    assert!(files.current().contains(id(4)) && !files.current().contains(id(5)));
    assert!(format!("{files:?}").contains("inode: 4"));
    let nothing = WriteProtected::default();
    assert_eq!(answers(&nothing.current()), [false; 6]);
    assert!(!nothing.has_name("name") && !nothing.is_everything());
}

#[test]
fn what_cannot_be_found_out_is_protected() {
    for all in [WriteProtected::all(), WriteProtected::refreshed_by(|| None)] {
        assert!(all.is_everything() && all.contains(id(1)) && all.has_name("a"));
        assert!(all.is_closed(id(1)) && all.has_closed_dirs());
        assert!(all.may_change_cases("a", File));
        assert_eq!(answers(&all.current()), [true; 6]);
    }
    // It is known when a step begins, and cannot be found out later.
    let calls = AtomicU64::new(0);
    let later = WriteProtected::refreshed_by(move || match calls.fetch_add(1, Ordering::SeqCst) {
        0 => Some(vec![]),
        1 => Some(vec![Arc::new(bundle())]),
        _ => None,
    });
    assert!(!later.contains(id(3)) && !later.is_everything());
    assert!(later.current().contains(id(3)));
    assert_eq!(answers(&later.current()), [true; 6]);
}
