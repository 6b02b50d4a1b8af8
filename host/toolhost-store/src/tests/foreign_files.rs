//! State roots that hold what this program did not make.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::*;

/// Names of the files that the store opens.
const FILES: [&str; 4] = [
    "toolhost.db",
    "toolhost.db-wal",
    "toolhost.db-shm",
    "toolhost.db-journal",
];

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Opens a store that must be refused, on a thread, so that a wait fails the test.
fn refusal(root: &Path) -> StoreError {
    let (send, opened) = mpsc::channel();
    let root = root.to_owned();
    std::thread::spawn(move || send.send(open(&root).map(drop)));
    let opened = opened.recv_timeout(Duration::from_secs(30));
    opened.expect("it does not wait").unwrap_err()
}

#[test]
fn a_link_in_the_place_of_a_file_is_refused_and_its_target_unchanged() {
    for name in FILES {
        let (root, victim) = (state_root(), state_root());
        let target = victim.path().join("target");
        fs::write(&target, "mine").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
        symlink(&target, root.path().join(name)).unwrap();
        let refused = refusal(root.path()).with_causes();
        assert!(
            refused.contains(&format!("{name} is a symbolic link")),
            "{refused}"
        );
        assert_eq!(mode(&target), 0o644, "{name}");
        assert_eq!(fs::read(&target).unwrap(), b"mine", "{name}");

        fs::remove_file(&target).unwrap();
        refusal(root.path());
        assert!(
            !target.exists(),
            "{name}: nothing is made through a dangling link"
        );
    }
}

#[test]
fn what_is_not_a_file_in_the_place_of_a_file_is_refused_at_once() {
    type Plant = fn(&Path);
    let plants: [(&str, Plant); 3] = [
        ("a pipe", fifo),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ];
    for name in FILES {
        for (what, plant) in plants {
            let root = state_root();
            plant(&root.path().join(name));
            let refused = refusal(root.path()).with_causes();
            let text = format!("{name} is not a regular file: move it away");
            assert!(refused.contains(&text), "{what}: {refused}");
        }
    }
}

#[test]
fn a_huge_file_in_the_place_of_the_database_is_refused_at_once() {
    for name in &FILES[..2] {
        let root = state_root();
        let file = File::create(root.path().join(name)).unwrap();
        file.set_len(1 << 40).unwrap();
        let refused = refusal(root.path());
        let is_damage = matches!(
            refused,
            StoreError::Corrupt { .. } | StoreError::DamagedLog { .. }
        );
        assert!(is_damage, "{name}: {refused:?}");
    }
}

#[test]
fn a_state_root_that_others_can_write_is_refused_and_nothing_is_made_in_it() {
    let root = state_root();
    fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
    let refused = refusal(root.path()).with_causes();
    assert!(refused.contains("run `chmod go-w '"), "{refused}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn only_locks_of_runs_are_removed() {
    let (root, victim) = (state_root(), state_root());
    let runs = root.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let target = victim.path().join("aaaaaaaaaaaaaaaa.lock");
    fs::write(&target, "").unwrap();
    let dead = runs.join("bbbbbbbbbbbbbbbb.lock");
    fs::write(&dead, "").unwrap();
    symlink(&target, runs.join("cccccccccccccccc.lock")).unwrap();
    symlink("missing", runs.join("dddddddddddddddd.lock")).unwrap();
    fifo(&runs.join("eeeeeeeeeeeeeeee.lock"));
    fs::create_dir(runs.join("ffffffffffffffff.lock")).unwrap();
    for (name, text) in [
        ("yarn.lock", "theirs"),
        ("empty.lock", ""),
        ("gggggggggggggggg.lock", "not empty"),
        ("AAAAAAAAAAAAAAAA.lock", ""),
        ("hhhhhhhhhhhhhhhh", ""),
    ] {
        fs::write(runs.join(name), text).unwrap();
    }
    let names = || {
        let entries = fs::read_dir(&runs).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();

    let store = open(root.path()).unwrap();
    let own = format!("{}.lock", store.run_id());
    let after: Vec<_> = names().into_iter().filter(|name| **name != *own).collect();
    let expected: Vec<_> = before
        .into_iter()
        .filter(|name| **name != *dead.file_name().unwrap())
        .collect();
    assert_eq!(after, expected);
    assert!(target.exists());
    for strange in ["cccccccccccccccc", "eeeeeeeeeeeeeeee", "ffffffffffffffff"] {
        assert!(store.is_alive(strange), "it cannot be determined");
    }
}

#[test]
fn a_link_in_the_place_of_the_directory_of_locks_is_refused() {
    let (root, victim) = (state_root(), state_root());
    let target = victim.path().join("aaaaaaaaaaaaaaaa.lock");
    fs::write(&target, "").unwrap();
    symlink(victim.path(), root.path().join("runs")).unwrap();
    let refused = refusal(root.path()).with_causes();
    assert!(refused.contains("runs is a symbolic link"), "{refused}");
    assert!(target.exists());
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_trigger_that_never_ends_is_stopped() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    make_notes(&store).await;
    let stranger = Connection::open(database(&root)).unwrap();
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)";
    let trigger = format!(
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN
             DELETE FROM notes WHERE rowid = ({endless} SELECT max(n) FROM c);
         END"
    );
    stranger.execute_batch(&trigger).unwrap();
    let stopped = note(&store, "one").await.unwrap_err();
    assert!(matches!(stopped, StoreError::TooSlow { .. }), "{stopped:?}");
    assert!(notes(&store).await.is_empty(), "it was rolled back");
    stranger.execute_batch("DROP TRIGGER t").unwrap();
    note(&store, "two").await.unwrap();
}

#[tokio::test]
async fn a_row_that_needs_too_much_memory_is_an_error() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    make_notes(&store).await;
    let stranger = Connection::open(database(&root)).unwrap();
    let large = "CREATE TRIGGER t AFTER INSERT ON notes BEGIN
        UPDATE notes SET text = hex(zeroblob(490000000)) || hex(zeroblob(490000000)); END";
    stranger.execute_batch(large).unwrap();
    let refused = note(&store, "one").await.unwrap_err();
    assert!(matches!(refused, StoreError::Failed { .. }), "{refused:?}");
    stranger.execute_batch("DROP TRIGGER t").unwrap();
    note(&store, "two").await.unwrap();
    assert_eq!(notes(&store).await, ["two"]);
}
