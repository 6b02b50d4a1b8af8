//! The bundle and the workdir that the server serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_tests::{guest, root};

use super::Result;

const MANIFEST: &str = "goondan.yaml";

/// What a change of the bundle replaces in the manifest.
const CHANGED: &str = "description: Returns a text\n";

/// Files of the workdir: the resources that the suite reads, by their paths in its URIs.
const RESOURCES: [(&str, &[u8]); 4] = [
    (
        "static-text",
        b"This is the content of the static text resource.",
    ),
    ("static-binary", b"\x89PNG\r\n\x1a\n\0"),
    (
        "template/123/data",
        br#"{"id":"123","templateTest":true,"data":"Data for ID: 123"}"#,
    ),
    ("watched-resource", b"Watched"),
];

/// The bundle and the workdir, in a folder of the run.
#[derive(Clone)]
pub(crate) struct Fixture {
    folder: PathBuf,
    changes: Arc<AtomicU64>,
}

impl Fixture {
    /// Makes the folder anew.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let fixture = Self {
            folder: folder.to_owned(),
            changes: Arc::default(),
        };
        fs::create_dir_all(fixture.bundle().join(".toolhost"))?;
        let component = fixture.bundle().join(".toolhost/conformance.wasm");
        fs::write(component, guest("conformance"))?;
        fs::write(fixture.bundle().join(MANIFEST), manifest()?)?;
        for (path, content) in RESOURCES {
            let path = fixture.workdir().join(path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, content)?;
        }
        Ok(fixture)
    }

    pub(crate) fn bundle(&self) -> PathBuf {
        self.folder.join("bundle")
    }

    pub(crate) fn workdir(&self) -> PathBuf {
        self.folder.join("workdir")
    }

    /// Returns a folder for what else a program leaves.
    pub(crate) fn other(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Changes the list of tools, as an operator does: in the bundle.
    pub(crate) fn change_tools(&self) -> Result<()> {
        let change = self.changes.fetch_add(1, Relaxed);
        let other = format!("description: Returns a text, since change {change}\n");
        let changed = manifest()?.replacen(CHANGED, &other, 1);
        let unfinished = self.bundle().join(format!("change-{change}"));
        fs::write(&unfinished, changed)?;
        fs::rename(unfinished, self.bundle().join(MANIFEST))?;
        Ok(())
    }
}

fn manifest() -> Result<String> {
    let path = root("tests/fixtures/conformance").join(MANIFEST);
    let text = fs::read_to_string(&path)?;
    if !text.contains(CHANGED) {
        return Err(format!("{} has no line `{}`", path.display(), CHANGED.trim()).into());
    }
    Ok(text)
}
