//! What records may take, and what they keep.

use super::*;

#[tokio::test]
async fn the_number_of_open_records_of_an_owner_is_limited() {
    let records = records().with_ceiling(3);
    let mut handles = Vec::new();
    for source in [guest(), BACKGROUND, guest()] {
        handles.push(accept(&records, source).await);
    }
    let refused = records.accept(new(guest()), at(150)).await;
    assert!(
        matches!(refused, Err(AcceptError::Full { ceiling: 3 })),
        "{refused:?}"
    );
    assert_eq!(records.count_open(&owner(), at(150)).await.unwrap(), 3);

    let mut of_another = new(guest());
    of_another.owner.instance_key = "user-2".to_owned();
    records.accept(of_another, at(150)).await.unwrap();

    assert!(records.complete(&handles[0], &ok(json!(1))).await.unwrap());
    records.accept(new(guest()), at(150)).await.unwrap();
    let cancelled = records.cancel(&handles[1], &owner(), at(150)).await;
    assert!(cancelled.unwrap().is_some());
    records.accept(new(guest()), at(150)).await.unwrap();
    assert!(records.accept(new(guest()), at(150)).await.is_err());

    let expired = NewRecord {
        expires_at: at(300),
        ..new(guest())
    };
    records.accept(expired, at(200)).await.unwrap();
}

/// A call whose message has so many bytes and more.
fn large(bytes: usize) -> NewRecord {
    let mut args = JsonObject::new();
    args.insert("text".to_owned(), json!("x".repeat(bytes)));
    let message = AssistantMessage::for_call(&ToolCall::new("call_1", "build__run", args));
    let mut new = new(guest());
    new.call.message = message;
    new
}

#[tokio::test]
async fn an_ended_call_leaves_no_message_and_the_file_stays_small() {
    const MESSAGE: usize = 1 << 20;
    let root = state_root();
    let records = records_in(root.path());
    let size = || {
        let files = std::fs::read_dir(root.path()).unwrap().flatten();
        files
            .map(|file| file.metadata().unwrap().len())
            .sum::<u64>()
    };
    for n in 0..40 {
        let handle = records.accept(large(MESSAGE), at(100)).await.unwrap();
        if n % 2 == 0 {
            assert!(records.complete(&handle, &ok(json!(n))).await.unwrap());
        } else {
            let was = records.cancel(&handle, &owner(), at(150)).await.unwrap();
            let whole = super::of(was.unwrap()).call.message;
            assert!(whole.as_json().len() > MESSAGE, "its component gets it");
        }
        let found = records.find(&handle, &owner(), at(150)).await.unwrap();
        let call = found.unwrap().call;
        assert!(call.message.contains_call("call_1") && call.message.as_json().len() < 200);
    }
    assert!(size() < 20 << 20, "{}", size());
}

#[tokio::test]
async fn stored_bytes_are_limited_by_owner_and_in_total() {
    let root = state_root();
    let records = records_in(root.path()).with_bytes(250_000, 450_000);
    let of = |key: &str| {
        let mut new = large(100_000);
        new.owner.instance_key = key.to_owned();
        new
    };
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(records.accept(of("user-1"), at(100)).await.unwrap());
    }
    let refused = records.accept(of("user-1"), at(100)).await;
    assert!(matches!(refused, Err(AcceptError::NoRoom)), "{refused:?}");
    for _ in 0..2 {
        records.accept(of("user-2"), at(100)).await.unwrap();
    }
    let refused = records.accept(of("user-3"), at(100)).await;
    assert!(matches!(refused, Err(AcceptError::NoRoom)), "{refused:?}");

    // Results count, messages of ended calls do not.
    let long = ok(json!("x".repeat(100_000)));
    assert!(records.complete(&kept[0], &long).await.unwrap());
    assert!(records.accept(of("user-1"), at(100)).await.is_err());
    assert!(records.complete(&kept[1], &ok(json!(1))).await.unwrap());
    records.accept(of("user-1"), at(100)).await.unwrap();
    assert!(records.accept(of("user-1"), at(100)).await.is_err());

    // What has expired makes room by itself.
    let later = NewRecord {
        expires_at: at(300),
        ..of("user-1")
    };
    records.accept(later, at(200)).await.unwrap();
    let left = records.store.read(|tx| {
        tx.query_row(
            "SELECT count(*), CAST(sum(bytes) AS BIGINT) FROM pending_bytes",
            (),
            |row| Ok((row.get::<u32>(0)?, row.get::<u32>(1)?)),
        )
    });
    let (owners, bytes) = left.await.unwrap();
    assert_eq!(owners, 1);
    assert!((100_000..102_000).contains(&bytes), "{bytes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_do_not_exceed_the_limit() {
    let root = state_root();
    let two = [records_in(root.path()), records_in(root.path())].map(|r| r.with_ceiling(10));
    let mut all = JoinSet::new();
    for n in 0..60 {
        let records = two[n % 2].clone();
        all.spawn(async move { records.accept(new(guest()), at(100)).await.is_ok() });
    }
    let accepted = all.join_all().await.into_iter().filter(|ok| *ok).count();
    assert_eq!(accepted, 10);
}

