use std::os::unix::fs::symlink;

use toolhost_store::{Schema, Store};

use super::*;

const SCHEMA: Schema = Schema {
    owner: "notes",
    steps: &["CREATE TABLE notes (n INTEGER)"],
    postgres: &[],
    legacy_versions: &[],
};

fn state_root() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::DirBuilder::new()
        .mode(0o700)
        .create(dir.path().join("state"))
        .unwrap();
    dir
}

fn put(path: &Path, text: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().unwrap();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_copied_with_their_modes_and_what_belongs_to_processes_is_not() {
    let dir = state_root();
    let (root, to) = (dir.path().join("state"), dir.path().join("copy"));
    put(&root.join("oauth.key"), "secret", 0o600);
    put(
        &root.join("workspaces/a/instances/b/workspace/run.sh"),
        "x",
        0o4755,
    );
    put(&root.join("changesets/c/f"), "y", 0o600);
    put(&root.join("staging/journal"), "z", 0o600);
    put(&root.join("runs/a.lock"), "", 0o600);
    let made = make(&root, &to).unwrap();
    assert_eq!((made.files, made.bytes, made.databases), (3, 8, 0));
    assert!(made.skipped.is_empty(), "{made:?}");
    assert_eq!(mode(&to), 0o700);
    assert_eq!(mode(&to.join("workspaces")), 0o700);
    assert_eq!(mode(&to.join("oauth.key")), 0o600);
    let script = "workspaces/a/instances/b/workspace/run.sh";
    assert_eq!(mode(&to.join(script)), 0o755);
    assert_eq!(fs::read(to.join("changesets/c/f")).unwrap(), b"y");
    for left_out in ["staging", "runs"] {
        assert!(!to.join(left_out).exists(), "{left_out}");
    }
}

#[test]
fn no_link_is_followed_and_nothing_is_waited_for() {
    let dir = state_root();
    let (root, to) = (dir.path().join("state"), dir.path().join("copy"));
    put(&dir.path().join("outside/secret"), "of the user", 0o600);
    let workspace = root.join("workspaces/a/instances/b/workspace");
    put(&workspace.join("f"), "x", 0o600);
    symlink(dir.path().join("outside"), workspace.join("folder")).unwrap();
    symlink(dir.path().join("outside/secret"), workspace.join("file")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    let pipe_path = workspace.join("pipe");
    rustix::fs::mknodat(CWD, &pipe_path, pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    let made = make(&root, &to).unwrap();
    let copied = to.join("workspaces/a/instances/b/workspace");
    for link in ["folder", "file"] {
        assert!(copied.join(link).is_symlink(), "{link}");
    }
    assert_eq!(
        made.skipped,
        [Path::new("workspaces/a/instances/b/workspace/pipe")]
    );
    assert!(!copied.join("pipe").exists());
}

#[test]
fn an_earlier_backup_is_not_overwritten_and_a_copy_within_the_state_root_is_refused() {
    let dir = state_root();
    let (root, to) = (dir.path().join("state"), dir.path().join("copy"));
    put(&root.join("f"), "new", 0o600);
    put(&to.join("f"), "old", 0o600);
    assert!(matches!(make(&root, &to), Err(BackupError::Exists(_))));
    assert_eq!(fs::read(to.join("f")).unwrap(), b"old");
    let within = root.join("copy");
    assert!(matches!(make(&root, &within), Err(BackupError::Within(_))));
    assert!(!within.exists());
    let none = dir.path().join("none");
    let refused = make(&none, &dir.path().join("other"));
    assert!(matches!(refused, Err(BackupError::StateRoot { .. })));
    // Nothing is left of one that failed.
    put(&root.join("bad.db"), &"not a database".repeat(500), 0o600);
    let failed = make(&root, &dir.path().join("other")).unwrap_err();
    assert!(matches!(failed, BackupError::Database(_)), "{failed:?}");
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
    left.sort_by_key(fs::DirEntry::file_name);
    let left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(left, ["copy", "state"]);
}

#[tokio::test]
async fn each_database_is_copied_as_it_is_at_one_moment_while_it_is_written() {
    let dir = state_root();
    let root = dir.path().join("state");
    let store = Store::open(&root, &SCHEMA).unwrap();
    let writer = {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0.. {
                // Two rows each: a copy with an odd number would not be of one moment.
                let written = store.write(move |tx| {
                    tx.execute("INSERT INTO notes VALUES (?1)", (i64::from(n),))?;
                    tx.execute("INSERT INTO notes VALUES (?1)", (i64::from(n),))
                });
                written.await.unwrap();
            }
        })
    };
    let mut last = 0;
    for number in 0..5 {
        let to = dir.path().join(format!("copy{number}"));
        let from = root.clone();
        let copied = tokio::task::spawn_blocking(move || make(&from, &to));
        assert_eq!(copied.await.unwrap().unwrap().databases, 1);
        let to = dir.path().join(format!("copy{number}"));
        assert_eq!(mode(&to.join("toolhost.db")), 0o600);
        assert!(!to.join("toolhost.db-wal").exists());
        let copy = Store::open(&to, &SCHEMA).unwrap();
        let count = "SELECT count(*), count(DISTINCT n) FROM notes";
        let count =
            copy.read(move |tx| tx.query_row(count, (), |row| Ok((row.get(0)?, row.get(1)?))));
        let (rows, distinct): (i64, i64) = count.await.unwrap();
        assert_eq!(rows, 2 * distinct);
        assert!(rows >= last, "{rows} after {last}");
        last = rows;
    }
    writer.abort();
}
