//! Runs a random session twice: by a guest in its workdir, and by system calls of the host.
//! Every step must have the same result, and the same files must remain.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use futures_executor::block_on;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use toolhost_tests::Work;

use super::probe::{code, script};

/// Few names, so that the steps of a session use the same files. None leads out of the directory, where
/// the guest and the host differ.
const PATHS: [&str; 20] = [
    "a", "b", "c", "d", "l", "m", "d/a", "d/b", "d/l", "l/a", "l/b", "m/a", "a/", "d/", "l/",
    "new/", "./a", "d/../a", "d/.", "",
];
const TARGETS: [&str; 7] = ["a", "b", "d", "l", "m", "d/a", "nothing"];

const TEXT: &str = "text";

#[derive(Debug, Clone)]
enum Op {
    Write {
        path: &'static str,
        how: OFlags,
        follow: bool,
        at: u64,
    },
    Cut {
        path: &'static str,
        size: u64,
    },
    Read {
        path: &'static str,
        follow: bool,
    },
    Stat {
        path: &'static str,
        follow: bool,
    },
    List {
        path: &'static str,
    },
    ReadLink {
        path: &'static str,
    },
    MakeDir {
        path: &'static str,
    },
    RemoveDir {
        path: &'static str,
    },
    Unlink {
        path: &'static str,
    },
    Rename {
        path: &'static str,
        to: &'static str,
    },
    Link {
        path: &'static str,
        to: &'static str,
    },
    Symlink {
        path: &'static str,
        target: &'static str,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let path = || select(PATHS.as_slice());
    let how = select(vec![
        OFlags::empty(),
        OFlags::CREATE,
        OFlags::CREATE | OFlags::EXCL,
        OFlags::CREATE | OFlags::TRUNC,
        OFlags::TRUNC,
    ]);
    prop_oneof![
        4 => (path(), how, any::<bool>(), 0..20_u64)
            .prop_map(|(path, how, follow, at)| Op::Write { path, how, follow, at }),
        1 => (path(), 0..20_u64).prop_map(|(path, size)| Op::Cut { path, size }),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::Read { path, follow }),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| Op::Stat { path, follow }),
        1 => path().prop_map(|path| Op::List { path }),
        1 => path().prop_map(|path| Op::ReadLink { path }),
        2 => path().prop_map(|path| Op::MakeDir { path }),
        1 => path().prop_map(|path| Op::RemoveDir { path }),
        2 => path().prop_map(|path| Op::Unlink { path }),
        3 => (path(), path()).prop_map(|(path, to)| Op::Rename { path, to }),
        2 => (path(), path()).prop_map(|(path, to)| Op::Link { path, to }),
        2 => (path(), select(TARGETS.as_slice())).prop_map(|(path, target)| Op::Symlink { path, target }),
    ]
}

/// The result of an operation; `None` if it failed.
type StepResult = Option<Value>;

