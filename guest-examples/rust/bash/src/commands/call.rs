//! One call of a command: what it gets, and what it writes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use bashkit::{FileType, Metadata, normalize_path};

use super::dates::Zone;
use crate::files::{Files, text_of};

/// Whether a link at the end of a path stands for what it leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Follow,
    Keep,
}

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
    /// Whether standard input is a file that was redirected to the command.
    pub(crate) stdin_is_file: bool,
    /// What `/dev/fd/63` and the like hold, for each that an argument names.
    pub(crate) devices: HashMap<String, Vec<u8>>,
    /// When the shell's time is over.
    pub(crate) until: Instant,
    /// Whether the command has waited until then.
    pub(crate) is_late: bool,
    pub(crate) out: Vec<u8>,
    /// [`Self::warn`] writes to it.
    pub(crate) err: Vec<u8>,
    /// How long stdout and stderr were each time when something was written to stderr.
    marks: Vec<(usize, usize)>,
    /// What goes to `/dev/fd/63` and the like when the command is over.
    pub(crate) device_outputs: Vec<(String, Vec<u8>)>,
    /// Variables of the shell that the command sets.
    pub(crate) assignments: Vec<(String, String)>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        name: &'a str,
        context: (&'a [String], &'a HashMap<String, String>, &'a Path, Instant),
        files: &'a Files,
        stdin: &'a [u8],
    ) -> Self {
        let (args, env, cwd, until) = context;
        Self {
            name,
            args,
            env,
            cwd,
            files,
            stdin,
            stdin_is_file: false,
            devices: HashMap::new(),
            until,
            is_late: false,
            out: Vec::new(),
            err: Vec::new(),
            marks: Vec::new(),
            device_outputs: Vec::new(),
            assignments: Vec::new(),
        }
    }

    /// The pieces of both streams in the order in which they were written: whether a piece is of stderr, and its
    /// length.
    pub(crate) fn pieces(&self) -> Vec<(bool, usize)> {
        let mut pieces = Vec::new();
        let (mut out, mut err) = (0, 0);
        for (out_length, err_length) in &self.marks {
            pieces.push((false, out_length.saturating_sub(out)));
            pieces.push((true, err_length.saturating_sub(err)));
            (out, err) = (*out_length, *err_length);
        }
        pieces.push((false, self.out.len().saturating_sub(out)));
        pieces.push((true, self.err.len().saturating_sub(err)));
        pieces.retain(|(_, length)| *length > 0);
        pieces
    }

    /// Writes to standard error.
    pub(crate) fn warn(&mut self, text: impl AsRef<[u8]>) {
        self.err.extend_from_slice(text.as_ref());
        self.marks.push((self.out.len(), self.err.len()));
    }

    /// The absolute path of an operand. `..` is the parent of what a link leads to.
    pub(crate) fn path(&self, operand: &str) -> PathBuf {
        let path = self.cwd.join(operand);
        if !operand.contains("..") {
            return normalize_path(&path);
        }
        let mut physical = PathBuf::new();
        for part in path.components() {
            if part == Component::ParentDir {
                physical = self.files.target(&physical).unwrap_or(physical);
                physical.pop();
            } else {
                physical.push(part);
            }
        }
        normalize_path(&physical)
    }

    /// What is at an operand. A slash at its end asks for a folder, and follows a link.
    ///
    /// # Errors
    /// Nothing is there, or it cannot be read.
    pub(crate) fn metadata(&self, operand: &str, links: Links) -> io::Result<Metadata> {
        if operand.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "No such file or directory",
            ));
        }
        let (path, slash) = (self.path(operand), operand.ends_with('/'));
        let metadata = if slash || links == Links::Follow {
            self.files.target_metadata(&path)?
        } else {
            self.files.metadata(&path)?
        };
        if slash && metadata.file_type != FileType::Directory {
            let text = "Not a directory";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
        }
        Ok(metadata)
    }

    /// Whether an operand is a folder, or a link to one.
    pub(crate) fn is_folder(&self, operand: &str) -> bool {
        let metadata = self.metadata(operand, Links::Follow);
        metadata.is_ok_and(|metadata| metadata.file_type.is_dir())
    }

    /// Asks on standard error, and reads a line of standard input. The end of the input means no.
    pub(crate) fn confirm(&mut self, question: impl std::fmt::Display) -> bool {
        let question = format!("{}: {question} ", self.name);
        self.warn(question);
        let end = self.stdin.iter().position(|byte| *byte == b'\n');
        let (answer, rest) = self
            .stdin
            .split_at(end.map_or(self.stdin.len(), |end| end + 1));
        self.stdin = rest;
        matches!(answer.first(), Some(b'y' | b'Y'))
    }

    /// The time zone of `TZ`.
    pub(crate) fn zone(&self) -> Zone {
        Zone::of(self.env.get("TZ").map(String::as_str))
    }

    /// A name between the quotation marks of the locale.
    pub(crate) fn quoted(&self, name: &str) -> String {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| {
            let value = self.env.get(*name);
            value.filter(|value| !value.is_empty())
        });
        if locale.is_some_and(|locale| locale.to_ascii_lowercase().contains("utf")) {
            format!("\u{2018}{name}\u{2019}")
        } else {
            format!("'{name}'")
        }
    }

    /// Arguments that the command cannot use, as GNU's programs say it.
    pub(crate) fn misuse(&self, text: impl std::fmt::Display) -> Failure {
        let name = self.name;
        Failure::new(
            1,
            format!("{text}\nTry '{name} --help' for more information."),
        )
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

    /// Whether texts are UTF-8, not bytes: they are unless the environment asks for the locale `C`.
    pub(crate) fn is_utf8(&self) -> bool {
        let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].iter();
        let set = names.find_map(|name| self.env.get(*name).filter(|value| !value.is_empty()));
        !matches!(set.map(String::as_str), Some("C" | "POSIX"))
    }

    /// Writes an output file of an operand; `-` and `/dev/stdout` are standard output.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&mut self, operand: &str, content: &[u8]) -> io::Result<()> {
        match operand {
            "-" | "/dev/stdout" => self.out.extend_from_slice(content),
            "/dev/stderr" => self.warn(content),
            "/dev/null" => {}
            _ if operand.starts_with("/dev/fd/") => {
                self.device_outputs
                    .push((operand.to_owned(), content.to_vec()));
            }
            _ => self.files.write(&self.path(operand), content)?,
        }
        Ok(())
    }

    /// Adds to an output file of an operand, as [`Self::write`] writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn append(&mut self, operand: &str, content: &[u8]) -> io::Result<()> {
        if operand == "-" || operand.starts_with("/dev/") {
            return self.write(operand, content);
        }
        let path = self.path(operand);
        let target = self.files.target(&path).unwrap_or(path);
        self.files.append(&target, content)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Writes text to standard output.
    pub(crate) fn print(&mut self, text: impl AsRef<[u8]>) {
        self.out.extend_from_slice(text.as_ref());
    }

    /// Writes `NAME: TEXT` to standard error.
    pub(crate) fn complain(&mut self, text: impl std::fmt::Display) {
        self.warn(format!("{}: {text}\n", self.name));
    }

    /// Writes `NAME: OPERAND: why` to standard error.
    pub(crate) fn complain_of(&mut self, operand: &str, error: &io::Error) {
        self.complain(format_args!("{operand}: {}", text_of(error)));
    }
}
