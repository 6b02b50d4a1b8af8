//! Where the body of a response goes.

use std::io;
use std::path::Path;

use super::trouble;
use crate::commands::call::{Call, Failure};

/// The most bytes of standard output: what one pipe of the shell holds.
const MAX_OUTPUT: usize = 16 << 20;

pub(super) enum Sink {
    Stdout,
    Stderr,
    Nothing,
    File {
        operand: String,
        /// Whether this transfer has written to it; before, it is as it was.
        has_begun: bool,
        /// Whether to write behind what is there.
        appends: bool,
        /// Whether the server may name it.
        takes_name: bool,
    },
}

impl Sink {
    pub(super) fn new(operand: &str) -> Self {
        match operand {
            "-" | "/dev/stdout" => Self::Stdout,
            "/dev/stderr" => Self::Stderr,
            "/dev/null" => Self::Nothing,
            operand => Self::File {
                operand: operand.to_owned(),
                has_begun: false,
                appends: false,
                takes_name: false,
            },
        }
    }

    /// The file that it writes, as `%{filename_effective}` shows it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::File { operand, .. } => operand,
            Self::Stdout | Self::Stderr | Self::Nothing => "",
        }
    }

    pub(super) fn write(&mut self, call: &mut Call, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout if call.out.len() + bytes.len() > MAX_OUTPUT => {
                let text = "Failure writing output to destination: more than 16 MiB for standard output; use -o FILE";
                Err(Failure::new(23, text))
            }
            Self::Stdout => {
                call.out.extend_from_slice(bytes);
                Ok(())
            }
            Self::Stderr => {
                call.warn(bytes);
                Ok(())
            }
            Self::Nothing => Ok(()),
            Self::File {
                operand,
                has_begun,
                appends,
                takes_name: _,
            } => {
                let path = call.path(operand);
                let path = call.files.target(&path).unwrap_or(path);
                let written = if *has_begun || *appends {
                    call.files.append(&path, bytes)
                } else {
                    call.files.write(&path, bytes)
                };
                *has_begun = true;
                written.map_err(|error| trouble::of_output(operand, &error))
            }
        }
    }

    /// Takes the name that the header `content-disposition` has: the last part of it, in the same folder.
    pub(super) fn take_name(&mut self, call: &Call, header: &str) -> Result<(), Failure> {
        let Self::File {
            operand,
            takes_name: true,
            ..
        } = self
        else {
            return Ok(());
        };
        let names = header.split(';').filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let is_name = name.trim().eq_ignore_ascii_case("filename");
            is_name.then(|| value.trim().trim_matches('"'))
        });
        let name = names
            .last()
            .and_then(|name| name.rsplit(['/', '\\']).next());
        let Some(name) = name.filter(|name| !matches!(*name, "" | "." | "..")) else {
            return Ok(());
        };
        *operand = match operand.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
        if call.files.metadata(&call.path(operand)).is_ok() {
            let text = format!("Failed writing body: {operand} exists, and -J replaces no file");
            return Err(Failure::new(23, text));
        }
        Ok(())
    }

    /// Makes the file of a response without a body.
    pub(super) fn finish(&mut self, call: &mut Call) -> Result<(), Failure> {
        match self {
            Self::File {
                has_begun: false, ..
            } => self.write(call, &[]),
            Self::File { .. } | Self::Stdout | Self::Stderr | Self::Nothing => Ok(()),
        }
    }

    /// Begins again, for the next attempt.
    pub(super) fn restart(&mut self) {
        if let Self::File { has_begun, .. } = self {
            *has_begun = false;
        }
    }

    /// Removes a file that is not complete.
    pub(super) fn remove(&self, call: &Call) {
        if let Self::File {
            operand,
            has_begun: true,
            ..
        } = self
        {
            let _ = call.files.remove_file(&call.path(operand));
        }
    }
}

/// Makes the folders that a file needs.
pub(super) fn make_folders(call: &Call, path: &Path) -> io::Result<()> {
    let missing = path.ancestors().skip(1).take_while(|folder| {
        call.files.target_metadata(folder).is_err() && folder.parent().is_some()
    });
    let missing: Vec<_> = missing.collect();
    for folder in missing.into_iter().rev() {
        call.files.make_folder(folder)?;
    }
    Ok(())
}
