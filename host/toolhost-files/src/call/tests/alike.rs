//! A call gets in a transaction what it gets directly: the same results, errors, denials and limits. What is refused
//! changes nothing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::Errno;
use toolhost_contract::{Denial, DiskLimit, FileChanges, FileId, Limits, WorkdirAccess};

use super::side::{Granted, Op, Side, tree};
use crate::workdir::staging::StagingRoot;
use crate::workdir::{CommitOptions, Workdir, WorkdirUsages, WriteProtected, id_of};

pub(super) type Results = Vec<Result<String, Errno>>;

/// Performs operations in a direct call and in a transaction, each in a workdir of its own, and commits. Returns
/// the results, the denials and the limit of the disk that was reached, which are the same of both.
pub(super) fn both(
    furnish: &dyn Fn(&Path),
    granted: &dyn Fn(&Path) -> Granted,
    ops: &[Op],
) -> (Results, Vec<Denial>, Option<DiskLimit>) {
    let top = tempfile::tempdir().unwrap();
    let [work, beside] = ["work", "beside"].map(|name| top.path().join(name));
    fs::create_dir(top.path().join("outside")).unwrap();
    fs::write(top.path().join("outside/secret"), "secret").unwrap();
    for dir in [&work, &beside] {
        fs::create_dir(dir).unwrap();
        furnish(dir);
    }
    let outside = tree(&top.path().join("outside"));
    let usages = WorkdirUsages::default();
    let open = |dir: &Path| Workdir::open_own(dir, &usages).unwrap();
    let staging = StagingRoot::open(top.path()).unwrap();
    let transaction = open(&work).transactional(&staging).unwrap();
    let mut direct = Side::new(&open(&beside), granted(&beside));
    let mut kept_apart = Side::new(&transaction, granted(&work));
    let before = tree(&work);
    let mut results = Results::new();
    for op in ops {
        let (result, other) = (direct.run(op), kept_apart.run(op));
        assert_eq!(result, other, "{op:?}");
        results.push(result);
    }
    assert_eq!(tree(&work), before, "before the commit");
    let of = |side: &Side| {
        let meter = side.files.meter();
        (meter.attempts.denials(), meter.disk_limit())
    };
    let (denials, limit) = of(&direct);
    assert_eq!(of(&kept_apart), (denials.clone(), limit), "{ops:?}");
    let committed = transaction.commit(&CommitOptions::default()).unwrap();
    assert_eq!(tree(&work), tree(&beside), "{ops:?}");
    let listed = |changes: FileChanges| -> Vec<_> {
        let files = changes.files.into_iter();
        files.map(|file| (file.path, file.kind)).collect()
    };
    let direct = direct.files.meter().changes.list();
    assert_eq!(listed(committed.changes), listed(direct), "{ops:?}");
    assert_eq!(tree(&top.path().join("outside")), outside, "{ops:?}");
    (results, denials, limit)
}

fn furnish(dir: &Path) {
    fs::create_dir_all(dir.join("d/e")).unwrap();
    fs::write(dir.join("a"), "first").unwrap();
    symlink("../outside", dir.join("out")).unwrap();
    symlink("../../outside/secret", dir.join("d/out")).unwrap();
    symlink(dir.parent().unwrap().join("outside"), dir.join("absolute")).unwrap();
}

/// Everything that may change what a path leads to, or what has its name.
fn changes(path: &'static str) -> Vec<Op> {
    let none = OFlags::empty();
    vec![
        Op::Write(path, none, true, 0),
        Op::Write(path, OFlags::CREATE, true, 0),
        Op::Write(path, OFlags::CREATE | OFlags::TRUNC, true, 0),
        Op::Write(path, OFlags::CREATE | OFlags::EXCL, false, 0),
        Op::Cut(path, 0),
        Op::Times(path, true),
        Op::Mode(path, 0o700),
        Op::MakeDir(path),
        Op::RemoveDir(path),
        Op::Unlink(path),
        Op::Rename(path, "stolen"),
        Op::Rename("a", path),
        Op::Link(path, "hard"),
        Op::Link("a", path),
        Op::Symlink("a", path),
    ]
}

