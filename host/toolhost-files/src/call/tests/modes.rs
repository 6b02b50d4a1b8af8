//! Permissions: what a guest may set, and what a file keeps.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::alike::both;
use super::side::{Granted, Op, Side, tree};
use crate::platform;
use crate::workdir::staging::StagingRoot;
use crate::workdir::{CommitOptions, Workdir, WorkdirUsages};

/// Files and folders whose names are their modes.
const MODES: [&str; 8] = ["755", "644", "600", "400", "4755", "2775", "664", "777"];

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn furnish(dir: &Path) {
    for name in MODES {
        let mode = u32::from_str_radix(name, 8).unwrap();
        fs::write(dir.join(name), name).unwrap();
        set(&dir.join(name), mode);
        let folder = dir.join(format!("d{name}"));
        fs::create_dir(&folder).unwrap();
        set(&folder, mode);
    }
    symlink("755", dir.join("link")).unwrap();
}

/// The permissions that a new file or folder gets of these.
fn new(mode: u32) -> String {
    format!("{:o}", mode & !platform::umask())
}

/// What the group and others may have of `mode` in a file that has `former`.
fn within(mode: u32, former: u32) -> String {
    let all = 0o700 | !platform::umask() | former;
    format!("{:o}", mode & all)
}

fn ok(text: impl Into<String>) -> Result<String, Errno> {
    Ok(text.into())
}

#[test]
fn a_guest_sets_permissions_and_nothing_else_and_no_wider_than_those_of_new_files() {
    const SPECIAL: [u32; 5] = [0o4755, 0o2755, 0o1755, 0o10_644, u32::MAX];
    let create = OFlags::CREATE | OFlags::EXCL;
    let mut ops = vec![Op::Write("new", create, true, 0), Op::MakeDir("dnew")];
    let mut expected = vec![ok(""), ok("")];
    for (path, mode, left) in [
        ("new", 0o755, within(0o755, 0)),
        ("new", 0o666, within(0o666, 0)),
        ("new", 0o777, within(0o777, 0)),
        ("new", 0o200, text(0o600)),
        ("new", 0, text(0o400)),
        ("dnew", 0o777, within(0o777, 0)),
        ("dnew", 0, text(0o700)),
        ("644", 0o755, within(0o755, 0o644)),
        ("755", 0o644, within(0o644, 0o755)),
        ("600", 0o600, text(0o600)),
        ("400", 0o644, within(0o644, 0o400)),
        // What the operator gave stays possible.
        ("664", 0o775, within(0o775, 0o664)),
        ("777", 0o776, within(0o776, 0o777)),
        ("4755", 0o755, within(0o755, 0o755)),
        ("2775", 0o700, text(0o700)),
        ("d4755", 0o755, within(0o755, 0o755)),
        ("d2775", 0o775, within(0o775, 0o775)),
        ("link", 0o700, text(0o700)),
    ] {
        ops.extend([Op::Mode(path, mode), Op::ModeOf(path, true)]);
        expected.extend([ok(""), ok(left)]);
    }
    ops.push(Op::ModeOf("link", false));
    expected.push(ok("777"));
    for mode in SPECIAL {
        for path in ["new", "644", "dnew", "d755"] {
            ops.push(Op::Mode(path, mode));
            expected.push(Err(Errno::INVAL));
        }
    }
    let (results, denials, _) = both(&furnish, &|_| Granted::default(), &ops);
    for ((op, result), expected) in ops.iter().zip(&results).zip(&expected) {
        assert_eq!(result, expected, "{op:?}");
    }
    assert!(denials.is_empty(), "{denials:?}");
}

fn text(mode: u32) -> String {
    format!("{mode:o}")
}

#[test]
fn new_files_have_the_modes_of_the_umask_and_rewritten_ones_keep_theirs() {
    let (create, none) = (OFlags::CREATE | OFlags::EXCL, OFlags::empty());
    let ops = [
        Op::Write("new", create, true, 0),
        Op::ModeOf("new", true),
        Op::MakeDir("dnew"),
        Op::ModeOf("dnew", true),
        Op::Write("dnew/new", create, true, 0),
        Op::ModeOf("dnew/new", true),
        Op::Write("755", OFlags::CREATE | OFlags::TRUNC, true, 0),
        Op::ModeOf("755", true),
        Op::Write("600", none, true, 3),
        Op::Cut("664", 0),
        Op::Times("400", true),
        Op::Rename("777", "moved"),
        Op::Rename("d2775", "d2"),
        Op::Link("755", "second"),
        Op::Mode("second", 0o700),
        Op::ModeOf("755", true),
    ];
    let (results, ..) = both(&furnish, &|_| Granted::default(), &ops);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    for (at, mode) in [(1, 0o666), (3, 0o777), (5, 0o666)] {
        assert_eq!(results[at], ok(new(mode)));
    }
    assert_eq!(results[7], ok("755"));
    // A file has one mode, whatever its names.
    assert_eq!(results[15], ok("700"));
}

