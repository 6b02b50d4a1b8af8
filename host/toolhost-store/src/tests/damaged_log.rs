//! Write-ahead logs that are damaged, and logs that only look so.

use super::*;
use crate::wal::{self, Fault};

/// Bytes of a log before its first frame, and of a frame.
const HEADER: usize = 32;
const FRAME: usize = 24 + 4096;

/// Makes a state root as a process leaves it that is killed after three writes: its log holds them.
async fn killed() -> TempDir {
    let (live, root) = (state_root(), state_root());
    let store = open(live.path()).unwrap();
    make_notes(&store).await;
    for text in ["one", "two", "three"] {
        note(&store, text).await.unwrap();
    }
    for name in ["toolhost.db", "toolhost.db-wal"] {
        fs::copy(live.path().join(name), root.path().join(name)).unwrap();
    }
    root
}

fn log(root: &TempDir) -> PathBuf {
    wal::path_of(&database(root))
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_log_that_is_not_damaged_is_read() {
    let root = killed().await;
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None);
    let store = open(root.path()).unwrap();
    assert_eq!(notes(&store).await, ["one", "two", "three"]);
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None, "in use");
}

#[tokio::test]
async fn a_damaged_log_is_refused_and_left_unchanged() {
    type Damage = fn(&mut Vec<u8>);
    let frame = |number| Fault::Frame { number };
    let cases: [(&str, Damage, Fault); 9] = [
        ("magic number", |log| log[0] ^= 1, Fault::Header),
        ("header's checksum", |log| log[30] ^= 1, Fault::Header),
        (
            "header's page size",
            |log| log[8..12].fill(0xff),
            Fault::Header,
        ),
        ("zeros", |log| log.fill(0), Fault::Header),
        ("a text", |log| *log = b"not a log".to_vec(), Fault::Header),
        ("a page", |log| log[HEADER + 100] ^= 1, frame(1)),
        ("a salt", |log| log[HEADER + FRAME + 8] ^= 1, frame(2)),
        ("a checksum", |log| log[HEADER + FRAME + 20] ^= 1, frame(2)),
        (
            "a page before the last",
            |log| {
                let at = log.len() - FRAME - 1;
                log[at] ^= 1;
            },
            {
                let root = killed().await;
                let frames = (fs::read(log(&root)).unwrap().len() - HEADER) / FRAME;
                frame(u32::try_from(frames - 1).unwrap())
            },
        ),
    ];
    for (what, damage, fault) in cases {
        let root = killed().await;
        change(&log(&root), damage);
        let before = (
            fs::read(database(&root)).unwrap(),
            fs::read(log(&root)).unwrap(),
        );
        assert_eq!(
            wal::fault_of(&database(&root)).unwrap(),
            Some(fault),
            "{what}"
        );
        for _ in 0..2 {
            let refused = open(root.path()).unwrap_err();
            assert!(
                matches!(refused, StoreError::DamagedLog { .. }),
                "{what}: {refused:?}"
            );
            let text = refused.to_string();
            assert!(text.contains(&*log(&root).to_string_lossy()), "{text}");
            assert!(text.contains("move the log away"), "{text}");
        }
        let after = (
            fs::read(database(&root)).unwrap(),
            fs::read(log(&root)).unwrap(),
        );
        assert!(before == after, "{what}: a file was changed");

        // The move that the message proposes.
        fs::rename(log(&root), root.path().join("kept")).unwrap();
        open(root.path()).unwrap();
    }
}

#[tokio::test]
async fn a_log_without_its_database_is_refused_and_kept() {
    for is_empty in [true, false] {
        let root = killed().await;
        let before = fs::read(log(&root)).unwrap();
        if is_empty {
            fs::write(database(&root), "").unwrap()
        } else {
            fs::remove_file(database(&root)).unwrap()
        }
        let refused = open(root.path()).unwrap_err().to_string();
        assert!(
            refused.contains("its database is missing or empty"),
            "{refused}"
        );
        assert!(fs::read(log(&root)).unwrap() == before);
    }
}

