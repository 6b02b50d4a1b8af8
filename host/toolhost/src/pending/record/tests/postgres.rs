//! Hosts on several machines that share a database.

use super::*;

/// Two hosts on one database.
fn two_hosts(schema: &str) -> Option<(Records, Records)> {
    let server = testing::server()?;
    let host = || {
        let store = Store::open(server.database(schema), &SCHEMA).unwrap();
        Records::new(store, Locale::En)
    };
    Some((host(), host()))
}

/// What others do once a host is silent for too long.
async fn declare_dead(by: &Records, run_id: &str) {
    let run_id = run_id.to_owned();
    let ended = by.store.write(move |tx| {
        tx.execute(
            "UPDATE runs SET has_ended = true WHERE run_id = ?1",
            [&run_id],
        )
    });
    assert_eq!(ended.await.unwrap(), 1);
}

#[tokio::test]
async fn a_call_of_one_host_is_polled_through_another() {
    let Some((one, other)) = two_hosts("polled") else {
        return;
    };
    let handle = accept(&one, BACKGROUND).await;
    assert!(matches!(
        state(&other, &handle).await,
        State::Running { .. }
    ));
    let result = ok(json!({"built": true}));
    assert!(
        !other.complete(&handle, &result).await.unwrap(),
        "it runs elsewhere"
    );
    assert!(one.complete(&handle, &result).await.unwrap());
    assert_eq!(state(&other, &handle).await, done(&result));
}

#[tokio::test]
async fn a_late_completion_of_a_host_that_was_declared_dead_changes_nothing() {
    let Some((paused, other)) = two_hosts("late") else {
        return;
    };
    let handle = accept(&paused, BACKGROUND).await;
    let run_id = paused.store.run_id();
    declare_dead(&other, &run_id).await;
    assert!(is_interrupted(&state(&other, &handle).await));
    // Nobody has ended the record yet.
    assert!(!paused.complete(&handle, &ok(json!(1))).await.unwrap());
    assert!(
        !paused
            .wait_for_guest(&handle, "g".to_owned())
            .await
            .unwrap()
    );
    assert!(
        !paused
            .renew_guest_handle(&handle, "g".to_owned())
            .await
            .unwrap()
    );
    assert!(is_interrupted(&state(&paused, &handle).await));
    let ended = (
        other.interrupt_dead_runs().await.unwrap().len(),
        paused.interrupt_dead_runs().await.unwrap().len(),
    );
    assert_eq!(ended, (1, 0), "once");
    assert!(!paused.complete(&handle, &ok(json!(1))).await.unwrap());
    assert!(is_interrupted(&state(&other, &handle).await));

    let next = accept(&paused, BACKGROUND).await;
    assert_ne!(paused.store.run_id(), run_id, "it goes on as another run");
    assert!(paused.complete(&next, &ok(json!(2))).await.unwrap());
    assert_eq!(state(&other, &next).await, done(&ok(json!(2))));
}
