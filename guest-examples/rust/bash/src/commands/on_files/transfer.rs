//! Copies files and trees for `cp`, `mv` and `install`.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use bashkit::{FileType, Metadata};

use super::destination::{Backup, Existing};
use super::names::{joined, quoted};
use crate::commands::call::{Call, Links};
use crate::files::text_of;

/// Which links are copied as what they lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dereference {
    Always,
    Operands,
    Never,
}

/// What a copy is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Make {
    Content,
    /// An empty file with the attributes.
    Attributes,
    SymbolicLink,
}

pub(super) struct Transfer {
    pub(super) is_recursive: bool,
    pub(super) dereference: Dereference,
    pub(super) make: Make,
    pub(super) existing: Existing,
    pub(super) backup: Backup,
    /// Only if the source is newer than what it replaces.
    pub(super) is_update: bool,
    pub(super) is_forced: bool,
    pub(super) removes_destination: bool,
    pub(super) is_verbose: bool,
    pub(super) keeps_mode: bool,
    /// The mode of a copy is the usual one, not the source's.
    pub(super) drops_mode: bool,
    pub(super) keeps_times: bool,
    /// What this run has made: it is not replaced, and not copied into itself.
    pub(super) made: HashSet<PathBuf>,
}

/// Whether all of it was copied. What failed is on standard error.
pub(super) type Copied = bool;

impl Transfer {
    /// Copies an operand.
    pub(super) fn copy(&mut self, call: &mut Call, from: &str, to: &str) -> Copied {
        let links = match self.dereference {
            Dereference::Never => Links::Keep,
            Dereference::Always | Dereference::Operands => Links::Follow,
        };
        self.entry(call, from, to, links)
    }

    fn entry(&mut self, call: &mut Call, from: &str, to: &str, links: Links) -> Copied {
        if from == "/dev/stdin" || call.devices.contains_key(from) {
            let content = call.read(from).map(std::borrow::Cow::into_owned);
            return match content.and_then(|content| call.write(to, &content)) {
                Ok(()) => true,
                Err(error) => fail(
                    call,
                    format_args!("cannot create regular file {}", quoted(to)),
                    &error,
                ),
            };
        }
        let source = match call.metadata(from, links) {
            Ok(source) => source,
            Err(error) => return fail(call, format_args!("cannot stat {}", quoted(from)), &error),
        };
        if source.file_type.is_dir() && !self.is_recursive {
            call.complain(format_args!(
                "-r not specified; omitting directory {}",
                quoted(from)
            ));
            return false;
        }
        let path = call.path(to);
        let (existing, backup) = match self.prepare(call, (from, to), &source, links) {
            Prepared::Ready { existing, backup } => (existing, backup),
            Prepared::Over(copied) => return copied,
        };
        let kind = source.file_type;
        if self.is_verbose && (!kind.is_dir() || existing.is_none()) {
            let saved = backup.map(|name| format!(" (backup: {})", quoted(&name)));
            let line = format!(
                "{} -> {}{}\n",
                quoted(from),
                quoted(to),
                saved.unwrap_or_default()
            );
            call.print(line);
        }
        let copied = match kind {
            FileType::Directory => self.folder(call, from, to, existing.is_some()),
            FileType::Symlink => {
                let made = call.files.read_link(&call.path(from));
                let made = made.and_then(|target| call.files.symlink(&target, &path));
                report(
                    call,
                    made,
                    format_args!("cannot create symbolic link {}", quoted(to)),
                )
            }
            _ => self.file(call, from, to, existing.is_some()),
        };
        self.made.insert(path.clone());
        copied && self.attributes(call, &source, to, existing.is_some())
    }

