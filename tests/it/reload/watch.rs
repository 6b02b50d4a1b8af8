//! Noticing that the files of a bundle have changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use toolhost::BundleWatch;
use toolhost_tests::sandbox;
use toolhost_tests::test_host::write_bundle;

use super::{documents, replace_component, tool};

/// Longer than it takes to notice a change, on a busy machine too.
const SOON: Duration = Duration::from_secs(10);

async fn is_noticed(watch: &mut BundleWatch, within: Duration) -> bool {
    let sandbox = sandbox();
    tokio::time::timeout(within, watch.changed(&sandbox))
        .await
        .is_ok()
}

/// Writes a new file and renames it over the old one.
fn rename_over(file: &Path, content: &str) {
    let new = file.with_extension("tmp");
    fs::write(&new, content).unwrap();
    fs::rename(new, file).unwrap();
}

fn text(description: &str) -> String {
    tool("text", "text", "upper", description)
}

#[tokio::test]
async fn each_kind_of_change_is_noticed_once() {
    let top = tempfile::tempdir().unwrap();
    let path = |name: &str| top.path().join(name);
    for release in ["one", "two"] {
        fs::create_dir(path(release)).unwrap();
        write_bundle(&path(release), &text(release), &["text"]);
    }
    symlink("one", path("current")).unwrap();
    let (bundle, policy) = (path("current"), path("policy.yaml"));
    let manifest = bundle.join("goondan.yaml");
    let mut watch = BundleWatch::new(&bundle);
    watch.set_also([policy.clone()]);
    let two_tools = documents(&[text("x"), tool("late", "late", "run", "x")]);
    let changes: [(&str, &dyn Fn()); 8] = [
        ("a manifest that is renamed over", &|| {
            rename_over(&manifest, &text("y"))
        }),
        ("a component in place", &|| {
            fs::write(bundle.join("text.wasm"), toolhost_tests::guest("text")).unwrap();
        }),
        ("a policy that is created", &|| {
            fs::write(&policy, "{}").unwrap()
        }),
        ("a component that is named before it exists", &|| {
            rename_over(&manifest, &two_tools);
        }),
        ("a component that is created later", &|| {
            replace_component(&bundle.join("late.wasm"), "trap");
        }),
        ("a link that is swapped", &|| {
            symlink("two", path("next")).unwrap();
            fs::rename(path("next"), &bundle).unwrap();
        }),
        ("a directory that is removed", &|| {
            fs::remove_dir_all(path("two")).unwrap()
        }),
        ("a directory that is created again", &|| {
            fs::create_dir(path("two")).unwrap();
            write_bundle(&path("two"), &text("again"), &["text"]);
        }),
    ];
    for (what, change) in changes {
        change();
        assert!(is_noticed(&mut watch, SOON).await, "{what}");
    }
    // A file that nothing names.
    fs::write(bundle.join("other"), "").unwrap();
    assert!(!is_noticed(&mut watch, Duration::from_secs(1)).await);
}

#[tokio::test]
async fn a_manifest_by_its_own_name_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = dir.path().join("bundle.yaml");
    let mut watch = BundleWatch::new(&manifest);
    fs::write(&manifest, text("x")).unwrap();
    assert!(is_noticed(&mut watch, SOON).await);
    replace_component(&dir.path().join("text.wasm"), "text");
    assert!(is_noticed(&mut watch, SOON).await);
}

#[tokio::test]
async fn a_flood_of_writes_is_reported_every_few_seconds() {
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &text("x"), &["text"]);
    let mut watch = BundleWatch::new(dir.path());
    let stop = Arc::new(AtomicBool::new(false));
    let (stopped, manifest) = (Arc::clone(&stop), dir.path().join("goondan.yaml"));
    let flood = std::thread::spawn(move || {
        let mut writes = 0;
        while !stopped.load(Relaxed) {
            rename_over(&manifest, &text(&writes.to_string()));
            writes += 1;
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for _ in 0..2 {
        let started = Instant::now();
        assert!(is_noticed(&mut watch, SOON).await);
        // Not for each write.
        assert!(started.elapsed() > Duration::from_secs(2));
    }
    // More writes, after the state that was reported.
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Relaxed);
    flood.join().unwrap();
    // The last write is not missed, and is reported once.
    assert!(is_noticed(&mut watch, SOON).await);
    assert!(!is_noticed(&mut watch, Duration::from_secs(1)).await);
}

#[tokio::test]
async fn a_change_before_the_first_wait_and_during_a_dropped_one_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &text("x"), &["text"]);
    let mut watch = BundleWatch::new(dir.path());
    fs::write(dir.path().join("goondan.yaml"), text("y")).unwrap();
    for _ in 0..3 {
        assert!(!is_noticed(&mut watch, Duration::from_millis(100)).await);
    }
    assert!(is_noticed(&mut watch, SOON).await);
}