#[test]
fn a_new_file_that_replaces_another_has_its_mode_if_the_tool_knows_of_no_modes() {
    let create = OFlags::CREATE | OFlags::EXCL;
    let mut ops = Vec::new();
    for name in ["755", "600", "400", "4755", "664"] {
        ops.extend([
            Op::Write("new", create, true, 0),
            Op::Rename("new", name),
            Op::ModeOf(name, true),
        ]);
    }
    // A mode that somebody chose is not replaced; nor is anything moved to a free name.
    ops.extend([
        Op::Rename("600", "777"),
        Op::ModeOf("777", true),
        Op::Write("new", create, true, 0),
        Op::Rename("new", "free"),
        Op::ModeOf("free", true),
    ]);
    let modes = |keeps_modes: bool| {
        let granted = move |_: &Path| Granted {
            keeps_modes,
            ..Granted::default()
        };
        let (results, ..) = both(&furnish, &granted, &ops);
        let modes = ops.iter().zip(results);
        let modes = modes.filter(|(op, _)| matches!(op, Op::ModeOf(..)));
        modes.map(|(_, result)| result.unwrap()).collect::<Vec<_>>()
    };
    let plain = new(0o666);
    assert_eq!(
        modes(true),
        ["755", "600", "400", "755", "664", "600", &*plain]
    );
    let all_plain = [&*plain; 5].into_iter();
    let as_moved: Vec<_> = all_plain.chain([&*plain, &*plain]).collect();
    assert_eq!(modes(false), as_moved);
}

#[test]
fn a_folder_of_the_workdir_keeps_its_mode_in_a_transaction() {
    let (top, usages) = (tempfile::tempdir().unwrap(), WorkdirUsages::default());
    let work = top.path().join("work");
    fs::create_dir(&work).unwrap();
    furnish(&work);
    let workdir = Workdir::open_own(&work, &usages).unwrap();
    let staging = StagingRoot::open(top.path()).unwrap();
    let transaction = workdir.transactional(&staging).unwrap();
    let mut side = Side::new(&transaction, Granted::default());
    for path in ["d644", "."] {
        assert_eq!(side.run(&Op::Mode(path, 0o750)), Err(Errno::NOTSUP));
    }
    // Nothing changes, so that nothing is refused, and nothing committed.
    for (path, mode) in [("d755", 0o755), ("755", 0o755), ("d2775", 0o775)] {
        assert_eq!(side.run(&Op::Mode(path, mode)), ok(""));
    }
    drop(side);
    let committed = transaction.commit(&CommitOptions::default()).unwrap();
    assert!(committed.changes.files.is_empty(), "{committed:?}");
}

#[test]
fn undo_restores_the_modes_that_a_call_has_set() {
    let (top, usages) = (tempfile::tempdir().unwrap(), WorkdirUsages::default());
    let work = top.path().join("work");
    fs::create_dir(&work).unwrap();
    furnish(&work);
    let before = tree(&work);
    let mtime = |name: &str| {
        let metadata = fs::metadata(work.join(name)).unwrap();
        (metadata.mtime(), metadata.mtime_nsec())
    };
    let modified = mtime("644");
    let workdir = Workdir::open_own(&work, &usages).unwrap();
    let staging = StagingRoot::open(top.path()).unwrap();
    let transaction = workdir.transactional(&staging).unwrap();
    let mut side = Side::new(&transaction, Granted::default());
    for op in [Op::Mode("644", 0o700), Op::Mode("755", 0o600)] {
        assert_eq!(side.run(&op), ok(""));
    }
    drop(side);
    assert_eq!(tree(&work), before);
    let committed = transaction.commit(&CommitOptions::default()).unwrap();
    assert_eq!(committed.changes.files.len(), 2);
    assert_eq!(
        fs::metadata(work.join("644")).unwrap().mode() & 0o7777,
        0o700
    );
    assert_eq!(mtime("644"), modified);
    staging.undo(&workdir, committed.undo.as_deref()).unwrap();
    assert_eq!(tree(&work), before);
    assert_eq!(mtime("644"), modified);
}
