//! The cache of compiled components.

mod entries;
mod eviction;
mod processes;
mod records;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolhost_sandbox::{
    CacheConfig, CodeOrigin, Outcome, PrepareError, Sandbox, SandboxConfig, SandboxStartError,
};
use toolhost_tests::{guest, invocation};

fn config(top: &Path) -> CacheConfig {
    CacheConfig::new(top.join("cache"), top.join("state/cache.key"))
}

fn try_sandbox(cache: CacheConfig) -> Result<Sandbox, SandboxStartError> {
    Sandbox::new({
        let mut config = SandboxConfig::default();
        config.cache = Some(cache);
        config
    })
}

fn sandbox(top: &Path) -> Sandbox {
    try_sandbox(config(top)).unwrap()
}

/// Prepares a guest in a new sandbox; returns whether it was compiled or cached.
async fn prepare(top: &Path, name: &str) -> CodeOrigin {
    sandbox(top).prepare(guest(name)).await.unwrap().1
}

fn artifact_path(top: &Path) -> PathBuf {
    let mut files: Vec<_> = fs::read_dir(top.join("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap();
}

#[tokio::test]
async fn a_second_start_loads_the_compiled_code_from_the_cache() {
    let top = tempfile::tempdir().unwrap();
    let (first, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);
    let (second, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    assert_eq!(first.handlers(), second.handlers());
    let report = second.call(invocation("say", &json!({"a": 1}), None)).await;
    assert_eq!(report.outcome.unwrap(), Outcome::Output(json!({"a": 1})));

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&artifact_path(top.path())), 0o400);
    assert_eq!(mode(&top.path().join("cache")), 0o700);
    assert_eq!(mode(&top.path().join("state/cache.key")), 0o600);
}

#[tokio::test]
async fn a_modified_artifact_is_compiled_again() {
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 8] = [
        ("one bit of code", |bytes| bytes[5000] ^= 1),
        ("one bit of what `describe` answered", |bytes| {
            let at = bytes.len() - 60;
            bytes[at] ^= 1;
        }),
        ("one bit of its signature", |bytes| {
            let at = bytes.len() - 20;
            bytes[at] ^= 1;
        }),
        ("all but its last byte", |bytes| {
            bytes.pop();
        }),
        ("its last byte", |bytes| *bytes.last_mut().unwrap() ^= 1),
        ("half of it", |bytes| bytes.truncate(bytes.len() / 2)),
        ("nothing left", Vec::clear),
        ("another file", |bytes| *bytes = b"hello".repeat(100)),
    ];
    let top = tempfile::tempdir().unwrap();
    sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    for (what, change) in changes {
        rewrite(&artifact_path(top.path()), change);
        let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
        assert_eq!(origin, CodeOrigin::Compiled, "{what}");
        let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
        assert_eq!(
            origin,
            CodeOrigin::Cached,
            "the artifact is replaced after: {what}"
        );
    }
}

#[tokio::test]
async fn an_artifact_with_another_key_or_writable_by_others_is_refused() {
    let top = tempfile::tempdir().unwrap();
    sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    let path = artifact_path(top.path());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);

    // The artifact of another key under this key's name.
    let signed_by_other = artifact_path(top.path());
    fs::write(top.path().join("state/cache.key"), [7; 32]).unwrap();
    let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(
        origin,
        CodeOrigin::Compiled,
        "each key has its own artifacts"
    );
    let both = fs::read_dir(top.path().join("cache")).unwrap();
    let own = both
        .map(|entry| entry.unwrap().path())
        .find(|path| *path != signed_by_other);
    fs::rename(&signed_by_other, own.unwrap()).unwrap();
    let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);
}

#[tokio::test]
async fn a_link_in_place_of_an_artifact_is_not_followed() {
    let (top, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    let path = artifact_path(top.path());
    let moved = other.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &path).unwrap();
    let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Compiled);
}

