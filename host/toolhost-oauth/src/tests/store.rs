//! Rows, and who may change them.

use toolhost_store::rusqlite::Connection;

use super::*;
use crate::answer::Tokens;
use crate::cipher::Cipher;
use crate::resolved_app::ResolvedApp;
use crate::store::grants::{Claim, Grant};
use crate::store::sessions::{Session, SessionFlow};
use crate::store::{GrantKey, Tables};

const NOW: i64 = 1_800_000_000_000;
const LEASE: Duration = Duration::from_secs(60);

fn tables(root: &Path) -> Tables {
    Tables::new(super::store(root), Cipher::new(&[7; 32]))
}

fn key(subject: &str) -> GrantKey {
    let app = ResolvedApp::new(&app("https://auth.example")).unwrap();
    GrantKey {
        subject: subject.to_owned(),
        ..app.key(None).unwrap()
    }
}

fn tokens(n: u32) -> Tokens {
    Tokens {
        access: Secret::new(format!("access-{n}")),
        refresh: Some(Secret::new(format!("refresh-{n}"))),
        scopes: None,
        expires_in: Some(Duration::from_secs(3600)),
    }
}

/// Stores a grant as the end of a session does.
async fn put(tables: &Tables, key: &GrantKey, n: u32) {
    let session = Session {
        id: "s".to_owned(),
        key: key.clone(),
        scopes: vec!["read".to_owned()],
        expires_ms: NOW + 1000,
        flow: SessionFlow::Code {
            redirect: "http://127.0.0.1/".to_owned(),
            state: Secret::new("state"),
            verifier: Secret::new("verifier"),
        },
    };
    tables
        .grant_session(&session, tokens(n), NOW)
        .await
        .unwrap();
}

async fn claim(tables: &Tables, now_ms: i64) -> Claim {
    let key = key("");
    let claim = tables.claim(&key, |_| true, now_ms, LEASE).await;
    claim.unwrap().unwrap()
}

async fn grant(tables: &Tables) -> Grant {
    tables.grant(&key("")).await.unwrap().unwrap().unwrap()
}

// requirements-v1 §12.6.3 (2)
#[tokio::test]
async fn a_row_that_is_moved_to_another_place_does_not_open() {
    let root = tempfile::tempdir().unwrap();
    let tables = tables(root.path());
    put(&tables, &key("ada"), 1).await;
    put(&tables, &key("bob"), 2).await;
    let find = async |subject| {
        let row = tables.grant(&key(subject)).await.unwrap();
        row.map(|grant| grant.unwrap().access.expose().to_owned())
    };
    assert_eq!(find("bob").await.unwrap(), "access-2");
    let db = Connection::open(root.path().join("toolhost.db")).unwrap();
    let moved = [
        "UPDATE oauth_grants SET access = (SELECT access FROM oauth_grants WHERE subject = 'ada') WHERE subject = 'bob'",
        "UPDATE oauth_grants SET refresh = access WHERE subject = 'ada'",
    ];
    for update in moved {
        assert_eq!(db.execute(update, []).unwrap(), 1);
    }
    assert!(find("bob").await.is_err(), "another subject's token");
    assert!(find("ada").await.is_err(), "a token in another column");
    db.execute("DELETE FROM oauth_grants WHERE subject = 'bob'", [])
        .unwrap();
    db.execute("UPDATE oauth_grants SET subject = 'bob'", [])
        .unwrap();
    assert!(find("bob").await.is_err(), "another subject's row");
}

#[tokio::test]
async fn a_grant_is_leased_to_one_and_taken_over_from_a_process_that_ended() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = (tables(root.path()), tables(root.path()));
    put(&one, &key(""), 1).await;
    assert!(matches!(claim(&one, NOW).await, Claim::Leased(..)));
    assert!(matches!(claim(&other, NOW).await, Claim::Taken(_)));
    assert!(matches!(claim(&one, NOW).await, Claim::Taken(_)));
    let over = NOW + 60_001;
    assert!(matches!(claim(&other, over).await, Claim::Leased(..)));
    assert!(matches!(claim(&one, over).await, Claim::Taken(_)));
    drop(other);
    // The store's thread ends after its last handle.
    for _ in 0..1000 {
        match claim(&one, over).await {
            Claim::Leased(..) => return,
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    panic!("the lease of a store that is closed is still held");
}

#[tokio::test]
async fn a_refresh_that_was_overtaken_replaces_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (one, other) = (tables(root.path()), tables(root.path()));
    put(&one, &key(""), 1).await;
    let Claim::Leased(claimed, lease) = claim(&one, NOW).await else {
        panic!("a lease")
    };
    put(&other, &key(""), 2).await;
    let row = one.refreshed(&key(""), &claimed, tokens(9), NOW).await;
    let row = row.unwrap().unwrap().unwrap();
    assert_eq!(row.access.expose(), "access-2");
    let sent = Secret::new("refresh-1");
    let row = one.rejected(&key(""), &sent, lease).await.unwrap();
    let row = row.unwrap().unwrap();
    assert_eq!(
        row.refresh.unwrap().expose(),
        "refresh-2",
        "the loser removes nothing"
    );
    assert_eq!(grant(&one).await.access.expose(), "access-2");
}

#[tokio::test]
async fn a_grant_that_was_removed_meanwhile_does_not_come_back() {
    let root = tempfile::tempdir().unwrap();
    let tables = tables(root.path());
    put(&tables, &key(""), 1).await;
    let Claim::Leased(claimed, _) = claim(&tables, NOW).await else {
        panic!("a lease")
    };
    let app = key("").app;
    assert_eq!(tables.remove(&app, "", None).await.unwrap(), 1);
    let grant = tables.refreshed(&key(""), &claimed, tokens(2), NOW).await;
    assert!(grant.unwrap().unwrap().is_none());
    assert!(tables.list_grants().await.unwrap().is_empty());
}

#[tokio::test]
async fn pauses_double_after_each_failure_up_to_five_minutes() {
    let root = tempfile::tempdir().unwrap();
    let tables = tables(root.path());
    put(&tables, &key(""), 1).await;
    let mut now = NOW;
    for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let Claim::Leased(_, lease) = claim(&tables, now).await else {
            panic!("a lease")
        };
        let retry = tables.failed(&key(""), lease, None, now).await.unwrap();
        assert_eq!(retry - now, expected * 1000);
        assert!(matches!(claim(&tables, now).await, Claim::Kept(_)));
        now = retry;
    }
}

#[tokio::test]
async fn open_sessions_of_a_key_are_bounded_and_expired_ones_removed() {
    let world = World::new(rotating());
    for _ in 0..40 {
        world.begin().await;
    }
    let db = Connection::open(world.root.path().join("toolhost.db")).unwrap();
    let count = || {
        let select = "SELECT count(*) FROM oauth_sessions";
        db.query_row(select, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(count(), 16);
    world.clock.forward(601);
    world.begin().await;
    assert_eq!(count(), 1);
}