    /// Makes room at the destination, or finds that there is nothing to do.
    fn prepare(
        &mut self,
        call: &mut Call,
        (from, to): (&str, &str),
        source: &Metadata,
        links: Links,
    ) -> Prepared {
        let path = call.path(to);
        let is_folder = source.file_type.is_dir();
        let mut existing = match call.metadata(to, Links::Keep) {
            Ok(existing) => existing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if to.ends_with('/') && !is_folder {
                    let text = if call.files.metadata(&path).is_ok() {
                        "No such file or directory"
                    } else {
                        "Not a directory"
                    };
                    call.complain(format_args!(
                        "cannot create regular file {}: {text}",
                        quoted(to)
                    ));
                    return Prepared::Over(false);
                }
                return Prepared::Ready {
                    existing: None,
                    backup: None,
                };
            }
            Err(error) => {
                return Prepared::Over(fail(
                    call,
                    format_args!("cannot stat {}", quoted(to)),
                    &error,
                ));
            }
        };
        let follows = existing.file_type.is_symlink()
            && (is_folder
                || (links == Links::Follow
                    && !self.removes_destination
                    && self.make == Make::Content));
        if follows {
            match call.metadata(to, Links::Follow) {
                Ok(target) => existing = target,
                Err(_) if is_folder => {
                    call.complain(format_args!(
                        "cannot overwrite non-directory {} with directory {}",
                        quoted(to),
                        quoted(from)
                    ));
                    return Prepared::Over(false);
                }
                Err(_) => {
                    call.complain(format_args!(
                        "not writing through dangling symlink {}",
                        quoted(to)
                    ));
                    return Prepared::Over(false);
                }
            }
        }
        if self.is_same(call, from, to, links) && !(self.backup.is_some() && self.is_forced) {
            call.complain(format_args!(
                "{} and {} are the same file",
                quoted(from),
                quoted(to)
            ));
            return Prepared::Over(false);
        }
        if !is_folder {
            if self.existing == Existing::Keep
                || (self.is_update && existing.modified >= source.modified)
            {
                return Prepared::Over(true);
            }
            if existing.file_type.is_dir() {
                call.complain(format_args!(
                    "cannot overwrite directory {} with non-directory",
                    quoted(to)
                ));
                return Prepared::Over(false);
            }
            if self.existing == Existing::Ask
                && !call.confirm(format_args!("overwrite {}?", quoted(to)))
            {
                return Prepared::Over(true);
            }
            if self.made.contains(&path) {
                call.complain(format_args!(
                    "will not overwrite just-created {} with {}",
                    quoted(to),
                    quoted(from)
                ));
                return Prepared::Over(false);
            }
        } else if !existing.file_type.is_dir() {
            call.complain(format_args!(
                "cannot overwrite non-directory {} with directory {}",
                quoted(to),
                quoted(from)
            ));
            return Prepared::Over(false);
        }
        if is_folder {
            return Prepared::Ready {
                existing: Some(existing),
                backup: None,
            };
        }
        match self.backup.make(call, to) {
            Ok(None) => {}
            Ok(backup) => {
                return Prepared::Ready {
                    existing: None,
                    backup,
                };
            }
            Err(error) => {
                return Prepared::Over(fail(
                    call,
                    format_args!("cannot backup {}", quoted(to)),
                    &error,
                ));
            }
        }
        let replaces = self.removes_destination
            || source.file_type.is_symlink()
            || (self.make == Make::SymbolicLink && self.is_forced);
        if replaces {
            return match call.files.remove_file(&path) {
                Ok(()) => Prepared::Ready {
                    existing: None,
                    backup: None,
                },
                Err(error) => Prepared::Over(fail(
                    call,
                    format_args!("cannot remove {}", quoted(to)),
                    &error,
                )),
            };
        }
        Prepared::Ready {
            existing: Some(existing),
            backup: None,
        }
    }

    fn is_same(&self, call: &Call, from: &str, to: &str, links: Links) -> bool {
        let (from, to) = (call.path(from), call.path(to));
        if from == to {
            return true;
        }
        let physical = |path| call.files.canonical(path);
        match links {
            Links::Follow if !self.removes_destination => {
                matches!((physical(&from), physical(&to)), (Ok(a), Ok(b)) if a == b)
            }
            _ => false,
        }
    }

    fn folder(&mut self, call: &mut Call, from: &str, to: &str, exists: bool) -> Copied {
        let path = call.path(to);
        let source = call.path(from);
        let is_within = match (
            call.files.canonical(&source),
            call.files.canonical_new(&path),
        ) {
            (Ok(source), Ok(path)) => path.starts_with(&source),
            _ => false,
        };
        if is_within {
            call.complain(format_args!(
                "cannot copy a directory, {}, into itself, {}",
                quoted(from),
                quoted(to)
            ));
            return false;
        }
        if !exists && let Err(error) = call.files.make_folder(&path) {
            return fail(
                call,
                format_args!("cannot create directory {}", quoted(to)),
                &error,
            );
        }
        let links = match self.dereference {
            Dereference::Always => Links::Follow,
            Dereference::Operands | Dereference::Never => Links::Keep,
        };
        let target = call
            .files
            .target(&source)
            .and_then(|source| call.files.names(&source));
        let names = match target {
            Ok(names) => names,
            Err(error) => {
                return fail(call, format_args!("cannot access {}", quoted(from)), &error);
            }
        };
        let mut all = true;
        for (name, _) in names {
            all &= self.entry(call, &joined(from, &name), &joined(to, &name), links);
        }
        all
    }

    fn file(&self, call: &mut Call, from: &str, to: &str, exists: bool) -> Copied {
        let (source, path) = (call.path(from), call.path(to));
        if self.make == Make::SymbolicLink {
            if exists {
                call.complain(format_args!(
                    "cannot create symbolic link {} to {}: File exists",
                    quoted(to),
                    quoted(from)
                ));
                return false;
            }
            let made = call.files.symlink(from.as_ref(), &path);
            return report(
                call,
                made,
                format_args!(
                    "cannot create symbolic link {} to {}",
                    quoted(to),
                    quoted(from)
                ),
            );
        }
        if self.make == Make::Attributes {
            let made = if exists {
                Ok(())
            } else {
                call.files.write(&path, b"")
            };
            return report(
                call,
                made,
                format_args!("cannot create regular file {}", quoted(to)),
            );
        }
        if to == "/dev/null" || to == "/dev/stdout" || to == "/dev/stderr" {
            let content = call.files.read(&source);
            let written = content.and_then(|content| call.write(to, &content));
            return report(
                call,
                written,
                format_args!("cannot open {} for reading", quoted(from)),
            );
        }
        let result = call.files.target(&source).and_then(|source| {
            call.files
                .copy(&source, &call.files.target(&path).unwrap_or(path.clone()))
        });
        let result = match result {
            Err(_) if self.is_forced && exists => call
                .files
                .remove_file(&path)
                .and_then(|()| call.files.copy(&source, &path)),
            result => result,
        };
        report(
            call,
            result,
            format_args!("cannot create regular file {}", quoted(to)),
        )
    }

    /// Gives a copy the mode and the times that it keeps of its source.
    fn attributes(&self, call: &mut Call, source: &Metadata, to: &str, existed: bool) -> Copied {
        if source.file_type.is_symlink()
            || self.make == Make::SymbolicLink
            || to.starts_with("/dev/")
        {
            return true;
        }
        let Ok(path) = call.files.target(&call.path(to)) else {
            return true;
        };
        let mode = if self.keeps_mode {
            Some(source.mode)
        } else if existed || self.drops_mode {
            None
        } else {
            Some(source.mode & 0o777 & !call.files.umask())
        };
        let current = || call.files.metadata(&path).map(|copy| copy.mode);
        if let Some(mode) = mode
            && current().is_ok_and(|current| current != mode)
            && let Err(error) = call.files.set_mode(&path, mode)
        {
            return fail(
                call,
                format_args!("preserving permissions for {}", quoted(to)),
                &error,
            );
        }
        if self.keeps_times
            && let Err(error) = call.files.set_modified(&path, source.modified)
        {
            return fail(
                call,
                format_args!("preserving times for {}", quoted(to)),
                &error,
            );
        }
        true
    }
}

enum Prepared {
    Ready {
        existing: Option<Metadata>,
        backup: Option<String>,
    },
    /// Whether that is a success.
    Over(bool),
}

fn report(call: &mut Call, result: io::Result<()>, what: std::fmt::Arguments) -> Copied {
    match result {
        Ok(()) => true,
        Err(error) => fail(call, what, &error),
    }
}

/// Writes what failed and why to standard error.
pub(super) fn fail(call: &mut Call, what: std::fmt::Arguments, error: &io::Error) -> Copied {
    call.complain(format_args!("{what}: {}", text_of(error)));
    false
}
