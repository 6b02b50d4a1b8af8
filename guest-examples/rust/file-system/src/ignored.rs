//! The rules of .gitignore and .ignore.

use std::fs;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::walk::{Entry, Kind};

const FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Most bytes of a file of rules.
const FILE_MAX: u64 = 1 << 20;

/// The rules that hold in a folder: its own, then those above.
#[derive(Clone, Default)]
pub(crate) struct Rules(Option<Rc<Level>>);

struct Level {
    rules: Gitignore,
    above: Rules,
}

impl Rules {
    /// Returns the rules of the folders above this one.
    pub(crate) fn above(folder: &str) -> Self {
        let parents = folder
            .match_indices('/')
            .map(|(at, _)| folder.get(..at).unwrap_or_default());
        let parents = parents.filter(|_| folder != "/");
        parents.fold(Self::default(), |rules, parent| {
            let parent = if parent.is_empty() { "/" } else { parent };
            let is_there =
                |name: &&str| fs::metadata(join(parent, name)).is_ok_and(|it| it.is_file());
            rules.with_those_of(parent, FILES.into_iter().filter(is_there))
        })
    }

    /// Adds the rules of a folder with these entries.
    pub(crate) fn with_those_of<'a>(
        self,
        folder: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Self {
        let mut files: Vec<_> = names.filter(|name| FILES.contains(name)).collect();
        if files.is_empty() {
            return self;
        }
        // The last rule that matches decides.
        files.sort_unstable();
        let mut builder = GitignoreBuilder::new(folder);
        for name in files {
            let path = join(folder, name);
            let is_small = fs::metadata(&path).is_ok_and(|it| it.len() <= FILE_MAX);
            let text = is_small
                .then(|| fs::read(&path).ok())
                .flatten()
                .unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                // git passes over a line that is no pattern, too.
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(rules) => Self(Some(Rc::new(Level { rules, above: self }))),
            Err(_) => self,
        }
    }

    /// Returns whether an entry is left out; `.git` always is.
    pub(crate) fn exclude(&self, entry: &Entry) -> bool {
        if entry.name == ".git" {
            return true;
        }
        let mut level = self.0.as_deref();
        while let Some(Level { rules, above }) = level {
            match rules.matched(&entry.path, entry.kind == Kind::Dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = above.0.as_deref(),
            }
        }
        false
    }
}

fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}
