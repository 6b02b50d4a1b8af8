//! `rm` and `rmdir`.

use std::io;

use bashkit::{FileType, Metadata};

use super::names::{base, folder, joined, quoted};
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag, optional};
use crate::files::text_of;

pub(super) const RM: Command = Command::new(
    "rm",
    Spec::new(&[
        flag('d', "dir"),
        flag('f', "force"),
        flag('i', ""),
        flag('I', ""),
        optional('\0', "interactive"),
        flag('\0', "no-preserve-root"),
        optional('\0', "preserve-root"),
        flag('\0', "one-file-system"),
        flag('R', "recursive"),
        flag('r', ""),
        flag('v', "verbose"),
    ]),
    rm,
);

pub(super) const RMDIR: Command = Command::new(
    "rmdir",
    Spec::new(&[
        flag('\0', "ignore-fail-on-non-empty"),
        flag('p', "parents"),
        flag('v', "verbose"),
    ]),
    rmdir,
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Never,
    Once,
    Always,
}

struct Removal {
    is_recursive: bool,
    takes_empty_folders: bool,
    is_forced: bool,
    is_verbose: bool,
    ask: Ask,
}

fn rm(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut ask = Ask::Never;
    let mut is_forced = false;
    for (name, value) in line.given() {
        match (name.as_str(), value) {
            ("force", _) => (ask, is_forced) = (Ask::Never, true),
            ("i", _) | ("interactive", None | Some("always" | "yes")) => {
                (ask, is_forced) = (Ask::Always, false)
            }
            ("I", _) | ("interactive", Some("once")) => (ask, is_forced) = (Ask::Once, false),
            ("interactive", Some("never" | "no" | "none")) => ask = Ask::Never,
            ("interactive", Some(other)) => {
                let other = quoted(other);
                return Err(call.misuse(format_args!(
                    "invalid argument {other} for '--interactive'\nValid arguments are:\n  \
                    - 'never', 'no', 'none'\n  - 'once'\n  - 'always', 'yes'"
                )));
            }
            _ => {}
        }
    }
    if line.operands.is_empty() {
        if is_forced {
            return Ok(0);
        }
        return Err(call.misuse("missing operand"));
    }
    let removal = Removal {
        is_recursive: line.has("recursive") || line.has("r"),
        takes_empty_folders: line.has("dir"),
        is_forced,
        is_verbose: line.has("verbose"),
        ask,
    };
    let count = line.operands.len();
    if ask == Ask::Once && (count > 3 || removal.is_recursive) {
        let arguments = if count == 1 { "argument" } else { "arguments" };
        let how = if removal.is_recursive {
            " recursively"
        } else {
            ""
        };
        if !call.confirm(format_args!("remove {count} {arguments}{how}?")) {
            return Ok(0);
        }
    }
    let mut all = true;
    for operand in &line.operands {
        all &= removal.operand(call, operand, line.has("no-preserve-root"));
    }
    Ok(i32::from(!all))
}

impl Removal {
    fn operand(&self, call: &mut Call, operand: &str, takes_root: bool) -> bool {
        let metadata = match call.metadata(operand, Links::Keep) {
            Ok(metadata) => metadata,
            Err(error) if self.is_forced && is_missing(&error) => return true,
            Err(error) => {
                return fail(
                    call,
                    format_args!("cannot remove {}", quoted(operand)),
                    &error,
                );
            }
        };
        if metadata.file_type.is_dir() && self.is_recursive {
            if matches!(base(operand), "." | "..") {
                call.complain(format_args!(
                    "refusing to remove '.' or '..' directory: skipping {}",
                    quoted(operand)
                ));
                return false;
            }
            if call.path(operand).parent().is_none() && !takes_root {
                call.complain(
                    "it is dangerous to operate recursively on '/'\nrm: use --no-preserve-root to override this failsafe",
                );
                return false;
            }
            if operand.ends_with('/')
                && call
                    .files
                    .metadata(&call.path(operand))
                    .is_ok_and(|at| at.file_type.is_symlink())
            {
                call.complain(format_args!(
                    "cannot remove {}: Not a directory",
                    quoted(operand)
                ));
                return false;
            }
        }
        self.entry(call, operand, &metadata)
    }

