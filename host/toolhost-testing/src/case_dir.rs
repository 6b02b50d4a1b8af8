//! The directory of a case: its workdir, and a secret beside it that the tool must neither read nor
//! change.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toolhost_contract::ToolResult;

use crate::judge::LogLine;
use crate::mismatch::Mismatch;
use crate::work_tree::{Content, WorkTree};

/// A file of the workdir. Generated cases name it wherever a tool takes a text.
pub(crate) const SAMPLE: &str = "sample.txt";

/// The path from the workdir to a secret outside it.
pub(crate) const SECRET_PATH: &str = "../beside/canary.txt";

/// A link in the workdir to a directory outside it.
pub(crate) const HOSTILE_LINK: &str = "out";

/// The content of the secret file: no tool returns it by chance.
const SECRET: &str = "canary-5d1c0e7b9f3a4286-beside-the-workdir";

/// The content of [`SAMPLE`].
const SAMPLE_TEXT: &str = "one two\nthree\n";

/// The directory of a case.
#[derive(Debug)]
pub(crate) struct CaseDir {
    top: PathBuf,
    before: Entries,
}

/// Mode and content of each entry outside the workdir, by path.
type Entries = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

impl CaseDir {
    /// Creates a workdir and its neighbours in `top`, an empty directory.
    pub(crate) fn create(top: &Path) -> io::Result<Self> {
        fs::create_dir(top.join("workdir"))?;
        fs::create_dir(top.join("beside"))?;
        fs::write(top.join("beside/canary.txt"), SECRET)?;
        let mut before = Entries::new();
        collect(top, Path::new(""), &mut before)?;
        Ok(Self {
            top: top.to_owned(),
            before,
        })
    }

    /// The workdir.
    pub(crate) fn workdir(&self) -> PathBuf {
        self.top.join("workdir")
    }

    /// Puts the files that generated cases name into the workdir: a sample file, and a link out of it.
    pub(crate) fn plant_bait(&self) -> io::Result<()> {
        let sample = Content::File(SAMPLE_TEXT.as_bytes().to_vec());
        WorkTree::open(&self.workdir())?.write(SAMPLE, &sample)?;
        std::os::unix::fs::symlink("../beside", self.workdir().join(HOSTILE_LINK))
    }

    /// Returns what a call changed outside the workdir, and whether its result or log holds the secret.
    pub(crate) fn escaped_changes(&self, result: &ToolResult, log: &[LogLine]) -> Vec<Mismatch> {
        const WHAT: &str = "beside the workdir";
        let mut changes = Vec::new();
        let mut after = Entries::new();
        let got = match collect(&self.top, Path::new(""), &mut after) {
            Ok(()) if after == self.before => None,
            Ok(()) => {
                let union: BTreeSet<&PathBuf> = after.keys().chain(self.before.keys()).collect();
                let changed = union.into_iter();
                let changed = changed.filter(|path| after.get(*path) != self.before.get(*path));
                let paths: Vec<String> = changed.map(|path| path.display().to_string()).collect();
                Some(format!("changes to {}", paths.join(", ")))
            }
            Err(error) => Some(format!("files that cannot be read: {error}")),
        };
        changes.extend(got.map(|got| Mismatch::new(WHAT, "no change", &got)));
        // The secret has no character that JSON escapes.
        let result = serde_json::to_string(result).unwrap_or_default();
        if result.contains(SECRET) || log.iter().any(|line| line.text.contains(SECRET)) {
            let got = "the content of ../beside/canary.txt";
            changes.push(Mismatch::new(WHAT, "nothing read", got));
        }
        changes
    }
}

/// Adds all entries of a folder and beneath it, but not those of the workdir.
fn collect(top: &Path, below: &Path, entries: &mut Entries) -> io::Result<()> {
    for entry in fs::read_dir(top.join(below))? {
        let entry = entry?;
        let (path, metadata) = (below.join(entry.file_name()), entry.metadata()?);
        let content = if metadata.is_file() {
            Some(fs::read(entry.path())?)
        } else {
            None
        };
        if metadata.is_dir() && path != Path::new("workdir") {
            collect(top, &path, entries)?;
        }
        entries.insert(path, (metadata.mode(), content));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_change_and_every_leak_is_found() {
        let check = |act: &dyn Fn(&Path), output: Value, log: &[LogLine], expected: usize| {
            let top = tempfile::tempdir().unwrap();
            let dir = CaseDir::create(top.path()).unwrap();
            dir.plant_bait().unwrap();
            act(top.path());
            let result = ToolResult::ok("c", "a__b", output);
            assert_eq!(dir.escaped_changes(&result, log).len(), expected);
        };
        let writes = |path: &'static str| move |top: &Path| fs::write(top.join(path), "x").unwrap();
        let nothing = |_: &Path| ();
        check(&nothing, json!("fine"), &[], 0);
        check(&writes("workdir/out.txt"), json!(1), &[], 0);
        check(&writes("beside/new"), json!(1), &[], 1);
        check(&writes("beside/canary.txt"), json!(1), &[], 1);
        let removes = |top: &Path| fs::remove_file(top.join("beside/canary.txt")).unwrap();
        check(&removes, json!(1), &[], 1);
        let makes = |top: &Path| fs::create_dir(top.join("new")).unwrap();
        check(&makes, json!(1), &[], 1);
        let leak = format!("it says {SECRET}\n");
        check(&nothing, json!({"a": [leak]}), &[], 1);
        check(&nothing, json!({SECRET: 1}), &[], 1);
        let line = LogLine {
            level: "info".into(),
            context: String::new(),
            text: SECRET.into(),
        };
        check(&nothing, json!(1), &[line], 1);
    }
}