/// Returns three steps for every operation: reset the slot to the workdir, so that steps after a failed
/// open are
/// refused; the operation, or its open; the use of the opened descriptor.
fn steps(op: &Op) -> [Value; 3] {
    let open = |path: &str, how: &[&str], flags: &[&str], follow: bool| json!({ "op": "open-at", "path": path, "open": how, "flags": flags, "follow": follow, "as": 1 });
    let nothing = || json!({ "op": "get-type", "on": 1 });
    let (first, then) = match *op {
        Op::Write {
            path,
            how,
            follow,
            at,
        } => {
            let names = [
                (OFlags::CREATE, "create"),
                (OFlags::EXCL, "exclusive"),
                (OFlags::TRUNC, "truncate"),
            ];
            let how = names.iter().filter(|(flag, _)| how.contains(*flag));
            let how: Vec<&str> = how.map(|(_, name)| *name).collect();
            let write = json!({ "op": "write", "on": 1, "text": TEXT, "offset": at });
            (open(path, &how, &["write"], follow), write)
        }
        Op::Cut { path, size } => (
            open(path, &[], &["write"], true),
            json!({ "op": "set-size", "on": 1, "size": size }),
        ),
        Op::Read { path, follow } => (
            open(path, &[], &["read"], follow),
            json!({ "op": "read", "on": 1, "length": 999 }),
        ),
        Op::List { path } => (
            open(path, &["directory"], &["read"], true),
            json!({ "op": "list", "on": 1 }),
        ),
        Op::Stat { path, follow } => (
            json!({ "op": "stat-at", "path": path, "follow": follow }),
            nothing(),
        ),
        Op::ReadLink { path } => (json!({ "op": "readlink-at", "path": path }), nothing()),
        Op::MakeDir { path } => (
            json!({ "op": "create-directory-at", "path": path }),
            nothing(),
        ),
        Op::RemoveDir { path } => (
            json!({ "op": "remove-directory-at", "path": path }),
            nothing(),
        ),
        Op::Unlink { path } => (json!({ "op": "unlink-file-at", "path": path }), nothing()),
        Op::Rename { path, to } => (
            json!({ "op": "rename-at", "path": path, "to": to }),
            nothing(),
        ),
        Op::Link { path, to } => (
            json!({ "op": "link-at", "path": path, "to": to }),
            nothing(),
        ),
        Op::Symlink { path, target } => (
            json!({ "op": "symlink-at", "path": path, "target": target }),
            nothing(),
        ),
    };
    [
        json!({ "op": "open-at", "path": ".", "as": 1 }),
        first,
        then,
    ]
}

/// Returns the guest's result of an operation from those of its three steps.
fn guest_result(op: &Op, results: &[Value]) -> StepResult {
    let [_, first, then] = results else {
        panic!("three results");
    };
    if code(first) != "ok" {
        return None;
    }
    Some(match op {
        Op::Read { .. } => then["text"].clone(),
        Op::List { .. } => then["entries"].clone(),
        Op::Stat { .. } if first["type"] == "directory" => json!(["directory", first["linkCount"]]),
        Op::Stat { .. } => json!([first["type"], first["linkCount"], first["size"]]),
        Op::ReadLink { .. } => first["target"].clone(),
        Op::Write { .. } | Op::Cut { .. } | Op::MakeDir { .. } | Op::RemoveDir { .. } => {
            Value::Null
        }
        Op::Unlink { .. } | Op::Rename { .. } | Op::Link { .. } | Op::Symlink { .. } => Value::Null,
    })
}

fn kind_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "directory"
    } else if kind.is_symlink() {
        "symbolic-link"
    } else {
        "regular-file"
    }
}

