mod damaged_log;
mod foreign_files;
mod formats;
#[cfg(feature = "testing")]
mod postgres;
mod second_process;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tokio::task::JoinSet;

use self::second_process::{SecondProcess, given_state_root, report, wait};
use super::database::FILE_NAME;
use super::schema::FORMAT;
use super::*;

const SCHEMA: Schema = Schema {
    owner: "tests",
    steps: &["CREATE TABLE first (n)", "CREATE TABLE second (n)"],
    postgres: &[],
    legacy_versions: &[1, 3],
};

fn open(state_root: &Path) -> Result<Store, StoreError> {
    Store::open(state_root, &SCHEMA)
}

fn state_root() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn database(root: &TempDir) -> PathBuf {
    root.path().join(FILE_NAME)
}

fn lock_of(root: &Path, run_id: &str) -> PathBuf {
    root.join("runs").join(format!("{run_id}.lock"))
}

/// Creates a table for the tests.
async fn make_notes(store: &Store) {
    let made =
        store.write(|tx| tx.execute_batch("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)"));
    made.await.unwrap();
}

async fn note(store: &Store, text: &'static str) -> Result<(), StoreError> {
    store
        .write(move |tx| {
            tx.execute("INSERT INTO notes VALUES (?1)", [text])
                .map(|_| ())
        })
        .await
}

async fn notes(store: &Store) -> Vec<String> {
    let read = store.read(|tx| {
        tx.query_map("SELECT text FROM notes ORDER BY rowid", (), |row| {
            row.get(0)
        })
    });
    read.await.unwrap()
}

/// Occupies the store's thread until the sender is dropped.
async fn occupy(store: &Store) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let store = store.clone();
    let occupied = tokio::spawn(async move {
        let work = store.read(move |_| {
            begin.send(()).unwrap();
            let _ = released.recv();
            Ok(())
        });
        work.await.unwrap();
    });
    begun.recv().await.unwrap();
    (release, occupied)
}

#[tokio::test]
async fn all_files_are_private() {
    let root = state_root();
    let dir = root.path().join("not/there/yet");
    let store = open(&dir).unwrap();
    make_notes(&store).await;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("runs")), 0o700);
    for file in ["toolhost.db", "toolhost.db-wal", "toolhost.db-shm"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&lock_of(&dir, &store.run_id())), 0o600);
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(left.len(), 4, "{left:?}");

    drop(store);
    fs::set_permissions(dir.join(FILE_NAME), Permissions::from_mode(0o644)).unwrap();
    let _store = open(&dir).unwrap();
    assert_eq!(mode(&dir.join(FILE_NAME)), 0o600);
}

#[tokio::test]
async fn a_connection_has_the_documented_settings() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    let pragma = |name: &'static str| {
        let store = store.clone();
        async move {
            let read = store.read(move |tx| {
                let pragma = format!("PRAGMA {name}");
                tx.query_row(&pragma, (), |row| row.get::<i64>(0))
            });
            read.await.unwrap()
        }
    };
    for (name, value) in [
        ("synchronous", 1),
        ("foreign_keys", 1),
        ("busy_timeout", 5000),
        ("user_version", FORMAT),
    ] {
        assert_eq!(pragma(name).await, value, "{name}");
    }
    let journal = store.read(|tx| tx.query_row("PRAGMA journal_mode", (), |row| row.get(0)));
    let journal: String = journal.await.unwrap();
    assert_eq!(journal, "wal");
}

#[tokio::test]
async fn keeps_commits_and_rolls_back_failures() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    make_notes(&store).await;
    note(&store, "kept").await.unwrap();
    let failed = store.write(|tx| {
        tx.execute("INSERT INTO notes VALUES ('half')", ())?;
        tx.execute("INSERT INTO notes VALUES (NULL)", ())
    });
    let failed = failed.await;
    assert!(
        matches!(failed, Err(StoreError::Failed { .. })),
        "{failed:?}"
    );
    note(&store, "kept, too").await.unwrap();
    assert_eq!(notes(&store).await, ["kept", "kept, too"]);

    drop(store);
    let store = open(root.path()).unwrap();
    assert_eq!(notes(&store).await, ["kept", "kept, too"]);
}

