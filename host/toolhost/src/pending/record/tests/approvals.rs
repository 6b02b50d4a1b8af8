//! Calls that wait for consent.

use toolhost_contract::HeldEffect;

use super::*;

/// What a call waits to do, until second 180.
pub(super) fn what(effect: HeldEffect) -> NewHold {
    NewHold {
        effect,
        shown: json!({"what": "is shown"}),
        digest: "digest".to_owned(),
        bound: "bound".to_owned(),
        staging: None,
        answer: None,
        prefix: None,
        staged_bytes: 0,
        expires_at: at(180),
        is_inner: false,
        webhook: None,
    }
}

fn large(bytes: usize) -> NewHold {
    NewHold {
        prefix: Some(vec![7; bytes]),
        ..what(HeldEffect::Http)
    }
}

pub(super) async fn hold(records: &Records, hold: NewHold) -> Handle {
    let held = records.hold(None, new(BACKGROUND), hold, at(100)).await;
    held.unwrap()
}

async fn again(records: &Records, handle: &Handle, hold: NewHold) -> Result<Handle, AcceptError> {
    let existing = Some(handle.clone());
    let later = NewRecord {
        expires_at: at(400),
        ..new(BACKGROUND)
    };
    records.hold(existing, later, hold, at(150)).await
}

async fn hold_of(records: &Records, handle: &Handle) -> Hold {
    records.hold_of(handle).await.unwrap().unwrap()
}

pub(super) async fn decide(records: &Records, handle: &Handle, is_approved: bool) -> Hold {
    let decision = Decision {
        is_approved,
        by: "ada".to_owned(),
        why: None,
        at: at(150),
    };
    let id = hold_of(records, handle).await.id;
    let decided = records.decide(&id, None, decision).await.unwrap();
    assert_eq!(decided, Decided::Counts { staging: None });
    hold_of(records, handle).await
}

async fn approved(records: &Records, effect: HeldEffect) -> (Handle, Hold) {
    let handle = hold(records, what(effect)).await;
    let hold = decide(records, &handle, true).await;
    (handle, hold)
}

async fn cancel(records: &Records, handle: &Handle) -> CancelReply {
    let cancelled = records.cancel(handle, &owner(), at(150)).await.unwrap();
    cancelled.unwrap()
}

/// The bytes of all answers and prefixes, and the number of texts that are shown.
async fn contents(records: &Records) -> (i64, i64) {
    let read = records.store.read(|tx| {
        let sql = "SELECT coalesce(sum(octet_length(coalesce(answer, '')) + octet_length(coalesce(prefix, ''))), 0),
             count(*) FROM approval_contents";
        tx.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
    });
    read.await.unwrap()
}

#[tokio::test]
async fn what_was_approved_is_taken_by_nobody_once_its_call_was_cancelled() {
    for taking in [Taking::Commit, Taking::Run, Taking::Poll("job".to_owned())] {
        let records = records();
        let (handle, hold) = approved(&records, HeldEffect::Http).await;
        assert!(matches!(
            cancel(&records, &handle).await,
            CancelReply::Now(_)
        ));
        let taken = records.take_approved(hold, taking).await.unwrap();
        assert!(taken.is_none());
        assert_eq!(state(&records, &handle).await, State::Cancelled);
    }
}

#[tokio::test]
async fn a_call_whose_changes_are_being_committed_cannot_be_cancelled() {
    let records = records();
    let (handle, hold) = approved(&records, HeldEffect::Workdir).await;
    let taken = records.take_approved(hold, Taking::Commit).await.unwrap();
    let held = State::Held {
        guest_handle: None,
        inner_of: None,
    };
    for _ in 0..2 {
        let late = cancel(&records, &handle).await;
        assert!(matches!(&late, CancelReply::TooLate(record) if record.state == held));
        assert_eq!(state(&records, &handle).await, held);
    }
    records.give_back(&taken.unwrap().id).await.unwrap();
    assert!(matches!(
        cancel(&records, &handle).await,
        CancelReply::Now(_)
    ));
}

#[tokio::test]
async fn only_what_was_asked_for_last_is_taken() {
    let records = records();
    let (handle, old) = approved(&records, HeldEffect::Workdir).await;
    let renewed = again(&records, &handle, what(HeldEffect::Workdir)).await;
    assert_eq!(renewed.unwrap(), handle);
    let taken = records.take_approved(old, Taking::Commit).await.unwrap();
    assert!(taken.is_none());
    let hold = decide(&records, &handle, true).await;
    let taken = records.take_approved(hold, Taking::Commit).await.unwrap();
    assert!(taken.is_some());
}

