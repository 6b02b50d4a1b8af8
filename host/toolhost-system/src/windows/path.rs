//! Paths as arguments of calls.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};

use super::io::{Errno, Result};
use crate::name;

/// What can be a path. In a text, `/` alone separates names: a text with `\` or `:` is refused. In a [`Path`], what
/// Windows takes for a separator is one.
pub trait Arg {
    /// Returns the path.
    ///
    /// # Errors
    /// `INVAL` for a text with `\` or `:`, `ILSEQ` for bytes that are not UTF-8.
    fn as_path(&self) -> Result<Cow<'_, Path>>;
}

fn of_text(text: &str) -> Result<Cow<'_, Path>> {
    if text.contains(['\\', ':', '\0']) {
        Err(Errno::INVAL)
    } else {
        Ok(Path::new(text).into())
    }
}

fn of_bytes(bytes: &[u8]) -> Result<Cow<'_, Path>> {
    of_text(std::str::from_utf8(bytes).map_err(|_| Errno::ILSEQ)?)
}

/// Checks that a path of a guest is made of names that Windows takes as they are.
///
/// # Errors
/// `INVAL`, `ILSEQ` or `NAMETOOLONG`.
pub fn check_names(path: &str) -> Result<()> {
    let names = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."));
    for part in names {
        name::check(OsStr::new(part))?;
    }
    Ok(())
}

impl Arg for str {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        of_text(self)
    }
}

impl Arg for String {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        of_text(self)
    }
}

impl Arg for [u8] {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        of_bytes(self)
    }
}

impl Arg for CStr {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        of_bytes(self.to_bytes())
    }
}

impl Arg for CString {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        of_bytes(self.to_bytes())
    }
}

impl Arg for OsStr {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        Ok(Path::new(self).into())
    }
}

impl Arg for OsString {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        Ok(Path::new(self).into())
    }
}

impl Arg for Path {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        Ok(self.into())
    }
}

impl Arg for PathBuf {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        Ok(self.into())
    }
}

impl<T: Arg + ?Sized> Arg for &T {
    fn as_path(&self) -> Result<Cow<'_, Path>> {
        (**self).as_path()
    }
}