#[tokio::test]
async fn a_last_write_that_does_not_match_is_lost_and_its_log_is_copied() {
    let root = killed().await;
    change(&log(&root), |bytes| {
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
    });
    let before = fs::read(log(&root)).unwrap();
    let found = wal::fault_of(&database(&root)).unwrap();
    assert!(matches!(found, Some(Fault::LastFrame { .. })), "{found:?}");
    for _ in 0..2 {
        let store = open(root.path()).unwrap();
        let kept = notes(&store).await;
        assert_eq!(kept, ["one", "two"]);
    }
    let copy = root.path().join("toolhost.db-wal.damaged");
    assert!(fs::read(&copy).unwrap() == before);
    assert_eq!(mode(&copy), 0o600);
}

#[tokio::test]
async fn what_a_killed_process_leaves_is_no_damage() {
    // A frame whose rest is missing.
    let root = killed().await;
    change(&log(&root), |bytes| bytes.truncate(bytes.len() - 1));
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None);

    // A log that was begun again: frames of its earlier use follow.
    let live = state_root();
    let store = open(live.path()).unwrap();
    make_notes(&store).await;
    for _ in 0..8 {
        note(&store, "early").await.unwrap();
    }
    store
        .read(|tx| tx.query_row("SELECT 1", (), |_| Ok(())))
        .await
        .unwrap();
    let other = Connection::open(database(&live)).unwrap();
    other
        .query_row("PRAGMA wal_checkpoint(RESTART)", (), |_| Ok(()))
        .unwrap();
    note(&store, "late").await.unwrap();
    let root = state_root();
    for name in ["toolhost.db", "toolhost.db-wal"] {
        fs::copy(live.path().join(name), root.path().join(name)).unwrap();
    }
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None);
    let store = open(root.path()).unwrap();
    assert_eq!(notes(&store).await.len(), 9);

    // A write that was begun over earlier frames and not completed: its frames do not end a write.
    let root = killed().await;
    change(&log(&root), |bytes| {
        let frame = bytes[bytes.len() - FRAME..].to_vec();
        for fill in [1, 2] {
            let mut unfinished = frame.clone();
            unfinished[4..8].fill(0);
            unfinished[24..].fill(fill);
            bytes.extend(unfinished);
        }
    });
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None);
}

#[tokio::test]
async fn what_a_process_wrote_that_was_killed_beside_others_is_no_damage() {
    let (live, root) = (state_root(), state_root());
    let store = open(live.path()).unwrap();
    make_notes(&store).await;
    note(&store, "one").await.unwrap();
    let index = |root: &TempDir| root.path().join("toolhost.db-shm");
    let before = (
        fs::read(log(&live)).unwrap().len(),
        fs::read(index(&live)).unwrap(),
    );
    note(&store, "long".repeat(10_000).leak()).await.unwrap();
    for name in ["toolhost.db", "toolhost.db-wal"] {
        fs::copy(live.path().join(name), root.path().join(name)).unwrap();
    }
    // Another process overwrites the first frame of a write that the index does not have.
    change(&log(&root), |bytes| bytes[before.0 + 100] ^= 1);
    let found = wal::fault_of(&database(&root)).unwrap();
    assert!(matches!(found, Some(Fault::Frame { .. })), "{found:?}");
    fs::copy(index(&live), index(&root)).unwrap();
    let found = wal::fault_of(&database(&root)).unwrap();
    assert!(matches!(found, Some(Fault::Frame { .. })), "{found:?}");
    fs::write(index(&root), before.1).unwrap();
    assert_eq!(wal::fault_of(&database(&root)).unwrap(), None);
    let store = open(root.path()).unwrap();
    assert_eq!(notes(&store).await, ["one"]);
}
