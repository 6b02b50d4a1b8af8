//! What webhooks are told.

use toolhost_contract::HeldEffect;

use super::approvals::{decide, hold, what};
use super::*;

const URL: &str = "https://a.example/hook";

fn told() -> NewHold {
    NewHold {
        webhook: Some(URL.to_owned()),
        ..what(HeldEffect::Http)
    }
}

/// Takes what is due at this second, and returns the events.
async fn take(records: &Records, seconds: u64) -> Vec<Notice> {
    let taken = records.take_notices(URL, at(seconds)).await;
    taken.unwrap().notices
}

fn events(notices: &[Notice]) -> Vec<&'static str> {
    notices.iter().map(|one| one.event.as_str()).collect()
}

async fn settle(records: &Records, notice: &Notice, is_received: bool, seconds: u64) {
    let settled = records.settle_notice(notice, is_received, at(seconds));
    settled.await.unwrap();
}

#[tokio::test]
async fn a_notice_is_taken_once_and_again_after_growing_pauses_until_it_is_received() {
    let records = records();
    hold(&records, what(HeldEffect::Http)).await;
    assert_eq!(take(&records, 100).await.len(), 0, "no webhook");
    hold(&records, told()).await;
    let other = records.take_notices("https://b.example", at(100)).await;
    assert!(other.unwrap().notices.is_empty(), "another address");
    let mut second = 100;
    for pause in [1, 2, 4, 8] {
        let taken = take(&records, second).await;
        assert_eq!(events(&taken), ["waiting"]);
        assert!(
            take(&records, second + 20).await.is_empty(),
            "it is being sent"
        );
        settle(&records, &taken[0], false, second).await;
        assert!(take(&records, second + pause - 1).await.is_empty());
        second += pause;
    }
    let taken = take(&records, second).await;
    assert!(records.has_unsent_notice(URL).await.unwrap());
    let of_another = records.has_unsent_notice("https://b.example");
    assert!(!of_another.await.unwrap());
    settle(&records, &taken[0], true, second).await;
    assert!(!records.has_unsent_notice(URL).await.unwrap());
    assert!(take(&records, 179).await.is_empty());
    assert_eq!(records.take_notices(URL, at(179)).await.unwrap().next, None);
}

#[tokio::test]
async fn a_decision_is_told_after_the_call_and_nothing_once_it_is_too_late() {
    let records = records();
    let handle = hold(&records, told()).await;
    let waiting = take(&records, 100).await;
    decide(&records, &handle, true).await;
    let taken = records.take_notices(URL, at(110)).await.unwrap();
    assert!(taken.notices.is_empty(), "the first one is not received");
    assert!(
        taken.next > Some(at(110)),
        "nothing is due: {:?}",
        taken.next
    );
    settle(&records, &waiting[0], true, 150).await;
    let decided = take(&records, 150).await;
    assert_eq!(events(&decided), ["decided"]);
    assert_eq!(decided[0].about.hold.decision.as_ref().unwrap().by, "ada");
    settle(&records, &decided[0], false, 150).await;
    assert_eq!(
        events(&take(&records, 3749).await),
        ["decided"],
        "for an hour"
    );
    assert!(take(&records, 3751).await.is_empty());
    hold(&records, told()).await;
    assert!(take(&records, 180).await.is_empty(), "it has expired");
    assert!(take(&records, 100).await.is_empty(), "for good");
    records.sweep(at(100_000)).await.unwrap();
    assert!(
        !records.has_unsent_notice(URL).await.unwrap(),
        "the rows are removed"
    );
}

#[tokio::test]
async fn another_process_takes_a_notice_over_once_the_one_that_sends_it_has_ended() {
    let root = state_root();
    let first = records_in(root.path());
    let second = records_in(root.path());
    hold(&first, told()).await;
    assert_eq!(take(&first, 100).await.len(), 1);
    assert!(take(&second, 100).await.is_empty());
    drop(first);
    let mut taken = Vec::new();
    for _ in 0..500 {
        taken = take(&second, 100).await;
        if !taken.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(events(&taken), ["waiting"]);
}