#[tokio::test]
async fn taking_changes_the_state_of_the_call_with_it() {
    let records = records();
    let (runs, hold) = approved(&records, HeldEffect::Call).await;
    let taken = records.take_approved(hold, Taking::Run).await.unwrap();
    assert!(taken.is_some());
    assert_eq!(state(&records, &runs).await, state_running(&records));
    let (polled, hold) = approved(&records, HeldEffect::Http).await;
    let taking = Taking::Poll("job 7".to_owned());
    assert!(records.take_approved(hold, taking).await.unwrap().is_some());
    assert_eq!(state(&records, &polled).await, state_waiting());
}

#[tokio::test]
async fn what_a_dead_process_had_taken_is_taken_by_the_next_one_only() {
    let root = state_root();
    let dead = records_in(root.path());
    let (handle, hold) = approved(&dead, HeldEffect::Workdir).await;
    let taken = dead.take_approved(hold, Taking::Commit).await.unwrap();
    let other = records_in(root.path());
    let seen = hold_of(&other, &handle).await;
    assert!(other.is_released_elsewhere(&seen).await.unwrap());
    // A poll of its own finds it again, where the store failed.
    assert!(!dead.is_released_elsewhere(&taken.unwrap()).await.unwrap());
    close(dead, root.path());
    let (left, seen) = (
        hold_of(&other, &handle).await,
        hold_of(&other, &handle).await,
    );
    assert!(!other.is_released_elsewhere(&left).await.unwrap());
    assert!(
        other
            .take_approved(left, Taking::Commit)
            .await
            .unwrap()
            .is_some()
    );
    let third = records_in(root.path());
    assert!(
        third
            .take_approved(seen, Taking::Commit)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_call_that_is_held_again_can_be_polled_for_longer() {
    let records = records();
    let handle = accept(&records, guest()).await;
    let held = again(&records, &handle, what(HeldEffect::Http)).await;
    held.unwrap();
    let found = records.find(&handle, &owner(), at(399)).await.unwrap();
    assert!(matches!(found.unwrap().state, State::Held { .. }));
    // Never for less.
    let shorter = records.hold(Some(handle.clone()), new(BACKGROUND), large(1), at(150));
    shorter.await.unwrap();
    assert!(
        records
            .find(&handle, &owner(), at(399))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_call_that_finds_no_room_to_wait_is_as_it_was() {
    let records = records().with_held_bytes(1_000);
    let kept = hold(&records, large(600)).await;
    for (source, was) in [
        (guest(), state_waiting()),
        (BACKGROUND, state_running(&records)),
    ] {
        let handle = accept(&records, source).await;
        let refused = again(&records, &handle, large(600)).await;
        assert!(
            matches!(refused, Err(AcceptError::NoRoomForHeld)),
            "{refused:?}"
        );
        assert_eq!(state(&records, &handle).await, was);
        assert!(records.hold_of(&handle).await.unwrap().is_none());
    }
    // What it keeps itself makes room for what it asks for then.
    again(&records, &kept, large(900)).await.unwrap();
    let other = NewRecord {
        owner: Owner {
            instance_key: "user-2".to_owned(),
            ..owner()
        },
        ..new(BACKGROUND)
    };
    records
        .hold(None, other, large(900), at(100))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_call_that_waits_no_longer_keeps_only_what_was_decided_about() {
    let records = records();
    let handle = hold(&records, large(10_000)).await;
    assert_eq!(contents(&records).await, (10_000, 1));
    assert!(matches!(
        cancel(&records, &handle).await,
        CancelReply::Now(_)
    ));
    assert_eq!(contents(&records).await, (0, 0), "nobody decided about it");

    let handle = hold(&records, large(10_000)).await;
    again(&records, &handle, large(20_000)).await.unwrap();
    assert_eq!(contents(&records).await, (20_000, 2), "the last one counts");
    let hold = decide(&records, &handle, true).await;
    let taken = records.take_approved(hold, Taking::Run).await.unwrap();
    assert_eq!(
        taken.unwrap().prefix.map(|prefix| prefix.len()),
        Some(20_000)
    );
    assert_eq!(contents(&records).await, (0, 2));
    assert!(records.complete(&handle, &ok(json!(1))).await.unwrap());
    let all = records.holds(None, false, at(150), 10).await.unwrap();
    assert_eq!(all[0].shown, json!({"what": "is shown"}));
    assert_eq!(records.sweep(at(500)).await.unwrap(), 2);
    assert_eq!(contents(&records).await, (0, 0));
}

#[tokio::test]
async fn what_another_instance_leaves_undone_keeps_no_instance_waiting() {
    let records = records();
    let of = |key: usize| Owner {
        instance_key: format!("user-{key}"),
        ..owner()
    };
    for _ in 0..1_001 {
        hold(&records, what(HeldEffect::Call)).await;
    }
    let other = NewRecord {
        owner: of(2),
        ..new(BACKGROUND)
    };
    let late = NewHold {
        expires_at: at(190),
        ..what(HeldEffect::Call)
    };
    let handle = records.hold(None, other, late, at(100)).await.unwrap();
    let owners = async |now| {
        records
            .owners_due(vec![of(1), of(2), of(3)], now)
            .await
            .unwrap()
    };
    assert_eq!(owners(at(179)).await, []);
    assert_eq!(owners(at(185)).await, [of(1)]);
    assert_eq!(records.due(&of(1), at(185)).await.unwrap().len(), 1_001);
    decide(&records, &handle, true).await;
    assert_eq!(owners(at(185)).await, [of(1), of(2)]);
    let due = records.due(&of(2), at(185)).await.unwrap();
    assert_eq!(
        due.iter().map(|(_, handle)| handle).collect::<Vec<_>>(),
        [&handle]
    );
    assert!(records.has_open(&of(2)).await.unwrap());
    assert!(records.complete(&handle, &ok(json!(1))).await.unwrap());
    assert!(!records.has_open(&of(2)).await.unwrap());
    assert_eq!(owners(at(185)).await, [of(1)]);
}

#[tokio::test]
async fn no_instance_hides_what_others_wait_for_and_a_list_shows_no_large_effect() {
    let records = records();
    let first = hold(&records, what(HeldEffect::Call)).await;
    for n in 0..150 {
        let hold = NewHold {
            shown: json!("x".repeat(65 << 10)),
            ..what(HeldEffect::Http)
        };
        let mut new = new(BACKGROUND);
        new.owner.instance_key = "loud".to_owned();
        new.call.turn_id = format!("turn_{n}");
        records.hold(None, new, hold, at(100)).await.unwrap();
    }
    let listed = async |owner: Option<Owner>, most| {
        let listed = records.holds(owner, true, at(150), most);
        listed.await.unwrap()
    };
    let all = listed(None, 1_000).await;
    assert_eq!(all.len(), 101, "the oldest hundred of an instance");
    assert_eq!(all[100].hold.handle, first.as_str(), "the newest first");
    assert_eq!(
        (&all[0].shown, &all[100].shown),
        (&Value::Null, &json!({"what": "is shown"}))
    );
    assert_eq!(listed(None, 10).await.len(), 10);
    let loud = Some(all[0].owner.clone());
    assert_eq!(listed(loud.clone(), 1_000).await.len(), 150);
    for (owner, count) in [(None, 151), (loud, 150), (Some(owner()), 1)] {
        let counted = records.waiting_count(owner, at(150)).await.unwrap();
        assert_eq!(counted, count);
    }
    let whole = records.hold_by_id(&all[0].hold.id, None, true).await;
    assert!(whole.unwrap().unwrap().shown.is_string());
}

#[tokio::test]
async fn no_query_for_decisions_reads_the_whole_table() {
    let records = records();
    let of = "bundle = 'b' AND agent = 'a' AND instance_key = 'i'";
    for (sql, index) in [
        (
            format!("SELECT id, handle FROM approvals WHERE {of} AND due_ms <= 1 ORDER BY due_ms"),
            "SEARCH approvals USING INDEX approvals_open",
        ),
        (
            format!("SELECT sum(bytes) FROM approvals WHERE {of} AND due_ms IS NOT NULL"),
            "SEARCH approvals USING COVERING INDEX approvals_open",
        ),
        (
            format!("SELECT 1 FROM approvals WHERE {of} AND due_ms <= 1"),
            "SEARCH approvals USING COVERING INDEX approvals_open",
        ),
    ] {
        let asked = sql.clone();
        let plan = records.store.read(move |tx| {
            let explain = format!("EXPLAIN QUERY PLAN {asked}");
            tx.query_map(&explain, (), |row| row.get::<String>("detail"))
        });
        let plan = plan.await.unwrap().join("; ");
        assert!(plan.contains(index), "{sql}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
}