    fn entry(&self, call: &mut Call, operand: &str, metadata: &Metadata) -> bool {
        let path = call.path(operand);
        let shown = quoted(operand);
        if metadata.file_type != FileType::Directory {
            if self.ask == Ask::Always
                && !call.confirm(format_args!("remove {} {shown}?", kind_of(metadata)))
            {
                return true;
            }
            if let Err(error) = call.files.remove_file(&path) {
                return fail(call, format_args!("cannot remove {shown}"), &error);
            }
            if self.is_verbose {
                call.print(format!("removed {shown}\n"));
            }
            return true;
        }
        if !self.is_recursive && !self.takes_empty_folders {
            call.complain(format_args!("cannot remove {shown}: Is a directory"));
            return false;
        }
        let mut all = true;
        if self.is_recursive {
            let names = match call.files.names(&path) {
                Ok(names) => names,
                Err(error) => return fail(call, format_args!("cannot remove {shown}"), &error),
            };
            if self.ask == Ask::Always
                && !names.is_empty()
                && !call.confirm(format_args!("descend into directory {shown}?"))
            {
                return true;
            }
            for (name, file_type) in names {
                let name = joined(operand, &name);
                let metadata = if self.ask == Ask::Always && file_type == FileType::File {
                    call.metadata(&name, Links::Keep)
                } else {
                    let mut metadata = Metadata::default();
                    metadata.file_type = file_type;
                    Ok(metadata)
                };
                all &= match metadata {
                    Ok(metadata) => self.entry(call, &name, &metadata),
                    Err(error) => fail(
                        call,
                        format_args!("cannot remove {}", quoted(&name)),
                        &error,
                    ),
                };
            }
        }
        if self.ask == Ask::Always && !call.confirm(format_args!("remove directory {shown}?")) {
            return true;
        }
        if !all {
            return false;
        }
        if let Err(error) = call.files.remove_folder(&path) {
            return fail(call, format_args!("cannot remove {shown}"), &error);
        }
        if self.is_verbose {
            call.print(format!("removed directory {shown}\n"));
        }
        true
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn kind_of(metadata: &Metadata) -> &'static str {
    match metadata.file_type {
        FileType::Symlink => "symbolic link",
        FileType::File if metadata.size == 0 => "regular empty file",
        _ => "regular file",
    }
}

/// Removes what is at an operand, with all that it holds.
pub(super) fn remove_all(call: &mut Call, operand: &str) -> bool {
    let removal = Removal {
        is_recursive: true,
        takes_empty_folders: true,
        is_forced: true,
        is_verbose: false,
        ask: Ask::Never,
    };
    match call.metadata(operand, Links::Keep) {
        Ok(metadata) => removal.entry(call, operand, &metadata),
        Err(error) => fail(
            call,
            format_args!("cannot remove {}", quoted(operand)),
            &error,
        ),
    }
}

fn rmdir(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let mut exit_code = 0;
    for operand in &line.operands {
        let mut at = operand.trim_end_matches('/');
        if at.is_empty() {
            at = operand;
        }
        let mut shown = operand.as_str();
        loop {
            if line.has("verbose") {
                call.print(format!("rmdir: removing directory, {}\n", quoted(shown)));
            }
            if let Err(error) = remove_empty(call, shown) {
                let is_ignored = line.has("ignore-fail-on-non-empty")
                    && text_of(&error) == "Directory not empty";
                if !is_ignored {
                    let what = if shown == operand {
                        "failed to remove"
                    } else {
                        "failed to remove directory"
                    };
                    call.complain(format_args!(
                        "{what} {}: {}",
                        quoted(shown),
                        text_of(&error)
                    ));
                    exit_code = 1;
                }
                break;
            }
            let parent = folder(at);
            if !line.has("parents") || matches!(parent, "." | "/") {
                break;
            }
            (at, shown) = (parent, parent);
        }
    }
    Ok(exit_code)
}

fn remove_empty(call: &Call, operand: &str) -> io::Result<()> {
    let path = call.path(operand);
    call.metadata(operand, Links::Keep)?;
    if !call.files.metadata(&path)?.file_type.is_dir() {
        let text = if operand.ends_with('/') {
            "Symbolic link not followed"
        } else {
            "Not a directory"
        };
        return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
    }
    if base(operand) == "." {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "Invalid argument",
        ));
    }
    call.files.remove_folder(&path)
}