#[tokio::test]
async fn an_artifact_of_another_engine_is_not_loaded() {
    let top = tempfile::tempdir().unwrap();
    prepare(top.path(), "echo").await;
    let own = artifact_path(top.path());
    // The other engine's artifact under this engine's name.
    let name = own.file_name().unwrap().to_str().unwrap().to_owned();
    let parts: Vec<_> = name.split('-').collect();
    let foreign = name.replace(parts[1], "0123456789abcdef");
    fs::rename(&own, top.path().join("cache").join(&foreign)).unwrap();
    assert_eq!(prepare(top.path(), "echo").await, CodeOrigin::Compiled);
    fs::rename(top.path().join("cache").join(&foreign), &own).unwrap();
    assert_eq!(prepare(top.path(), "echo").await, CodeOrigin::Cached);
}

#[test]
fn directories_and_keys_that_others_can_write_or_own_are_refused() {
    let refused = |what: &str, spoil: &dyn Fn(&Path, &Path)| {
        let top = tempfile::tempdir().unwrap();
        let (dir, state) = (top.path().join("cache"), top.path().join("state"));
        fs::create_dir(&dir).unwrap();
        fs::create_dir(&state).unwrap();
        for own in [&dir, &state] {
            fs::set_permissions(own, fs::Permissions::from_mode(0o700)).unwrap();
        }
        assert!(try_sandbox(config(top.path())).is_ok(), "{what}");
        spoil(&dir, &state);
        let Err(error) = try_sandbox(config(top.path())) else {
            panic!("accepted: {what}");
        };
        let text = error.to_string();
        let says = ["other users can ", "belongs to user "];
        assert!(
            says.iter().any(|says| text.contains(says)),
            "{what}: {text}"
        );
    };
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    refused("everybody can write the cache", &|dir, _| mode(dir, 0o777));
    refused("the group can write the cache", &|dir, _| mode(dir, 0o770));
    refused("others can write the cache", &|dir, _| mode(dir, 0o702));
    refused("the group can write beside the key", &|_, state| {
        mode(state, 0o770);
    });
    refused("others can read the key", &|_, state| {
        mode(&state.join("cache.key"), 0o604);
    });
    // Root changes the owner of the directory; another user tries a directory of root.
    if rustix::process::geteuid().is_root() {
        refused("another user's", &|dir, _| {
            std::os::unix::fs::chown(dir, Some(1), None).unwrap();
        });
    } else {
        let top = tempfile::tempdir().unwrap();
        let of_root = CacheConfig::new("/usr", top.path().join("state/cache.key"));
        assert!(try_sandbox(of_root).is_err());
    }
}

#[tokio::test]
async fn two_sandboxes_can_use_one_cache_concurrently() {
    let top = tempfile::tempdir().unwrap();
    let racers: Vec<_> = (0..6)
        .map(|_| {
            let own = top.path().to_owned();
            tokio::task::spawn_blocking(move || {
                let own = sandbox(&own);
                futures_executor::block_on(own.prepare(guest("echo")))
            })
        })
        .collect();
    let mut compiled = 0;
    for racer in racers {
        let (tool, origin) = racer.await.unwrap().unwrap();
        compiled += usize::from(origin == CodeOrigin::Compiled);
        let report = tool.call(invocation("say", &json!({"a": 1}), None)).await;
        assert!(report.outcome.is_ok());
    }
    assert_eq!(compiled, 1);
    let (_, origin) = sandbox(top.path()).prepare(guest("echo")).await.unwrap();
    assert_eq!(origin, CodeOrigin::Cached);
    artifact_path(top.path());
}

#[tokio::test]
async fn a_describe_that_traps_or_returns_too_much_is_a_load_error() {
    let own = toolhost_tests::sandbox();
    for name in ["describe_trap", "describe_flood"] {
        let refused = own.prepare(guest(name)).await;
        assert!(
            matches!(
                refused,
                Err(PrepareError::Describe(_) | PrepareError::DescribeTooLarge { .. })
            ),
            "{name}: {refused:?}"
        );
    }
}
