//! Paths in a bundle's folder, as a model writes them.

use crate::limits::PATH_BYTES_MAX;

/// Longest name of a file or folder, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Folders whose contents programs of the host run or read: they can be neither read nor written.
const HIDDEN: [&str; 1] = [".git"];

/// What compilers and bundlers look up by name, and the lock. `toolhost build` runs outside a sandbox, and would
/// run code in some of them; an agent that could change the lock could accept its own changes.
const RESERVED: [&str; 15] = [
    toolhost::lock::LOCK,
    ".cargo",
    "rust-toolchain.toml",
    "rust-toolchain",
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "package.json",
    ".pnp.cjs",
    ".pnp.js",
    ".pnp.data.json",
    ".pnp.loader.mjs",
    "tsconfig.json",
    "jsconfig.json",
    "node_modules",
];

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
        refuse(&path, &RESERVED)?;
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
    refuse(&path, &HIDDEN)?;
    Ok(path)
}

/// Whether a file or folder of this name is reached by no path.
pub(crate) fn is_hidden(name: &str) -> bool {
    HIDDEN
        .iter()
        .any(|hidden| hidden.eq_ignore_ascii_case(name))
}

/// Refuses a path with one of these names, in any case: file systems may ignore it.
fn refuse(path: &str, reserved: &[&str]) -> Result<(), PathError> {
    let is_reserved = |name: &&str| reserved.iter().any(|it| it.eq_ignore_ascii_case(name));
    match path.split('/').find(is_reserved) {
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
        ] {
            let refused = parse(text, Access::Write);
            assert!(matches!(refused, Err(PathError::Reserved { .. })), "{text}");
            assert!(parse(text, Access::Read).is_ok(), "{text}");
        }
    }
}
