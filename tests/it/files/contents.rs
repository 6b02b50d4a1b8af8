//! Opening, reading and writing: results match the files on the host.

use std::fs;

use serde_json::{Value, json};
use toolhost_tests::Work;

use super::probe::{assert_codes, check, furnished, open, script};
use super::snapshot::tree;

/// A name, whether a symlink is followed, the open flags, the descriptor flags, and the result.
type Opening<'a> = (&'a str, bool, &'a [&'a str], &'a [&'a str], &'a str);

#[tokio::test]
async fn open_obeys_its_flags() {
    let cases: &[Opening<'_>] = &[
        ("file", false, &[], &["read"], "ok"),
        ("file", false, &[], &["write"], "ok"),
        ("file", false, &[], &["read", "write"], "ok"),
        ("file", false, &[], &[], "ok"),
        (
            "file",
            false,
            &[],
            &["write", "file-integrity-sync"],
            "unsupported",
        ),
        (
            "none",
            false,
            &["create"],
            &["write", "data-integrity-sync"],
            "unsupported",
        ),
        ("file", false, &["directory"], &["read"], "not-directory"),
        ("file", false, &["create"], &["read"], "ok"),
        ("file", false, &["create", "exclusive"], &["write"], "exist"),
        ("file", false, &["truncate"], &["read"], "invalid"),
        ("file/", false, &[], &["read"], "not-directory"),
        ("file/.", false, &[], &["read"], "not-directory"),
        ("dir", false, &[], &["read"], "ok"),
        ("dir/", false, &[], &["read"], "ok"),
        (
            "dir",
            false,
            &["directory"],
            &["read", "mutate-directory"],
            "ok",
        ),
        ("dir", false, &[], &["write"], "is-directory"),
        ("dir", false, &["create"], &["write"], "is-directory"),
        ("dir", false, &["create", "exclusive"], &["write"], "exist"),
        ("dir", false, &["create", "directory"], &["read"], "invalid"),
        ("dir", false, &["truncate"], &["write"], "is-directory"),
        ("link", false, &[], &["read"], "loop"),
        ("link", true, &[], &["read"], "ok"),
        ("link", false, &["create", "exclusive"], &["write"], "exist"),
        ("link", true, &["create", "exclusive"], &["write"], "exist"),
        ("link/", true, &[], &["read"], "not-directory"),
        ("dirlink", false, &["directory"], &["read"], "not-directory"),
        ("dirlink", true, &["directory"], &["read"], "ok"),
        ("dangling", false, &["create"], &["write"], "loop"),
        ("dangling/", true, &["create"], &["write"], "is-directory"),
        ("none", false, &[], &["read"], "no-entry"),
        ("none", false, &["exclusive"], &["read"], "no-entry"),
        ("none/", false, &["create"], &["write"], "is-directory"),
        ("none/x", false, &["create"], &["write"], "no-entry"),
        ("file/x", false, &["create"], &["write"], "not-directory"),
        ("", false, &["create"], &["write"], "no-entry"),
    ];
    let work = furnished();
    let before = tree(work.dir.path(), None);
    let steps: Vec<Value> = cases
        .iter()
        .map(|(path, follow, how, flags, _)| {
            let mut step = open(path, how, flags);
            step["follow"] = json!(follow);
            step
        })
        .collect();
    let expected: Vec<&str> = cases.iter().map(|case| case.4).collect();
    let ran = script(&work.workdir, &steps, |_| ()).await;
    assert_codes(&steps, &ran, &expected);
    assert_eq!(
        tree(work.dir.path(), None),
        before,
        "nothing was created or changed"
    );
}

#[tokio::test]
async fn open_creates_and_truncates_as_its_flags_say() {
    let work = furnished();
    let mut through_link = open("dangling", &["create"], &["write"]);
    through_link["follow"] = json!(true);
    check(
        &work,
        &[
            (open("made", &["create"], &["read"]), json!({})),
            (
                open("made_alone", &["create", "exclusive"], &["write"]),
                json!({}),
            ),
            (open("file", &["create", "truncate"], &["write"]), json!({})),
            (through_link, json!({})),
        ],
    )
    .await;
    for empty in ["made", "made_alone", "file", "hard", "nothing"] {
        assert_eq!(fs::read(work.path(empty)).unwrap(), b"", "{empty}");
    }
    assert!(work.path("dangling").is_symlink());
}

