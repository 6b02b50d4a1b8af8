//! What is kept for MCP servers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};
use toolhost_contract::ResourceName;

use super::*;

const URL: &str = "https://mcp.example/mcp";

fn opened(root: &Path) -> ServerCredentials {
    let clock = Arc::new(TestClock::default());
    let oauth = open(root, &clock, Duration::from_secs(10));
    oauth.server(&ResourceName::parse("srv").unwrap(), URL)
}

fn root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700)).unwrap();
    root
}

/// Writes the credentials as version 0.1 did: a private file in a private folder, beside its lock.
fn write_earlier(root: &Path, text: &str) -> PathBuf {
    let folder = root.join("mcp-credentials");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let digest = Sha256::digest(URL.as_bytes());
    let digest: String = digest
        .iter()
        .take(8)
        .map(|it| format!("{it:02x}"))
        .collect();
    let path = folder.join(format!("srv.{digest}.json"));
    for path in [&path, &path.with_extension("lock")] {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    path
}

#[tokio::test]
async fn a_record_of_a_server_is_encrypted_and_of_one_url() {
    let root = root();
    let server = opened(root.path());
    assert_eq!(server.load().await.unwrap(), None);
    server.save(Secret::new("record-1")).await.unwrap();
    server.save(Secret::new("record-2")).await.unwrap();
    assert_eq!(server.load().await.unwrap(), Some(Secret::new("record-2")));
    // Another process, and another URL.
    let other = opened(root.path());
    assert_eq!(other.load().await.unwrap(), Some(Secret::new("record-2")));
    let clock = Arc::new(TestClock::default());
    let oauth = open(root.path(), &clock, Duration::from_secs(10));
    let name = ResourceName::parse("srv").unwrap();
    let elsewhere = oauth.server(&name, "https://other.example/mcp");
    assert_eq!(elsewhere.load().await.unwrap(), None);
    for entry in fs::read_dir(root.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let has_record = bytes.windows(7).any(|window| window == b"record-");
        assert!(!has_record, "{}", path.display());
    }
    assert!(other.remove().await.unwrap() && !other.remove().await.unwrap());
    assert_eq!(server.load().await.unwrap(), None);
}

#[tokio::test]
async fn one_process_at_a_time_renews_the_tokens_of_a_server() {
    let root = root();
    let (one, two) = (opened(root.path()), opened(root.path()));
    let held = one.lease().await.unwrap();
    let mut waiting = Box::pin(two.lease());
    let waits = tokio::time::timeout(Duration::from_millis(200), &mut waiting).await;
    assert!(waits.is_err());
    drop(held);
    let second = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    drop(second.unwrap().unwrap());
    // A row that holds only a lease has no record.
    assert_eq!(one.load().await.unwrap(), None);
    assert!(!one.remove().await.unwrap());
}

#[tokio::test]
async fn a_file_of_the_first_release_is_taken_over_once_and_removed() {
    let root = root();
    let path = write_earlier(root.path(), "earlier");
    let server = opened(root.path());
    assert_eq!(server.load().await.unwrap(), Some(Secret::new("earlier")));
    assert!(
        !path.parent().unwrap().exists(),
        "the file, its lock and the folder"
    );
    assert_eq!(server.load().await.unwrap(), Some(Secret::new("earlier")));
    // A file that appears later does not replace what is stored.
    server.save(Secret::new("renewed")).await.unwrap();
    let path = write_earlier(root.path(), "earlier");
    assert_eq!(server.load().await.unwrap(), Some(Secret::new("renewed")));
    // Who logs out leaves nothing behind.
    assert!(server.remove().await.unwrap());
    assert!(!path.exists());
    assert_eq!(server.load().await.unwrap(), None);
}

#[tokio::test]
async fn a_file_or_a_folder_that_others_can_reach_and_links_are_not_taken_over() {
    let cases: [fn(&Path); 4] = [
        |path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap(),
        |path| {
            let folder = path.parent().unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        },
        |path| {
            let target = path.with_extension("target");
            fs::rename(path, &target).unwrap();
            symlink(&target, path).unwrap();
        },
        |path| {
            let folder = path.parent().unwrap();
            let target = folder.with_extension("target");
            fs::rename(folder, &target).unwrap();
            symlink(&target, folder).unwrap();
        },
    ];
    for (at, change) in cases.into_iter().enumerate() {
        let root = root();
        let path = write_earlier(root.path(), "earlier");
        change(&path);
        let server = opened(root.path());
        assert_eq!(server.load().await.unwrap(), None, "case {at}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "earlier", "case {at}");
    }
}
