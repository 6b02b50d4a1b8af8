//! Secrets are in no place where they should not be. Spec: requirements-v1 §12.6.3.

use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::*;

/// Takes what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All bytes of the files beneath a directory.
fn bytes_beneath(dir: &Path) -> Vec<u8> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        if path.is_dir() {
            bytes_beneath(&path)
        } else {
            fs::read(&path).unwrap()
        }
    };
    entries.flat_map(read).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

// requirements-v1 §12.6.3 (2), (3) and §12.6.4 (1)
#[test]
fn no_secret_is_in_the_stores_bytes_the_log_an_event_or_debug_output() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // The threads of the network too: this test is a process of its own, or the only one that sets it.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut world = World::new(rotating());
        world.app.client_secret = Some(Secret::new("client-secret-1"));
        let mut events = world.oauth.granted();
        let url = world.begin().await;
        let state = parameter(&url, "state");
        let random = state.split('.').nth(1).unwrap().to_owned();
        let while_open = bytes_beneath(world.root.path());
        assert!(
            contains(&while_open, "oauth_sessions"),
            "the tables are written"
        );
        assert!(!contains(&while_open, &random), "state");
        world
            .callback(&format!("code=code-1&state={state}"))
            .await
            .unwrap();
        world.clock.forward(3601);
        let token = world.token().await;
        assert_eq!(ready(&token), "access-2");
        let event = events.recv().await.unwrap();
        let grants = world.oauth.grants().await.unwrap();
        let failed = world.callback("code=code-2&state=x").await.unwrap_err();
        let shown = format!(
            "{token:?} {event:?} {grants:?} {failed:?} {:?} {:?}",
            world.oauth, world.app
        );
        let bytes = bytes_beneath(world.root.path());
        let sent = world.server.requests();
        let verifier = sent[0].form["code_verifier"].as_str();
        assert!(!contains(&while_open, verifier), "verifier");
        let logged = log.0.lock().unwrap().clone();
        for secret in [
            "access-1",
            "access-2",
            "refresh-1",
            "refresh-2",
            "client-secret-1",
            "code-1",
            &random,
            verifier,
        ] {
            assert!(!contains(&bytes, secret), "the store has {secret}");
            assert!(!contains(&logged, secret), "the log has {secret}");
            assert!(!shown.contains(secret), "{secret} is printed");
        }
    });
}

#[tokio::test]
async fn a_grant_does_not_open_with_another_key_and_is_removed_only_on_request() {
    let world = World::new(rotating());
    world.login().await;
    fs::remove_file(world.root.path().join("oauth.key")).unwrap();
    let other = open(world.root.path(), &world.clock, Duration::from_secs(10));
    let token = other
        .access_token(&world.app, None, None, Duration::ZERO)
        .await;
    let refused = error(token);
    assert!(
        refused.to_string().contains("auth revoke github"),
        "{refused}"
    );
    assert_eq!(
        ready(&world.token().await),
        "access-1",
        "nothing was removed"
    );
    let revoked = other.revoke(&world.app, None).await.unwrap();
    assert!(matches!(revoked, Revoked::OnlyHere { .. }));
    assert!(other.grants().await.unwrap().is_empty());
}
