//! `glob`: the files whose path fits a pattern.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::failure;
use crate::list::cursor_of;
use crate::path::GuestPath;
use crate::room::{RESULT_MAX, json_len};
use crate::walk::{Ignored, Kind, Walk};

const DEFAULT_LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 10_000;

#[derive(Deserialize)]
pub(crate) struct Input {
    pattern: String,
    #[serde(default)]
    path: String,
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(default)]
    ignored: bool,
}

#[derive(Serialize)]
pub(crate) struct Output {
    path: String,
    count: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    files: Vec<String>,
}

/// Returns the files sorted by path. A link is a file.
pub(crate) fn glob(_: &Context, input: Input) -> Result<Output, ToolError> {
    let root = GuestPath::new(&input.path);
    let pattern = Pattern::new(&input.pattern, root.as_str())?;
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LIMIT_MAX);
    let cursor = input
        .cursor
        .as_deref()
        .map(|cursor| cursor_of(cursor, &root))
        .transpose()?;
    let mut walk = Walk::new(root.as_str(), usize::MAX, ignored(input.ignored), cursor)?;
    let (mut files, mut room, mut truncated) = (Vec::new(), RESULT_MAX, false);
    for entry in walk
        .by_ref()
        .filter(|it| it.kind != Kind::Dir && pattern.fits(&it.path))
    {
        let needed = json_len(&entry.path) + 3;
        truncated = files.len() >= limit || needed > room;
        if truncated {
            break;
        }
        room -= needed;
        files.push(entry.path);
    }
    Ok(Output {
        path: root.as_str().into(),
        count: files.len(),
        truncated,
        cursor: files.last().filter(|_| truncated).cloned(),
        unreadable: walk.unreadable().into(),
        files,
    })
}

pub(crate) fn ignored(shown: bool) -> Ignored {
    if shown {
        Ignored::Shown
    } else {
        Ignored::Hidden
    }
}

/// A pattern of paths beneath a folder. Without a `/` it is one of names, in any folder.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    root: String,
    is_of_name: bool,
}

impl Pattern {
    pub(crate) fn new(pattern: &str, root: &str) -> Result<Self, ToolError> {
        let relative = pattern.trim_start_matches("./").trim_start_matches('/');
        let glob = GlobBuilder::new(relative).literal_separator(true).build();
        let glob = glob.map_err(|error| failure::pattern(pattern, &error.kind().to_string()))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            root: format!("{}/", root.trim_end_matches('/')),
            is_of_name: !pattern.contains('/'),
        })
    }

    pub(crate) fn fits(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let name = below.rsplit('/').next().filter(|_| self.is_of_name);
        self.matcher.is_match(name.unwrap_or(below))
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_pattern_without_a_slash_is_one_of_names() {
        for (pattern, root, path, expected) in [
            ("*.rs", "/", "/a.rs", true),
            ("*.rs", "/", "/src/a.rs", true),
            ("src/*.rs", "/", "/src/a.rs", true),
            ("src/*.rs", "/", "/src/b/a.rs", false),
            ("/*.rs", "/", "/src/a.rs", false),
            ("./*.rs", "/", "/a.rs", true),
            ("**/*.{ts,tsx}", "/web", "/web/a/b.tsx", true),
            ("b/**", "/a", "/a/b/c/d", true),
            ("[ab].txt", "/", "/x/b.txt", true),
            (".*", "/", "/.env", true),
        ] {
            let pattern_ = Pattern::new(pattern, root).unwrap();
            assert_eq!(pattern_.fits(path), expected, "{pattern} {path}");
        }
        assert!(Pattern::new("a[", "/").is_err());
    }
}
