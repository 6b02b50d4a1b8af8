//! Names and paths that are given with a directory.
//!
//! Windows gives names a meaning that Unix does not: separators, streams, devices, dots and spaces that are ignored, and
//! short forms of other names. A guest that could pass one would reach a device, another file, or the same file under
//! a name that is not protected.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::io::{Errno, Result};

/// Characters that no name has, apart from control characters.
const REFUSED: [char; 9] = ['\\', '/', ':', '*', '?', '"', '<', '>', '|'];

/// Names of devices, in every directory and with every extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Names of devices, with a digit behind them.
const PORTS: [&str; 2] = ["COM", "LPT"];

/// Most UTF-16 units of a name.
const UNITS_MAX: usize = 255;

/// Checks that a name is that of an entry of a directory, and of none but this.
///
/// # Errors
/// `INVAL`, or `NAMETOOLONG`.
pub(crate) fn check(name: &OsStr) -> Result<&str> {
    let name = name.to_str().ok_or(Errno::ILSEQ)?;
    if name.encode_utf16().count() > UNITS_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let is_refused = |letter: char| letter.is_control() || REFUSED.contains(&letter);
    if name.is_empty()
        || name.ends_with(['.', ' '])
        || name.chars().any(is_refused)
        || is_device(name)
        || is_short_form(name)
    {
        return Err(Errno::INVAL);
    }
    Ok(name)
}

/// Whether a name is that of a device, whatever its extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ').to_uppercase();
    let is_port = |port: &&str| {
        let number = stem.strip_prefix(*port).unwrap_or_default();
        let mut digits = number.chars();
        let digit = digits.next();
        digit.is_some_and(|digit| matches!(digit, '0'..='9' | '¹' | '²' | '³'))
            && digits.next().is_none()
    };
    DEVICES.contains(&stem.as_str()) || PORTS.iter().any(is_port)
}

/// Whether a name has the form that Windows gives a second, short name of a file: `GOONDA~1.YAM`.
fn is_short_form(name: &str) -> bool {
    let (stem, end) = name.split_once('.').unwrap_or((name, ""));
    let number = stem.rsplit_once('~').map_or("", |(_, number)| number);
    stem.chars().count() <= 8
        && end.chars().count() <= 3
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A relative path, checked: how far it leads up, and the names that follow.
#[derive(Debug, Default)]
pub(crate) struct Relative {
    pub(crate) ups: usize,
    /// Empty if it is the directory itself, or one above it.
    pub(crate) names: PathBuf,
}

impl Relative {
    /// Checks a path. `..` is allowed at its beginning alone: behind a name, it could be above the target of a link.
    ///
    /// # Errors
    /// `INVAL` if it is absolute or one of its names is refused.
    pub(crate) fn parse(path: &Path) -> Result<Self> {
        let mut relative = Self::default();
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir if relative.names.as_os_str().is_empty() => relative.ups += 1,
                Component::Normal(name) => relative.names.push(check(name)?),
                Component::ParentDir | Component::Prefix(_) | Component::RootDir => {
                    return Err(Errno::INVAL);
                }
            }
        }
        Ok(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_taken(name: &str) -> bool {
        check(OsStr::new(name)).is_ok()
    }

    #[test]
    fn names_of_files_are_taken() {
        for name in [
            "a",
            ".git",
            "note.txt",
            "한글 이름.md",
            "CONSOLE",
            "com",
            "com10",
            "nul-1",
            "lpt_1.txt",
            "~1x",
            "a~b.txt",
            "longer-than-8~1.txt",
            "a.b~1",
            "x~1.yaml",
            "..a",
        ] {
            assert!(is_taken(name), "{name}");
        }
    }

    #[test]
    fn names_with_another_meaning_on_windows_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "a\\b",
            "a/b",
            "a:b",
            "C:",
            "file.txt::$DATA",
            "a.",
            "a ",
            "a. .",
            "a*",
            "a?",
            "\"",
            "<",
            ">",
            "|",
            "a\0b",
            "a\nb",
            "\u{7f}",
            "CON",
            "con",
            "Con.txt",
            "nul",
            "NUL .txt",
            "aux.tar.gz",
            "PRN",
            "COM1",
            "com9.log",
            "LPT1",
            "COM0",
            "COM²",
            "lpt³.x",
            "CONIN$",
            "conout$",
            "GOONDA~1.YAM",
            "case~2.yml",
            "PROGRA~1",
        ] {
            assert!(!is_taken(name), "{name:?}");
        }
        assert!(is_taken(&"한".repeat(255)) && !is_taken(&"한".repeat(256)));
    }

    #[test]
    fn a_path_leads_up_at_its_beginning_alone() {
        let parsed = |path: &str| Relative::parse(Path::new(path));
        let up = parsed("./../../a/b").unwrap();
        assert_eq!((up.ups, up.names), (2, PathBuf::from("a/b")));
        let here = parsed(".").unwrap();
        assert_eq!((here.ups, here.names), (0, PathBuf::new()));
        for path in ["", "/a", "a/..", "a/../../b", "../a:b", "a/nul/b"] {
            assert!(parsed(path).is_err(), "{path}");
        }
    }
}
