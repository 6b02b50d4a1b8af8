//! Finding records, and records that expire.

use super::*;

#[test]
fn handles_are_unique_and_other_texts_are_refused() {
    let made: BTreeSet<_> = (0..1000).map(|_| Handle::random().unwrap()).collect();
    assert_eq!(made.len(), 1000);
    let mut letters = BTreeSet::new();
    for handle in &made {
        assert_eq!(handle.as_str().len(), 8 + 32);
        assert_eq!(Handle::parse(handle.as_str()).as_ref(), Some(handle));
        letters.extend(handle.as_str().trim_start_matches("pending_").chars());
    }
    assert_eq!(letters.len(), 32, "{letters:?}");

    let good = made.first().unwrap().as_str();
    for other in [
        "",
        "pending_",
        "job 7",
        good.trim_start_matches("pending_"),
        &good.to_uppercase(),
        &format!("{good}a"),
        &format!(" {good}"),
        &good.replace("pending_", "pending-"),
        &format!("pending_{}", "1".repeat(32)),
    ] {
        assert_eq!(Handle::parse(other), None, "{other}");
    }
}

#[tokio::test]
async fn a_record_is_found_as_it_was_accepted() {
    // tool-spec-v2 §10.2
    let records = records();
    let mut bare = new(guest());
    bare.call.trace_id = None;
    for (new, state) in [
        (bare, state_waiting()),
        (new(BACKGROUND), state_running(&records)),
    ] {
        let handle = records.accept(new.clone(), at(100)).await.unwrap();
        let found = records.find(&handle, &owner(), at(100)).await.unwrap();
        let expected = Record {
            handle,
            owner: new.owner,
            call: new.call,
            state,
        };
        assert_eq!(found, Some(expected));
    }
    let times = records.store.read(|tx| {
        let sql = "SELECT DISTINCT created_ms, expires_ms FROM pending";
        tx.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
    });
    assert_eq!(times.await.unwrap(), (100_000_i64, 200_000_i64));
}

#[tokio::test]
async fn only_the_owner_finds_or_cancels_a_record() {
    let records = records();
    let handle = accept(&records, guest()).await;
    let stranger = |change: fn(&mut Owner)| {
        let mut owner = owner();
        change(&mut owner);
        owner
    };
    for stranger in [
        stranger(|owner| owner.bundle.push('x')),
        stranger(|owner| owner.agent = "Coder".to_owned()),
        stranger(|owner| owner.instance_key = String::new()),
        stranger(|owner| owner.instance_key = "%".to_owned()),
    ] {
        let found = records.find(&handle, &stranger, at(150)).await.unwrap();
        assert_eq!(found, None, "{stranger:?}");
        let cancelled = records.cancel(&handle, &stranger, at(150)).await.unwrap();
        assert_eq!(cancelled, None, "{stranger:?}");
        assert_eq!(records.count_open(&stranger, at(150)).await.unwrap(), 0);
    }
    assert_eq!(state(&records, &handle).await, state_waiting());
    let unknown = Handle::random().unwrap();
    assert_eq!(
        records.find(&unknown, &owner(), at(150)).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn an_expired_record_is_not_found_and_is_removed_once_it_has_ended() {
    let records = records();
    let waiting = accept(&records, guest()).await;
    let running = accept(&records, BACKGROUND).await;
    let later = NewRecord {
        expires_at: at(300),
        ..new(guest())
    };
    let later = records.accept(later, at(100)).await.unwrap();

    let just_before = at(200) - Duration::from_millis(1);
    for handle in [&waiting, &running] {
        let found = async |now| records.find(handle, &owner(), now).await.unwrap();
        assert!(found(just_before).await.is_some());
        assert!(found(at(200)).await.is_none());
        let cancelled = records.cancel(handle, &owner(), at(200)).await.unwrap();
        assert_eq!(cancelled, None);
    }
    assert_eq!(records.count_open(&owner(), just_before).await.unwrap(), 3);
    assert_eq!(records.count_open(&owner(), at(200)).await.unwrap(), 1);

    assert_eq!(records.sweep(just_before).await.unwrap(), 0);
    assert_eq!(records.sweep(at(200)).await.unwrap(), 1);
    assert!(
        records.complete(&running, &ok(json!(1))).await.unwrap(),
        "the process that ran it is the first to end it"
    );
    assert!(!records.complete(&waiting, &ok(json!(1))).await.unwrap());
    assert_eq!(records.sweep(at(200)).await.unwrap(), 1);
    assert_eq!(state(&records, &later).await, state_waiting());
}

#[tokio::test]
async fn one_sweep_removes_many_expired_records() {
    let records = records();
    for _ in 0..1100 {
        accept(&records, guest()).await;
    }
    assert_eq!(records.sweep(at(200)).await.unwrap(), 1100);
    assert_eq!(records.sweep(at(200)).await.unwrap(), 0);
}

#[tokio::test]
async fn a_record_has_the_workdir_of_its_call_and_one_of_an_earlier_release_has_none() {
    let root = state_root();
    let earlier = toolhost_store::Schema {
        steps: SCHEMA.steps.get(..2).unwrap(),
        ..SCHEMA
    };
    let old = Handle::random().unwrap();
    let (handle, text) = (
        old.as_str().to_owned(),
        call("call_1").message.as_json().clone(),
    );
    let store = Store::open(root.path(), &earlier).unwrap();
    let inserted = store.write(move |tx| {
        tx.execute(
            "INSERT INTO pending (handle, bundle, agent, instance_key, call_id, tool_name, turn_id,
                 message, guest_handle, state, created_ms, expires_ms)
             VALUES (?1, '/b/goondan.yaml', 'coder', 'user-1', 'call_1', 'build__run', 't', ?2,
                 'job 7', 'waiting', 100000, 200000)",
            (&handle, &text),
        )
    });
    inserted.await.unwrap();
    drop(store);

    let records = records_in(root.path());
    let new = accept(&records, guest()).await;
    for (handle, workdir) in [(old, None), (new, call("call_1").workdir)] {
        let found = records.find(&handle, &owner(), at(150)).await.unwrap();
        let found = found.expect("the record is there");
        assert_eq!(
            (found.call.workdir, found.state),
            (workdir, state_waiting())
        );
    }
}