#[tokio::test]
async fn a_handle_allows_only_the_access_it_was_opened_with() {
    let work = furnished();
    let ops = [
        json!({ "op": "read", "length": 1, "on": 1 }),
        json!({ "op": "read-via-stream", "on": 1 }),
        json!({ "op": "write", "text": "h", "on": 1 }),
        json!({ "op": "write-via-stream", "on": 1 }),
        json!({ "op": "append-via-stream", "on": 1 }),
        json!({ "op": "set-size", "size": 5, "on": 1 }),
        json!({ "op": "read-directory", "on": 1 }),
        json!({ "op": "create-directory-at", "path": "x", "on": 1 }),
        json!({ "op": "stat-at", "path": "x", "on": 1 }),
        json!({ "op": "advise", "advice": "normal", "on": 1 }),
    ];
    let (ok, bad, not_dir, is_dir) = ("ok", "bad-descriptor", "not-directory", "is-directory");
    type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], [&'a str; 10]);
    let cases: [Case<'_>; 4] = [
        (
            "file",
            &["read"],
            &["read"],
            [ok, ok, bad, bad, bad, bad, not_dir, not_dir, not_dir, ok],
        ),
        (
            "file",
            &["write"],
            &["write"],
            [bad, bad, ok, ok, ok, ok, not_dir, not_dir, not_dir, ok],
        ),
        (
            "file",
            &["read", "write"],
            &["read", "write"],
            [ok, ok, ok, ok, ok, ok, not_dir, not_dir, not_dir, ok],
        ),
        (
            "dir",
            &["read"],
            &["read", "mutate-directory"],
            [
                is_dir, is_dir, is_dir, is_dir, is_dir, is_dir, ok, ok, ok, is_dir,
            ],
        ),
    ];
    for (path, flags, granted, expected) in cases {
        let mut steps = vec![
            open(path, &[], flags),
            json!({ "op": "get-flags", "on": 1 }),
        ];
        steps.extend(ops.iter().cloned());
        let ran = script(&work.workdir, &steps, |_| ()).await;
        assert_eq!(ran.results[1]["flags"], json!(granted), "{path} {flags:?}");
        assert_eq!(ran.codes()[2..], expected, "{path} {flags:?}");
    }
    assert_eq!(fs::read(work.path("file")).unwrap(), b"hello");
    assert!(work.path("dir/x").is_dir());
}

#[tokio::test]
async fn reads_and_writes_reach_the_file() {
    let work = furnished();
    check(
        &work,
        &[
            (open("file", &[], &["read", "write"]), json!({})),
            (
                json!({ "op": "read", "on": 1, "length": 3 }),
                json!({ "text": "hel", "end": false }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 5 }),
                json!({ "text": "hello", "end": false }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 6 }),
                json!({ "text": "hello", "end": true }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 9, "offset": 4 }),
                json!({ "text": "o", "end": true }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 9, "offset": 5 }),
                json!({ "text": "", "end": true }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 9, "offset": 1_000_000 }),
                json!({ "text": "", "end": true }),
            ),
            // Beyond the largest file offset.
            (
                json!({ "op": "read", "on": 1, "length": 9, "offset": u64::MAX }),
                json!("invalid"),
            ),
            (
                json!({ "op": "read", "on": 1, "length": u64::MAX }),
                json!({ "text": "hello", "end": true }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 0 }),
                json!({ "text": "", "end": false }),
            ),
            (
                json!({ "op": "write", "on": 1, "text": "J" }),
                json!({ "written": 1 }),
            ),
            (
                json!({ "op": "write", "on": 1, "text": "y!", "offset": 4 }),
                json!({ "written": 2 }),
            ),
            (
                json!({ "op": "write", "on": 1, "text": "", "offset": 99 }),
                json!({ "written": 0 }),
            ),
            (json!({ "op": "stat", "on": 1 }), json!({ "size": 6 })),
            (
                json!({ "op": "write", "on": 1, "text": "end", "offset": 8 }),
                json!({ "written": 3 }),
            ),
            (
                json!({ "op": "read", "on": 1, "length": 99 }),
                json!({ "text": "Jelly!\0\0end", "end": true }),
            ),
        ],
    )
    .await;
    assert_eq!(fs::read(work.path("hard")).unwrap(), b"Jelly!\0\0end");

    check(
        &work,
        &[
            (open("file", &[], &["write"]), json!({})),
            (json!({ "op": "set-size", "on": 1, "size": 5 }), json!({})),
            (json!({ "op": "set-size", "on": 1, "size": 7 }), json!({})),
            (json!({ "op": "stat", "on": 1 }), json!({ "size": 7 })),
        ],
    )
    .await;
    assert_eq!(fs::read(work.path("hard")).unwrap(), b"Jelly\0\0");
}

