//! One call of a command: what it gets, and what it writes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use bashkit::normalize_path;

use crate::files::{Files, text_of};

/// Why a command gives up: the text after its name on stderr, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(code: i32, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    /// Arguments that the command cannot use.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(2, text)
    }
}

/// What a command gets, and what it writes.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a [String],
    /// The exported variables.
    pub(crate) env: &'a HashMap<String, String>,
    pub(crate) cwd: &'a Path,
    pub(crate) files: &'a Files,
    /// Nothing, if nothing was piped or redirected to it.
    pub(crate) stdin: &'a [u8],
    /// What `/dev/fd/63` and the like hold, for each that an argument names.
    pub(crate) devices: HashMap<String, Vec<u8>>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

impl<'a> Call<'a> {
    /// The absolute path of an operand.
    pub(crate) fn path(&self, operand: &str) -> PathBuf {
        normalize_path(&self.cwd.join(operand))
    }

    /// The content of an operand; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, operand: &str) -> io::Result<Cow<'a, [u8]>> {
        if operand == "-" || operand == "/dev/stdin" {
            return Ok(Cow::Borrowed(self.stdin));
        }
        if let Some(bytes) = self.devices.get(operand) {
            return Ok(Cow::Owned(bytes.clone()));
        }
        self.files.read(&self.path(operand)).map(Cow::Owned)
    }

    /// Writes an output file of an operand; `-` and `/dev/stdout` are standard output.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&mut self, operand: &str, content: &[u8]) -> io::Result<()> {
        match operand {
            "-" | "/dev/stdout" => self.out.extend_from_slice(content),
            "/dev/stderr" => self.err.extend_from_slice(content),
            "/dev/null" => {}
            _ => self.files.write(&self.path(operand), content)?,
        }
        Ok(())
    }

    /// Writes text to standard output.
    pub(crate) fn print(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Writes `NAME: TEXT` to standard error.
    pub(crate) fn complain(&mut self, text: impl std::fmt::Display) {
        self.err
            .extend_from_slice(format!("{}: {text}\n", self.name).as_bytes());
    }

    /// Writes `NAME: OPERAND: why` to standard error.
    pub(crate) fn complain_of(&mut self, operand: &str, error: &io::Error) {
        self.complain(format_args!("{operand}: {}", text_of(error)));
    }
}