#[tokio::test]
async fn a_panic_rolls_back_and_the_thread_continues() {
    for store in [
        Store::in_memory(&SCHEMA).unwrap(),
        open(state_root().path()).unwrap(),
    ] {
        make_notes(&store).await;
        for _ in 0..3 {
            let panicked = store.write(|tx| -> sql::Result<()> {
                tx.execute("INSERT INTO notes VALUES ('half')", ())?;
                panic!("on purpose");
            });
            let panicked = panicked.await;
            assert!(
                matches!(panicked, Err(StoreError::Panicked { .. })),
                "{panicked:?}"
            );
        }
        note(&store, "whole").await.unwrap();
        assert_eq!(notes(&store).await, ["whole"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_work_is_completed_or_not_begun() {
    let store = Store::in_memory(&SCHEMA).unwrap();
    make_notes(&store).await;

    let (release, occupied) = occupy(&store).await;
    let mut waiting = Box::pin(note(&store, "dropped before its turn"));
    // Polled once, so that it is queued.
    tokio::select! {
        biased;
        _ = &mut waiting => unreachable!("the thread is occupied"),
        () = std::future::ready(()) => {}
    }
    drop(waiting);
    drop(release);
    occupied.await.unwrap();

    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = mpsc::channel::<()>();
    let begun_work = tokio::spawn({
        let store = store.clone();
        async move {
            let work = store.write(move |tx| {
                tx.execute("INSERT INTO notes VALUES ('begun')", ())?;
                begin.send(()).unwrap();
                let _ = released.recv();
                tx.execute("INSERT INTO notes VALUES ('whole')", ())
            });
            work.await
        }
    });
    begun.recv().await.unwrap();
    begun_work.abort();
    assert!(begun_work.await.unwrap_err().is_cancelled());
    drop(release);
    assert_eq!(notes(&store).await, ["begun", "whole"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_makes_callers_wait() {
    let store = Store::in_memory(&SCHEMA).unwrap();
    make_notes(&store).await;
    let (release, occupied) = occupy(&store).await;
    let mut writes = JoinSet::new();
    for _ in 0..1500 {
        let store = store.clone();
        writes.spawn(async move { note(&store, "one").await.unwrap() });
    }
    while store.queue_capacity() > 0 {
        tokio::task::yield_now().await;
    }
    drop(release);
    occupied.await.unwrap();
    writes.join_all().await;
    assert_eq!(notes(&store).await.len(), 1500);
}

#[tokio::test]
async fn the_thread_ends_with_the_last_clone() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    let lock = lock_of(root.path(), &store.run_id());
    let watched = File::open(&lock).unwrap();
    let clone = store.clone();
    drop(store);
    make_notes(&clone).await;
    assert!(
        flock(&watched, FlockOperation::NonBlockingLockShared).is_err(),
        "the run is alive"
    );
    drop(clone);
    // The thread releases the lock last.
    flock(&watched, FlockOperation::LockShared).unwrap();
    assert!(!lock.exists());
    assert!(!root.path().join("toolhost.db-wal").exists());
}

#[tokio::test]
async fn a_database_locked_for_too_long_is_an_error() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    make_notes(&store).await;
    // Without the five seconds that the store waits.
    let hasty = store.write(|tx| tx.exists("PRAGMA busy_timeout = 0", ()));
    hasty.await.unwrap();

    let other = Connection::open(database(&root)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = note(&store, "lost").await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "{busy:?}");
    assert!(notes(&store).await.is_empty(), "readers do not wait");
    other.execute_batch("ROLLBACK").unwrap();
    note(&store, "kept").await.unwrap();
    assert_eq!(notes(&store).await, ["kept"]);
}

#[tokio::test]
async fn a_run_is_alive_until_its_store_is_closed() {
    let root = state_root();
    let first = open(root.path()).unwrap();
    let second = open(root.path()).unwrap();
    let (first_id, second_id) = (first.run_id().to_owned(), second.run_id().to_owned());
    assert_ne!(first_id, second_id);
    for store in [&first, &second] {
        assert!(store.is_alive(&first_id) && store.is_alive(&second_id));
        for unknown in ["", "..", "../runs/x", "aaaaaaaaaaaaaaaa", "toolhost.db"] {
            assert!(!store.is_alive(unknown), "{unknown}");
        }
    }
    let watched = File::open(lock_of(root.path(), &first_id)).unwrap();
    drop(first);
    flock(&watched, FlockOperation::LockShared).unwrap();
    assert!(!second.is_alive(&first_id));

    let alone = Store::in_memory(&SCHEMA).unwrap();
    assert!(alone.is_alive(&alone.run_id()) && !alone.is_alive(&second_id));
}

#[tokio::test]
async fn concurrent_tests_of_a_lock_do_not_change_the_result() {
    let root = state_root();
    let dir = root.path();
    let store = open(dir).unwrap();
    fs::write(lock_of(dir, "aaaaaaaaaaaaaaaa"), "").unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..500 {
                    assert!(!store.is_alive("aaaaaaaaaaaaaaaa"));
                }
            });
        }
        threads.spawn(|| {
            for _ in 0..20 {
                let other = open(dir).unwrap();
                assert!(store.is_alive(&other.run_id()));
            }
        });
    });
}