/// Performs the operation with system calls of the host.
fn host_result(twin: &File, op: &Op) -> Result<Value, Errno> {
    let mode = Mode::from_raw_mode(0o777);
    let open = |path: &str, how: OFlags, follow: bool| {
        let nofollow = if follow {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        rustix::fs::openat(twin, path, how | nofollow, mode).map(File::from)
    };
    match *op {
        Op::Write {
            path,
            how,
            follow,
            at,
        } => {
            let _ = open(path, how | OFlags::WRONLY, follow)?.write_all_at(TEXT.as_bytes(), at);
        }
        Op::Cut { path, size } => open(path, OFlags::WRONLY, true)?.set_len(size).unwrap(),
        Op::Read { path, follow } => {
            let mut text = vec![0; 999];
            let read = open(path, OFlags::RDONLY, follow)?.read_at(&mut text, 0);
            return Ok(read.map_or(Value::Null, |read| {
                json!(String::from_utf8_lossy(&text[..read]))
            }));
        }
        Op::List { path } => {
            let listed = Dir::read_from(open(path, OFlags::RDONLY | OFlags::DIRECTORY, true)?)?;
            let mut entries = BTreeMap::new();
            for entry in listed {
                let entry = entry?;
                let name = entry.file_name().to_str().unwrap().to_owned();
                if ![".", ".."].contains(&name.as_str()) {
                    entries.insert(name, kind_of(entry.file_type()));
                }
            }
            let entries = entries
                .into_iter()
                .map(|(name, kind)| json!({ "name": name, "type": kind }));
            return Ok(entries.collect());
        }
        Op::Stat { path, follow } => {
            let flags = if follow {
                AtFlags::empty()
            } else {
                AtFlags::SYMLINK_NOFOLLOW
            };
            let stat = rustix::fs::statat(twin, path, flags)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            return Ok(match kind_of(kind) {
                "directory" => json!(["directory", stat.st_nlink]),
                kind => json!([kind, stat.st_nlink, stat.st_size]),
            });
        }
        Op::ReadLink { path } => {
            let target = rustix::fs::readlinkat(twin, path, Vec::new())?;
            return Ok(json!(target.to_str().unwrap()));
        }
        Op::MakeDir { path } => rustix::fs::mkdirat(twin, path, mode)?,
        Op::RemoveDir { path } => rustix::fs::unlinkat(twin, path, AtFlags::REMOVEDIR)?,
        Op::Unlink { path } => rustix::fs::unlinkat(twin, path, AtFlags::empty())?,
        Op::Rename { path, to } => rustix::fs::renameat(twin, path, twin, to)?,
        Op::Link { path, to } => rustix::fs::linkat(twin, path, twin, to, AtFlags::empty())?,
        Op::Symlink { path, target } => rustix::fs::symlinkat(target, twin, path)?,
    }
    Ok(Value::Null)
}

/// Returns all entries beneath a directory, without times and inodes.
fn entries(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let contents = match metadata.file_type() {
                kind if kind.is_symlink() => format!("-> {:?}", fs::read_link(&path).unwrap()),
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    String::new()
                }
                _ => format!("{:?} of {}", fs::read(&path).unwrap(), metadata.nlink()),
            };
            found.insert(path.strip_prefix(top).unwrap().to_owned(), contents);
        }
    }
    found
}

/// Returns the bytes of all files, each counted once.
fn on_disk(top: &Path) -> u64 {
    let mut sizes = BTreeMap::new();
    for path in entries(top).into_keys() {
        let metadata = fs::symlink_metadata(top.join(path)).unwrap();
        if metadata.is_file() {
            sizes.insert(metadata.ino(), metadata.len());
        }
    }
    sizes.values().sum()
}

const MOST: u64 = 10_000;

/// Bytes that each name counts for.
const NAME: u64 = 4_096;

fn check(session: &[Op]) -> Result<(), TestCaseError> {
    let (work, twin) = (Work::new(), tempfile::tempdir().unwrap());
    let script_of_all: Vec<Value> = session.iter().flat_map(steps).collect();
    let ran = block_on(script(&work.workdir, &script_of_all, |request| {
        request.limits.workdir_bytes = MOST + NAME * session.len() as u64;
    }));
    let handle = File::open(twin.path()).unwrap();
    for (op, results) in session.iter().zip(ran.results.chunks(3)) {
        let host = host_result(&handle, op);
        prop_assert_eq!(
            guest_result(op, results),
            host.ok(),
            "{:?} {:?}",
            op,
            results
        );
    }
    prop_assert_eq!(entries(work.dir.path()), entries(twin.path()));

    // The growth count is exact: the rest of the workdir's limit can be written, and no more.
    let rest = MOST - on_disk(work.dir.path());
    let names = 1 + entries(work.dir.path()).len() as u64;
    let size = |size: u64| json!({ "op": "set-size", "on": 1, "size": size });
    let open =
        json!({ "op": "open-at", "path": "rest", "open": ["create"], "flags": ["write"], "as": 1 });
    let ran = block_on(script(
        &work.workdir,
        &[open, size(rest), size(rest + 1)],
        |request| {
            request.limits.workdir_bytes = MOST + NAME * names;
        },
    ));
    prop_assert_eq!(ran.codes(), ["ok", "ok", "insufficient-space"]);
    Ok(())
}

#[test]
fn a_guest_gets_the_same_results_as_the_host() {
    let config = Config {
        cases: 200,
        failure_persistence: None,
        ..Config::default()
    };
    // The seed is fixed: every run has the same sessions.
    let chosen = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, chosen);
    let sessions = proptest::collection::vec(op(), 1..40);
    runner.run(&sessions, |session| check(&session)).unwrap();
}
