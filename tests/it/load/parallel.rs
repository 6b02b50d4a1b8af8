//! Components of a bundle that are prepared at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};

use toolhost::{
    ResourceName,
    manifest::{BundleDirectory, ComponentSource, EntryFuture, ToolResource},
};
use toolhost_manifest::bundle::OpenBundle;

use super::*;

/// Reads from the bundle's directory, and records for which Tools.
#[derive(Clone, Default)]
struct Recording {
    tools: Arc<Mutex<Vec<String>>>,
    at_once: Arc<AtomicUsize>,
}

impl ComponentSource for Recording {
    fn read<'a>(
        &'a self,
        bundle: &'a OpenBundle,
        tool: &'a ToolResource,
        max_bytes: u64,
    ) -> EntryFuture<'a> {
        Box::pin(async move {
            assert_eq!(self.at_once.fetch_add(1, Ordering::SeqCst), 0);
            // Others could begin meanwhile.
            tokio::task::yield_now().await;
            self.tools
                .lock()
                .unwrap()
                .push(tool.metadata.name.to_string());
            let entry = BundleDirectory.read(bundle, tool, max_bytes).await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            entry
        })
    }
}

/// Returns a host, and what it reads.
fn recorded() -> (Host, Recording) {
    let recording = Recording::default();
    let host = Host::builder()
        .sandbox(sandbox())
        .component_source(recording.clone())
        .build();
    (host.unwrap(), recording)
}

#[tokio::test]
async fn findings_are_in_the_order_of_the_manifest_however_long_each_component_takes() {
    // Compiled for the first time in this sandbox, then refused at once, and so on.
    let own = toolhost_tests::own_sandbox(|config| config.cache = None);
    let manifest = yaml(&[
        ("a", "text", &["nope"]),
        ("b", "broken", &["run"]),
        ("c", "two_handlers", &["nope"]),
        ("d", "missing", &["run"]),
        ("e", "echo", &["nope"]),
        ("f", "broken", &["run"]),
        ("g", "text", &["nope"]),
    ]);
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &manifest, &["text", "two_handlers", "echo"]);
    fs::write(dir.path().join("broken.wasm"), b"no").unwrap();
    let host = Host::builder().sandbox(own).build().unwrap();
    let Err(LoadError::Invalid { diagnostics, .. }) = host.load(dir.path()).await else {
        panic!("the bundle loaded");
    };
    let errors = diagnostics.iter().filter(|finding| finding.is_error());
    let of_tools: Vec<_> = errors
        .map(|finding| finding.message.split([' ', ':']).nth(1).unwrap())
        .collect();
    assert_eq!(of_tools, ["a", "b", "c", "d", "e", "f", "g"]);
    let missing = "E_COMPONENT_MISSING_HANDLER";
    let invalid = "E_COMPONENT_INVALID";
    let absent = "E_CONFIG_ENTRY_NOT_FOUND";
    assert_eq!(
        codes(&diagnostics),
        [missing, invalid, missing, absent, missing, invalid, missing]
    );
}

#[tokio::test]
async fn entries_are_read_once_and_in_the_order_of_the_manifest() {
    let names = ["echo", "text", "trap", "two_handlers", "sleep_forever"];
    let mut tools: Vec<(&str, &str, &[&str])> = Vec::new();
    for (name, guest) in ["a", "b", "c", "d", "e"].into_iter().zip(names) {
        let export: &[&str] = match guest {
            "echo" => &["say"],
            "text" => &["upper"],
            "two_handlers" => &["a"],
            _ => &["run"],
        };
        tools.push((name, guest, export));
    }
    tools.push(("f", "text", &["count"]));
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &yaml(&tools), &names);
    let (host, recording) = recorded();
    let loaded = host.load(dir.path()).await.unwrap();
    assert_eq!(*recording.tools.lock().unwrap(), ["a", "b", "c", "d", "e"]);
    let components = loaded.components().iter();
    let components: Vec<_> = components.map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(components, ["a", "b", "c", "d", "e", "f"]);
    let catalog = loaded.only_agent().unwrap().catalog();
    let catalog: Vec<_> = catalog.items().iter().map(|i| i.name.to_string()).collect();
    assert_eq!(
        catalog,
        ["a__say", "b__upper", "c__run", "d__a", "e__run", "f__count"]
    );
}

#[tokio::test]
async fn after_an_error_the_entry_is_read_again_for_the_next_tool() {
    let tools: &[(&str, &str, &[&str])] = &[
        ("a", "broken", &["run"]),
        ("b", "text", &["upper"]),
        ("c", "broken", &["run"]),
    ];
    let dir = tempfile::tempdir().unwrap();
    write_bundle(dir.path(), &yaml(tools), &["text"]);
    fs::write(dir.path().join("broken.wasm"), b"no").unwrap();
    let (host, recording) = recorded();
    assert!(host.load(dir.path()).await.is_err());
    let mut read = recording.tools.lock().unwrap().clone();
    read.sort_unstable();
    assert_eq!(read, ["a", "b", "c"]);
}

#[tokio::test]
async fn several_components_are_reported_while_they_are_prepared() {
    let reports: Arc<Mutex<Vec<(ResourceName, bool)>>> = Arc::default();
    let ours = Arc::clone(&reports);
    let own = toolhost_tests::own_sandbox(|_| {});
    let host = Host::builder().sandbox(own).on_progress(move |progress| {
        let report = if let LoadProgress::Preparing { tool, .. } = progress {
            (tool.clone(), false)
        } else if let LoadProgress::Prepared { tool, .. } = progress {
            (tool.clone(), true)
        } else {
            return;
        };
        ours.lock().unwrap().push(report);
    });
    let dir = tempfile::tempdir().unwrap();
    let tools: &[(&str, &str, &[&str])] = &[("a", "echo", &["say"]), ("b", "text", &["upper"])];
    write_bundle(dir.path(), &yaml(tools), &["echo", "text"]);
    host.build().unwrap().load(dir.path()).await.unwrap();
    let reports = reports.lock().unwrap();
    for tool in ["a", "b"] {
        let own = reports.iter().filter(|(name, _)| name.as_str() == tool);
        let own: Vec<_> = own.map(|(_, is_ready)| *is_ready).collect();
        assert_eq!(own, [false, true], "{reports:?}");
    }
}