/// The second process of the test below: reports its run's id, then waits to be killed.
#[tokio::test]
async fn opens_the_store_as_a_second_process() {
    let Some(root) = given_state_root() else {
        return;
    };
    let store = open(&root).unwrap();
    report(&store.run_id());
    wait();
}

#[tokio::test]
async fn a_killed_process_is_dead_and_its_lock_is_removed_by_the_next() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    let test = "tests::opens_the_store_as_a_second_process";
    let mut other = SecondProcess::start(test, root.path());
    let run_id = other.next_line();
    assert!(store.is_alive(&run_id));
    other.kill();
    assert!(!store.is_alive(&run_id));
    let lock = lock_of(root.path(), &run_id);
    assert!(lock.exists(), "the lock file is left");

    let _next = open(root.path()).unwrap();
    assert!(!lock.exists());
    assert!(!store.is_alive(&run_id));
    assert!(lock_of(root.path(), &store.run_id()).exists());
}

/// The second process of the test below: opens the store and writes when it is resumed.
#[tokio::test]
async fn adds_rows_as_a_second_process() {
    let Some(root) = given_state_root() else {
        return;
    };
    report("ready");
    wait();
    let store = open(&root).unwrap();
    make_notes(&store).await;
    for _ in 0..50 {
        note(&store, "one").await.unwrap();
    }
    report("done");
}

#[tokio::test]
async fn several_processes_can_create_the_database_at_once() {
    for _ in 0..3 {
        let root = state_root();
        let test = "tests::adds_rows_as_a_second_process";
        let mut others: Vec<_> = (0..4)
            .map(|_| SecondProcess::start(test, root.path()))
            .collect();
        for other in &mut others {
            assert_eq!(other.next_line(), "ready");
        }
        for other in &mut others {
            other.resume();
        }
        for mut other in others {
            assert_eq!(other.next_line(), "done");
            other.finish();
        }
        let store = open(root.path()).unwrap();
        assert_eq!(notes(&store).await.len(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_stores_of_one_process_can_create_the_database_at_once() {
    for _ in 0..5 {
        let root = Arc::new(state_root());
        let mut stores = JoinSet::new();
        for _ in 0..4 {
            let root = Arc::clone(&root);
            stores.spawn_blocking(move || open(root.path()).unwrap());
        }
        for store in stores.join_all().await {
            make_notes(&store).await;
            note(&store, "one").await.unwrap();
        }
        let store = open(root.path()).unwrap();
        assert_eq!(notes(&store).await.len(), 4);
    }
}