#[test]
fn no_verb_leaves_the_workdir() {
    for path in [
        "..",
        "../outside/secret",
        "../outside/new",
        "/",
        "/etc/passwd",
        "d/../../outside/secret",
        "d/e/../../../outside/new",
        "out/secret",
        "out/new",
        "absolute/secret",
        "absolute/new",
    ] {
        let mut ops = changes(path);
        ops.extend([
            Op::Read(path, true),
            Op::Stat(path, true),
            Op::Stat(path, false),
            Op::ModeOf(path, true),
            Op::ModeOf(path, false),
            Op::List(path),
            Op::ReadLink(path),
        ]);
        let (results, ..) = both(&furnish, &|_| Granted::default(), &ops);
        for (op, result) in ops.iter().zip(results) {
            assert!(result.is_err(), "{op:?}: {result:?}");
        }
        // The overlay resolves paths from the first change on.
        ops.insert(0, Op::MakeDir("first"));
        let (results, ..) = both(&furnish, &|_| Granted::default(), &ops);
        for (op, result) in ops.iter().zip(results).skip(1) {
            assert!(result.is_err(), "{op:?}: {result:?}");
        }
    }
    // The links themselves are entries of the workdir.
    let follow = [
        Op::Read("d/out", true),
        Op::Write("d/out", OFlags::empty(), true, 0),
        Op::Cut("d/out", 0),
        Op::Times("d/out", true),
        Op::Mode("d/out", 0o700),
        Op::ModeOf("d/out", true),
    ];
    let (results, ..) = both(&furnish, &|_| Granted::default(), &follow);
    assert_eq!(results, vec![Err(Errno::PERM); 6]);
    let itself = [
        Op::ReadLink("d/out"),
        Op::Rename("d/out", "moved"),
        Op::Unlink("moved"),
    ];
    let (results, ..) = both(&furnish, &|_| Granted::default(), &itself);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

const MANIFEST: &str = "bundle/goondan.yaml";
const ENTRY: &str = "bundle/tools/tool.wasm";

fn furnish_bundle(dir: &Path) {
    furnish(dir);
    fs::create_dir_all(dir.join("bundle/tools")).unwrap();
    for file in [MANIFEST, ENTRY, "bundle/notes"] {
        fs::write(dir.join(file), file).unwrap();
    }
    fs::hard_link(dir.join(MANIFEST), dir.join("alias")).unwrap();
    symlink("tools", dir.join("bundle/way")).unwrap();
    symlink(MANIFEST, dir.join("soft")).unwrap();
}

fn id(path: &Path) -> FileId {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    id_of(rustix::fs::open(path, flags, Mode::empty()).unwrap()).unwrap()
}

fn with_bundle(dir: &Path) -> Granted {
    let protected = ["", "bundle", "bundle/tools", "bundle/way", MANIFEST, ENTRY];
    Granted {
        protected: WriteProtected::new(protected.map(|path| id(&dir.join(path)))),
        ..Granted::default()
    }
}

#[test]
fn protected_files_cannot_be_changed_through_any_name() {
    let none = OFlags::empty();
    let mut refused = vec![
        Op::Write("soft", none, true, 0),
        Op::Times("soft", true),
        Op::Mode("soft", 0o700),
        Op::Mode("bundle/tools", 0o700),
        Op::Rename("bundle", "elsewhere"),
        Op::Rename("d", "bundle"),
        Op::Rename("bundle/tools", "d/tools"),
        Op::RemoveDir("bundle/tools"),
        Op::Unlink("bundle/way"),
        Op::Rename("a", "bundle/way"),
        Op::Times("bundle/way", false),
    ];
    for name in [MANIFEST, ENTRY, "alias", "d/../bundle/goondan.yaml"] {
        refused.extend([
            Op::Write(name, none, false, 0),
            Op::Write(name, OFlags::CREATE | OFlags::TRUNC, true, 0),
            Op::Cut(name, 0),
            Op::Times(name, true),
            Op::Mode(name, 0o700),
            Op::Unlink(name),
            Op::Rename(name, "stolen"),
            Op::Rename("a", name),
            Op::Link(name, "hard"),
        ]);
    }
    for op in refused {
        for first in ["first", "bundle/first"] {
            let ops = [op.clone(), Op::MakeDir(first), op.clone()];
            let (results, denials, _) = both(&furnish_bundle, &with_bundle, &ops);
            assert_eq!(results[0], Err(Errno::PERM), "{op:?}");
            assert_eq!(results[2], Err(Errno::PERM), "{op:?}");
            assert_eq!(denials, [Denial::WriteProtected], "{op:?}");
        }
    }
    let allowed = [
        Op::Read(MANIFEST, false),
        Op::Write("bundle/notes", none, false, 0),
        Op::Write("bundle/tools/new", OFlags::CREATE, false, 0),
        Op::Unlink("soft"),
        Op::Rename("a", "bundle/a"),
    ];
    let (results, denials, _) = both(&furnish_bundle, &with_bundle, &allowed);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(denials.is_empty(), "{denials:?}");
}

#[test]
fn a_read_only_workdir_can_be_read_and_not_changed() {
    let granted = |_: &Path| Granted {
        access: WorkdirAccess::ReadOnly,
        ..Granted::default()
    };
    let everything = |_: &Path| Granted {
        protected: WriteProtected::all(),
        ..Granted::default()
    };
    for path in ["a", "new", "d"] {
        let ops = changes(path);
        let (results, denials, _) = both(&furnish, &granted, &ops);
        assert!(results.iter().all(|result| *result == Err(Errno::ROFS)));
        assert_eq!(denials, [Denial::ReadOnly]);
        let (results, denials, _) = both(&furnish, &everything, &ops);
        assert!(results.iter().all(|result| *result == Err(Errno::ROFS)));
        assert_eq!(denials, [Denial::WriteProtected]);
    }
    let read = [
        Op::Read("a", true),
        Op::Stat("d", true),
        Op::List("d"),
        Op::ReadLink("out"),
    ];
    let (results, denials, _) = both(&furnish, &granted, &read);
    assert_eq!(results[0], Ok("first".to_owned()));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(denials.is_empty(), "{denials:?}");
}

#[test]
fn pipes_are_never_opened_and_can_be_listed_moved_and_removed() {
    let furnish = |dir: &Path| {
        furnish(dir);
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, dir.join("pipe"), FileType::Fifo, mode, 0).unwrap();
    };
    let ops = [
        Op::Read("pipe", true),
        Op::Write("pipe", OFlags::empty(), true, 0),
        Op::Write("pipe", OFlags::CREATE | OFlags::TRUNC, true, 0),
        Op::Cut("pipe", 0),
        Op::List("."),
        Op::Rename("pipe", "d/moved"),
        Op::List("d"),
        Op::Unlink("d/moved"),
    ];
    let (results, ..) = both(&furnish, &|_| Granted::default(), &ops);
    let (refused, others) = results.split_at(4);
    assert_eq!(refused, vec![Err(Errno::PERM); 4]);
    assert!(others.iter().all(Result::is_ok), "{others:?}");
}