#[tokio::test]
async fn a_large_read_returns_all_bytes_in_pieces() {
    let work = Work::new();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    fs::write(work.path("large"), &bytes).unwrap();
    let mut cases = vec![(open("large", &[], &["read"]), json!({}))];
    cases.extend((0..5).map(|n| {
        (
            json!({ "op": "read", "on": 1, "length": 1 << 20, "offset": n * 65_536 }),
            json!({}),
        )
    }));
    let results = check(&work, &cases).await;
    let mut read = String::new();
    for result in &results[1..] {
        read.push_str(result["text"].as_str().unwrap());
        let at_end = read.len() == bytes.len();
        assert_eq!(result["end"], at_end, "after {}", read.len());
        if at_end {
            break;
        }
    }
    assert_eq!(read.as_bytes(), bytes);
}

#[tokio::test]
async fn streams_read_and_write_at_their_own_position() {
    let work = furnished();
    check(
        &work,
        &[
            (open("file", &[], &["read", "write"]), json!({})),
            (
                json!({ "op": "read-via-stream", "on": 1, "offset": 1, "as": 2 }),
                json!({}),
            ),
            (
                json!({ "op": "stream-read", "on": 2, "length": 2 }),
                json!({ "text": "el" }),
            ),
            (json!({ "op": "stream-wait", "on": 2 }), json!({})),
            (
                json!({ "op": "stream-skip", "on": 2, "length": 1 }),
                json!({ "skipped": 1 }),
            ),
            (
                json!({ "op": "stream-read", "on": 2, "length": 0 }),
                json!({ "text": "" }),
            ),
            (
                json!({ "op": "stream-read", "on": 2, "length": u64::MAX, "blocking": false }),
                json!({ "text": "o" }),
            ),
            (
                json!({ "op": "stream-read", "on": 2, "length": 1 }),
                json!("closed"),
            ),
            (
                json!({ "op": "write-via-stream", "on": 1, "offset": 5, "as": 3 }),
                json!({}),
            ),
            (
                json!({ "op": "stream-write", "on": 3, "text": " wor" }),
                json!({ "written": 4 }),
            ),
            (
                json!({ "op": "stream-check-write", "on": 3 }),
                json!({ "permit": 65_536 }),
            ),
            (
                json!({ "op": "stream-write", "on": 3, "text": "ld", "blocking": false }),
                json!({ "written": 2 }),
            ),
            (json!({ "op": "stream-flush", "on": 3 }), json!({})),
            (
                json!({ "op": "stream-flush", "on": 3, "blocking": false }),
                json!({}),
            ),
            (json!({ "op": "stream-wait", "on": 3 }), json!({})),
            // A stream at the end of a file continues when the file has grown.
            (
                json!({ "op": "stream-read", "on": 2, "length": 99 }),
                json!({ "text": " world" }),
            ),
            (
                json!({ "op": "append-via-stream", "on": 1, "as": 4 }),
                json!({}),
            ),
            (
                json!({ "op": "stream-write", "on": 4, "text": "!" }),
                json!({}),
            ),
            (
                json!({ "op": "write-via-stream", "on": 1, "offset": 0, "as": 5 }),
                json!({}),
            ),
            (
                json!({ "op": "stream-write", "on": 5, "text": "H" }),
                json!({}),
            ),
            (
                json!({ "op": "stream-write", "on": 4, "text": "?" }),
                json!({}),
            ),
            (
                json!({ "op": "read-via-stream", "on": 1, "as": 6 }),
                json!({}),
            ),
            (
                json!({ "op": "stream-splice", "on": 4, "from": 6, "length": 5 }),
                json!({ "spliced": 5 }),
            ),
            (
                json!({ "op": "stream-write-zeroes", "on": 4, "bytes": 2 }),
                json!({}),
            ),
            // Streams stay usable after the file's handle is closed.
            (json!({ "op": "close", "on": 1 }), json!({})),
            (
                json!({ "op": "stream-write", "on": 4, "text": "." }),
                json!({}),
            ),
        ],
    )
    .await;
    assert_eq!(
        fs::read(work.path("file")).unwrap(),
        b"Hello world!?Hello\0\0."
    );
}
