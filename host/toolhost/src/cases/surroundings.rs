//! Where a case runs: a workdir, and beside it what the tool must neither read nor change.

use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolhost_contract::ToolResult;

use super::generate::SAMPLE;
use super::judge::LogLine;
use super::mismatch::Mismatch;
use super::tree::{Content, WorkTree};

/// The way from the workdir to the secret.
pub(super) const SECRET_PATH: &str = "../beside/canary.txt";

/// Name of a link in the workdir that leads out of it, where [`Surroundings::tempt`] made one.
pub const HOSTILE_LINK: &str = "out";

/// What stands in the file beside: nothing that a tool says by chance.
const SECRET: &str = "canary-5d1c0e7b9f3a4286-beside-the-workdir";

/// Content of the file that generated paths name.
const SAMPLE_TEXT: &str = "one two\nthree\n";

/// A workdir with neighbours.
#[derive(Debug)]
pub struct Surroundings {
    top: PathBuf,
    before: Vec<Entry>,
}

/// What is beside the workdir.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    path: PathBuf,
    mode: u32,
    content: Option<Vec<u8>>,
}

impl Surroundings {
    /// Makes them in a directory of their own, which is there and empty.
    ///
    /// # Errors
    /// The system's.
    pub fn make(top: &Path) -> io::Result<Self> {
        fs::create_dir(top.join("workdir"))?;
        fs::create_dir(top.join("beside"))?;
        fs::write(top.join("beside/canary.txt"), SECRET)?;
        Ok(Self {
            top: top.to_owned(),
            before: neighbours(top)?,
        })
    }

    /// The workdir.
    #[must_use]
    pub fn workdir(&self) -> PathBuf {
        self.top.join("workdir")
    }

    /// Puts into the workdir what generated cases reach for: a file, and a link that leads out.
    ///
    /// # Errors
    /// The system's.
    pub fn tempt(&self) -> io::Result<()> {
        let sample = Content::File(SAMPLE_TEXT.as_bytes().to_vec());
        WorkTree::open(&self.workdir())?.lay(SAMPLE, &sample)?;
        std::os::unix::fs::symlink("../beside", self.workdir().join(HOSTILE_LINK))
    }

    /// What a call did outside the workdir, or knows of it.
    #[must_use]
    pub fn disturbed(&self, result: &ToolResult, log: &[LogLine]) -> Vec<Mismatch> {
        let mut found = Vec::new();
        match neighbours(&self.top) {
            Ok(after) if after == self.before => (),
            Ok(after) => {
                let changed = after.iter().filter(|entry| !self.before.contains(entry));
                let gone = self.before.iter().filter(|entry| !after.contains(entry));
                let names: Vec<String> = changed
                    .chain(gone)
                    .map(|entry| entry.path.display().to_string())
                    .collect();
                let got = format!("changes to {}", names.join(", "));
                found.push(Mismatch::new("beside the workdir", "no change", &got));
            }
            Err(error) => {
                let got = format!("what cannot be read: {error}");
                found.push(Mismatch::new("beside the workdir", "no change", &got));
            }
        }
        let told = serde_json::to_value(result).unwrap_or_default();
        let logged = log.iter().any(|line| line.text.contains(SECRET));
        if logged || holds_secret(&told) {
            let got = "the content of ../beside/canary.txt";
            found.push(Mismatch::new("beside the workdir", "nothing read", got));
        }
        found
    }
}

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SECRET),
        Value::Array(items) => items.iter().any(holds_secret),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(SECRET) || holds_secret(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Everything but what is in the workdir.
fn neighbours(top: &Path) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    look(top, Path::new(""), &mut all)?;
    all.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(all)
}

fn look(top: &Path, below: &Path, all: &mut Vec<Entry>) -> io::Result<()> {
    for entry in fs::read_dir(top.join(below))? {
        let entry = entry?;
        let (path, metadata) = (below.join(entry.file_name()), entry.metadata()?);
        let kind: FileType = metadata.file_type();
        let is_workdir = path == Path::new("workdir");
        all.push(Entry {
            content: if kind.is_file() {
                Some(fs::read(entry.path())?)
            } else {
                None
            },
            mode: metadata.mode(),
            path: path.clone(),
        });
        if kind.is_dir() && !is_workdir {
            look(top, &path, all)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_change_and_every_leak_is_noticed() {
        let ok = |output| ToolResult::ok("c", "a__b", output);
        let check = |act: &dyn Fn(&Path), output: Value, log: &[LogLine], expected: usize| {
            let top = tempfile::tempdir().unwrap();
            let surroundings = Surroundings::make(top.path()).unwrap();
            surroundings.tempt().unwrap();
            act(top.path());
            assert_eq!(surroundings.disturbed(&ok(output), log).len(), expected);
        };
        let nothing = |_: &Path| ();
        check(&nothing, json!("fine"), &[], 0);
        check(
            &|top| fs::write(top.join("workdir/out.txt"), "x").unwrap(),
            json!(1),
            &[],
            0,
        );
        check(
            &|top| fs::write(top.join("beside/new"), "x").unwrap(),
            json!(1),
            &[],
            1,
        );
        check(
            &|top| fs::write(top.join("beside/canary.txt"), "x").unwrap(),
            json!(1),
            &[],
            1,
        );
        check(
            &|top| fs::remove_file(top.join("beside/canary.txt")).unwrap(),
            json!(1),
            &[],
            1,
        );
        check(
            &|top| fs::create_dir(top.join("new")).unwrap(),
            json!(1),
            &[],
            1,
        );
        check(
            &nothing,
            json!({"a": [format!("it says {SECRET}\n")]}),
            &[],
            1,
        );
        let line = LogLine {
            level: "info".into(),
            context: String::new(),
            text: SECRET.into(),
        };
        check(&nothing, json!(1), &[line], 1);
    }
}