#[test]
fn what_is_created_and_written_has_the_same_limits() {
    let create = OFlags::CREATE | OFlags::EXCL;
    let with = |limits: fn() -> Limits| {
        move |_: &Path| Granted {
            limits: limits(),
            ..Granted::default()
        }
    };
    let names = [
        Op::MakeDir("new"),
        Op::Symlink("a", "new/link"),
        Op::Write("new/file", create, false, 0),
        Op::Link("new/link", "more"),
        Op::Unlink("new/link"),
        Op::MakeDir("more"),
    ];
    let two = with(|| Limits {
        files: 2,
        ..Limits::default()
    });
    let (results, _, limit) = both(&furnish, &two, &names);
    let succeeded: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(succeeded, [true, true, false, false, true, false]);
    assert_eq!(limit, Some(DiskLimit::Files));
    let written = [
        Op::Write("new", create, false, 0),
        Op::Write("new", OFlags::empty(), false, 4),
        Op::Write("new", OFlags::empty(), false, 8),
        Op::Cut("new", 100),
    ];
    let few_bytes = with(|| Limits {
        disk_bytes: 4_096 + 9,
        ..Limits::default()
    });
    let little_growth = with(|| Limits {
        workdir_bytes: 4_096 + 9,
        ..Limits::default()
    });
    for (granted, reached) in [
        (
            &few_bytes as &dyn Fn(&Path) -> Granted,
            DiskLimit::CallBytes,
        ),
        (&little_growth, DiskLimit::WorkdirBytes),
    ] {
        let (results, _, limit) = both(&furnish, granted, &written);
        let nothing = || Ok(String::new());
        let full = || Err(Errno::NOSPC);
        assert_eq!(results, [nothing(), nothing(), full(), full()]);
        assert_eq!(limit, Some(reached));
    }
}

#[test]
fn what_is_removed_cut_and_replaced_gives_its_space_back() {
    let create = OFlags::CREATE | OFlags::EXCL;
    // A name counts as a block, and each file has a hundred bytes at most.
    let granted = |_: &Path| Granted {
        limits: Limits {
            workdir_bytes: 2 * 4_096 + 100,
            ..Limits::default()
        },
        ..Granted::default()
    };
    let ops = [
        Op::Write("one", create, false, 96),
        Op::Write("other", create, false, 0),
        Op::Unlink("one"),
        Op::Write("other", OFlags::empty(), false, 96),
        Op::Write("one", create, false, 0),
        Op::Cut("other", 10),
        Op::Write("one", OFlags::empty(), false, 86),
        Op::Write("one", OFlags::empty(), false, 87),
        Op::Rename("other", "one"),
        Op::Write("other", create, false, 86),
        Op::Hold(0, "other", true),
        Op::Unlink("other"),
        Op::Write("more", create, false, 0),
        Op::WriteHeld(0, 0),
        Op::ReadHeld(0),
    ];
    let (results, ..) = both(&furnish, &granted, &ops);
    let failed: Vec<usize> = (0..ops.len()).filter(|at| results[*at].is_err()).collect();
    assert_eq!(failed, [1, 4, 7, 12], "{results:?}");
}

#[test]
fn times_are_set_of_files_and_links_and_names_that_are_not_utf_8_are_listed() {
    let furnish = |dir: &Path| {
        furnish(dir);
        symlink("a", dir.join("way")).unwrap();
        fs::write(dir.join(OsStr::from_bytes(b"odd\xff")), "").unwrap();
    };
    let ops = [
        Op::List("."),
        Op::Times("way", false),
        Op::Times("way", true),
        Op::Stat("a", true),
        Op::List("."),
    ];
    let (results, ..) = both(&furnish, &|_| Granted::default(), &ops);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let listed = results[0].as_ref().unwrap();
    assert!(listed.contains("odd\u{fffd} file"), "{listed}");
}
