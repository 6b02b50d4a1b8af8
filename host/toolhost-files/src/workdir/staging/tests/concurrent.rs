use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

use super::*;

#[test]
fn of_two_calls_that_change_one_file_one_commits_and_the_other_conflicts() {
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("one", "old");
    let (mut first, mut second) = (site.begin(), site.begin());
    first.write("one", "first");
    second.write("one", "second").write("two", "second");
    first.commit().unwrap();
    let error = second.commit().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`one` changed while the call ran, so none of its changes were kept: read the current state and make \
         the call again"
    );
    assert_eq!(site.read("one").as_deref(), Some("first"));
    assert_eq!(site.read("two"), None);
}

#[test]
fn commits_of_many_threads_lose_no_change() {
    const THREADS: u32 = 4;
    const EACH: u32 = 15;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    site.write("count", "0");
    let conflicts = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut left = EACH;
                while left > 0 {
                    let mut draft = site.begin();
                    draft.read("count");
                    let count: u32 = site.read("count").unwrap().parse().unwrap();
                    draft.write("count", &(count + 1).to_string());
                    match draft.commit() {
                        Ok(_) => left -= 1,
                        Err(CommitError::Conflict { files }) => {
                            assert_eq!(files[0], "count");
                            conflicts.fetch_add(1, SeqCst);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(site.read("count").unwrap(), (THREADS * EACH).to_string());
}

#[test]
fn a_reader_beside_commits_sees_the_old_or_the_new_bytes_of_a_file() {
    const BYTES: usize = 256 << 10;
    let top = tempfile::tempdir().unwrap();
    let site = Site::at(top.path());
    let text = |letter: u8| String::from_utf8(vec![letter; BYTES]).unwrap();
    site.write("file", &text(b'a'));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(SeqCst) {
                    let found = fs::read(site.path.join("file")).unwrap();
                    assert_eq!(found.len(), BYTES);
                    assert!(found.iter().all(|byte| *byte == found[0]));
                }
            });
        }
        for letter in (b'a'..=b'z').cycle().take(60) {
            let mut draft = site.begin();
            draft.write("file", &text(letter));
            draft.commit().unwrap();
        }
        is_done.store(true, SeqCst);
    });
}