#[tokio::test]
async fn stored_results_are_complete() {
    let records = records();
    let mut usage = Usage::default();
    usage.wall = Duration::from_nanos(1_234_567);
    usage.denials = vec![Denial::NetworkTcp];
    let from = "a".to_owned();
    let renamed = FileChange::new("b", FileChangeKind::Renamed { from });
    let digest = FileDigest::from_sha256([7; 32]);
    usage.changes.files = vec![renamed.with_digest(digest)];
    let error = ToolError::host(ToolErrorCode::Timeout, "too slow", Locale::Ko);
    for result in [
        ok(json!(null)),
        ok(json!({"z": [1, 2.5, "가\u{0}😀"], "a": {}})),
        ToolResult::error("call_1", "build__run", error),
    ] {
        let result = result.with_usage(usage.clone());
        let handle = accept(&records, guest()).await;
        assert!(records.complete(&handle, &result).await.unwrap());
        assert_eq!(state(&records, &handle).await, done(&result));
    }
}

#[tokio::test]
async fn a_text_that_could_not_be_parsed_is_not_stored() {
    let nested = |depth: usize| (1..depth).fold(json!([]), |inner, _| json!([inner]));
    let records = records();
    // The result's own object is one level more.
    for (depth, status) in [
        (64, ToolStatus::Ok),
        (126, ToolStatus::Ok),
        (127, ToolStatus::Error),
        (500, ToolStatus::Error),
    ] {
        let handle = accept(&records, guest()).await;
        let deep = ok(nested(depth));
        assert!(records.complete(&handle, &deep).await.unwrap());
        let State::Done(result) = state(&records, &handle).await else {
            panic!("not done");
        };
        assert_eq!(result.status(), status, "{depth}");
        if let Some(error) = result.tool_error() {
            assert_eq!(error.code.as_str(), "E_TOOL_INVALID_OUTPUT");
        }
    }

    let saying = |what: Value| {
        let content = json!([{"type": "tool-call", "toolCallId": "call_1"}, what]);
        let message = json!({"role": "assistant", "content": content});
        let mut new = new(guest());
        new.call.message = AssistantMessage::parse(message).unwrap();
        new
    };
    let handle = records.accept(saying(nested(125)), at(100)).await.unwrap();
    assert_eq!(state(&records, &handle).await, state_waiting());
    let refused = records.accept(saying(nested(126)), at(100)).await;
    assert!(
        matches!(refused, Err(AcceptError::MessageTooDeep { depth: 128 })),
        "{refused:?}"
    );

    let mut of_another = new(guest());
    of_another.call.call_id = "call_2".to_owned();
    let refused = records.accept(of_another, at(100)).await;
    assert!(
        matches!(refused, Err(AcceptError::MessageOfAnotherCall { .. })),
        "{refused:?}"
    );
}
