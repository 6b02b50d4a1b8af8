//! The entries beneath a folder, sorted, one after another.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::vec::IntoIter;

use serde::Serialize;
use toolhost_guest::ToolError;

use crate::failure;
use crate::ignored::Rules;

/// Unreadable entries that are named.
pub(crate) const UNREADABLE_MAX: usize = 10;

/// Which entries a walk leaves out.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ignored {
    /// None.
    Shown,
    /// `.git`, and what .gitignore and .ignore exclude.
    Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Dir,
    Link,
}

impl From<fs::FileType> for Kind {
    fn from(kind: fs::FileType) -> Self {
        if kind.is_dir() {
            Self::Dir
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::File
        }
    }
}

pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) kind: Kind,
}

pub(crate) struct Walk {
    folders: Vec<Folder>,
    depth: usize,
    ignored: Ignored,
    /// A path: it and what is sorted before it is left out.
    after: Option<String>,
    unreadable: Vec<String>,
}

struct Folder {
    entries: IntoIter<Entry>,
    rules: Rules,
}

impl Walk {
    /// Begins a walk through the folders beneath `root`, at most `depth` deep; the entries of `root` itself are 1.
    pub(crate) fn new(
        root: &str,
        depth: usize,
        ignored: Ignored,
        after: Option<String>,
    ) -> Result<Self, ToolError> {
        let mut walk = Self {
            folders: Vec::new(),
            depth,
            ignored,
            after,
            unreadable: Vec::new(),
        };
        let rules = match ignored {
            Ignored::Shown => Rules::default(),
            Ignored::Hidden => Rules::above(root),
        };
        let folder = walk
            .folder(root, rules)
            .map_err(|error| failure::io(root, &error))?;
        walk.folders.push(folder);
        Ok(walk)
    }

    /// Returns the folders beneath the first that cannot be read.
    pub(crate) fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    fn folder(&self, path: &str, rules: Rules) -> io::Result<Folder> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{}/{name}", path.trim_end_matches('/'));
            let kind = entry.file_type()?.into();
            entries.push(Entry { name, path, kind });
        }
        let rules = match self.ignored {
            Ignored::Shown => rules,
            Ignored::Hidden => rules.with_those_of(path, entries.iter().map(|it| it.name.as_str())),
        };
        if self.ignored == Ignored::Hidden {
            entries.retain(|entry| !rules.exclude(entry));
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Folder {
            entries: entries.into_iter(),
            rules,
        })
    }

    fn enter(&mut self, path: &str) {
        let rules = self.folders.last().map(|folder| folder.rules.clone());
        match self.folder(path, rules.unwrap_or_default()) {
            Ok(folder) => self.folders.push(folder),
            Err(_) if self.unreadable.len() >= UNREADABLE_MAX => {}
            Err(_) => self.unreadable.push(path.into()),
        }
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let folder = self.folders.last_mut()?;
            let Some(entry) = folder.entries.next() else {
                self.folders.pop();
                continue;
            };
            let is_before = self
                .after
                .as_ref()
                .is_some_and(|after| order(&entry.path, after) != Ordering::Greater);
            let holds_after = is_before
                && self
                    .after
                    .as_ref()
                    .is_some_and(|after| is_within(after, &entry.path));
            // A link to a folder is not entered: it may lead back here.
            let is_entered = entry.kind == Kind::Dir && self.folders.len() < self.depth;
            if is_entered && (!is_before || holds_after) {
                self.enter(&entry.path);
            }
            if !is_before {
                return Some(entry);
            }
        }
    }
}

/// Compares paths as a walk visits them: part by part.
fn order(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

/// Returns whether a path is this folder or lies beneath it.
fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Ignored, Walk};

    #[test]
    fn a_walk_is_sorted_obeys_ignore_files_and_goes_on_after_any_entry() {
        let dir = std::env::temp_dir().join(format!("file-system-walk-{}", std::process::id()));
        let root = dir.to_str().unwrap();
        for (path, content) in [
            ("a-b", ""),
            ("a/b", ""),
            ("a/c/d", ""),
            ("a/x.log", ""),
            ("b", ""),
            (".gitignore", "*.log\n!keep.log\n/target/\n"),
            ("target/out", ""),
            ("a/keep.log", ""),
            ("a/.gitignore", "c/\n"),
            (".git/config", ""),
        ] {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let walk = |start: &str, depth, ignored, after: Option<&str>| -> Vec<String> {
            let after = after.map(|it| format!("{root}/{it}"));
            let walk = Walk::new(start, depth, ignored, after).unwrap();
            walk.map(|it| it.path[root.len() + 1..].to_owned())
                .collect()
        };
        let all = walk(root, 9, Ignored::Shown, None);
        assert_eq!(
            all,
            [
                ".git",
                ".git/config",
                ".gitignore",
                "a",
                "a/.gitignore",
                "a/b",
                "a/c",
                "a/c/d",
                "a/keep.log",
                "a/x.log",
                "a-b",
                "b",
                "target",
                "target/out"
            ]
        );
        for (at, after) in all.iter().enumerate() {
            assert_eq!(
                walk(root, 9, Ignored::Shown, Some(after)),
                all[at + 1..],
                "{after}"
            );
        }
        let shown = [
            ".gitignore",
            "a",
            "a/.gitignore",
            "a/b",
            "a/keep.log",
            "a-b",
            "b",
        ];
        assert_eq!(walk(root, 9, Ignored::Hidden, None), shown);
        assert_eq!(
            walk(root, 1, Ignored::Hidden, None),
            [".gitignore", "a", "a-b", "b"]
        );
        let inner = format!("{root}/a");
        assert_eq!(
            walk(&inner, 9, Ignored::Hidden, None),
            ["a/.gitignore", "a/b", "a/keep.log"]
        );
        fs::remove_dir_all(dir).unwrap();
    }
}
