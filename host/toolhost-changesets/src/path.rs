//! Paths in a bundle's folder, as a model writes them.

use toolhost::lock::LOCK;
use toolhost::manifest::{folded, is_read_by_name};

use crate::limits::PATH_BYTES_MAX;

/// Longest name of a file or folder, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Folders whose contents programs of the host run or read: they can be neither read nor written.
const HIDDEN: [&str; 1] = [".git"];

/// Why a path is no file of the bundle that a changeset can reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It names the bundle's folder itself.
    #[error("the path names no file")]
    Empty,
    /// It begins with `/`.
    #[error("the path '{path}' is absolute")]
    Absolute {
        /// The path.
        path: String,
    },
    /// It has `..` in it.
    #[error("the path '{path}' contains '..'")]
    Above {
        /// The path.
        path: String,
    },
    /// A name in it is too long, or has a control character or a backslash.
    #[error("the path '{path}' has a name that no file of a bundle may have")]
    Name {
        /// The path.
        path: String,
    },
    /// It is too long.
    #[error("the path is longer than {PATH_BYTES_MAX} bytes")]
    Long,
    /// Programs of the host run or read what lies there.
    #[error(
        "'{name}' in the path '{path}' is reserved: programs outside the sandbox run or read it"
    )]
    Reserved {
        /// The path.
        path: String,
        /// The reserved name.
        name: String,
    },
    /// A build may run what it contains.
    #[error(
        "'{path}' is a Rust source outside a tool's package, or of one with a build script: \
         `toolhost build` may run it outside the sandbox"
    )]
    HostSource {
        /// The path.
        path: String,
    },
}

/// What is to be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Parses the path of a file: names with `/` between them, from the bundle's folder.
pub(crate) fn parse(text: &str, access: Access) -> Result<String, PathError> {
    let path = parse_folder(text)?;
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if access == Access::Write {
        refuse(&path, is_reserved)?;
    }
    Ok(path)
}

/// Parses the path of a file or a folder. The bundle's folder itself is empty.
pub(crate) fn parse_folder(text: &str) -> Result<String, PathError> {
    if text.len() > PATH_BYTES_MAX {
        return Err(PathError::Long);
    }
    let path = || text.chars().filter(|c| !c.is_control()).collect();
    if text.starts_with('/') {
        return Err(PathError::Absolute { path: path() });
    }
    let mut names = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => continue,
            ".." => return Err(PathError::Above { path: path() }),
            _ => {}
        }
        let is_refused = |c: char| c.is_control() || c == '\\';
        if name.len() > NAME_BYTES_MAX || name.contains(is_refused) {
            return Err(PathError::Name { path: path() });
        }
        names.push(name);
    }
    let path = names.join("/");
    refuse(&path, is_hidden)?;
    Ok(path)
}

/// Whether a file or folder of this name is reached by no path.
pub(crate) fn is_hidden(name: &str) -> bool {
    HIDDEN.contains(&folded(name).as_str())
}

/// Whether no file or folder of this name is written. `toolhost build` runs outside a sandbox, and so do other programs
/// that read files by name; an agent that could change the lock could accept its own changes.
fn is_reserved(name: &str) -> bool {
    folded(name) == LOCK || is_read_by_name(name)
}

/// Refuses a path with one of these names.
fn refuse(path: &str, is_refused: fn(&str) -> bool) -> Result<(), PathError> {
    match path.split('/').find(|name| is_refused(name)) {
        Some(name) => Err(PathError::Reserved {
            path: path.to_owned(),
            name: name.to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_bundle_have_one_form() {
        let check = |text: &str, expected: &str| {
            assert_eq!(
                parse(text, Access::Write).as_deref(),
                Ok(expected),
                "{text}"
            );
        };
        check("goondan.yaml", "goondan.yaml");
        check("./tools//text.wasm", "tools/text.wasm");
        check("tools/./a b/가.txt/", "tools/a b/가.txt");
        check(".hidden", ".hidden");
        assert_eq!(parse_folder("").as_deref(), Ok(""));
        assert_eq!(parse_folder("./").as_deref(), Ok(""));
    }

    #[test]
    fn hostile_paths_are_refused() {
        // requirements-v1 §12.4: nothing outside the bundle's folder is reachable
        let long = "a/".repeat(PATH_BYTES_MAX);
        let name = "n".repeat(256);
        for text in [
            "",
            ".",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "a\0b",
            "a\nb",
            "a\\b",
            &long,
            &name,
            ".git/config",
            "a/.GIT/hooks/x",
            ".git",
        ] {
            assert!(parse(text, Access::Read).is_err(), "{text:?}");
        }
        for text in [
            "Cargo.toml",
            "sub/cargo.TOML",
            "node_modules/x/index.js",
            ".cargo/config.toml",
            "build.rs",
            "package.json",
            "requirements.txt",
            "tools/Requirements.TXT",
            "a/.npmrc",
            ".yarn/releases/yarn.cjs",
            "pac\u{212a}age.json",
            "x/.Cargo/config",
            "toolho\u{17f}t.lock",
        ] {
            let refused = parse(text, Access::Write);
            assert!(matches!(refused, Err(PathError::Reserved { .. })), "{text}");
            assert!(parse(text, Access::Read).is_ok(), "{text}");
        }
    }
}
