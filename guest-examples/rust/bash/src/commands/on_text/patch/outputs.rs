//! Files that are written, removed and backed up.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use bashkit::FileType;

use crate::commands::call::{Call, Failure};
use crate::commands::on_files::quoted_if_needed;
use crate::commands::options::Line;
use crate::files::text_of;

/// The file that a patch is for.
pub(super) struct Input {
    pub(super) name: String,
    /// Nothing, if it does not exist.
    pub(super) file_type: Option<FileType>,
    pub(super) size: u64,
    pub(super) mode: Option<u32>,
}

impl Input {
    pub(super) fn is_empty(&self) -> bool {
        self.size == 0
    }
}

/// What is done with one file.
pub(super) struct Output {
    /// The file that was read for it.
    pub(super) from: Option<String>,
    pub(super) to: String,
    /// Nothing, if the file is removed.
    pub(super) content: Option<Vec<u8>>,
    pub(super) mode: Option<u32>,
    pub(super) has_backup: bool,
}

/// Where backups are, and when they are made.
pub(super) struct Backups {
    always: bool,
    if_mismatch: bool,
    prefix: String,
    name_prefix: String,
    suffix: Option<String>,
    numbers: Numbers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Never,
    IfOthersHave,
    Always,
}

impl Backups {
    pub(super) fn read(line: &Line, call: &Call) -> Result<Self, Failure> {
        let variable = |name: &str| call.env.get(name).cloned();
        let option = |name: &str| line.value(name).map(str::to_owned);
        let is_simple = ["prefix", "basename-prefix", "suffix"]
            .iter()
            .any(|name| line.has(name));
        let control = option("version-control")
            .or_else(|| is_simple.then(|| "simple".to_owned()))
            .or_else(|| variable("PATCH_VERSION_CONTROL"))
            .or_else(|| variable("VERSION_CONTROL"));
        let numbers = match control.as_deref() {
            None | Some("" | "nil" | "existing") => Numbers::IfOthersHave,
            Some("t" | "numbered") => Numbers::Always,
            Some("never" | "simple" | "none" | "off") => Numbers::Never,
            Some(other) => {
                let text = format!(
                    "invalid argument \u{2018}{other}\u{2019} for \u{2018}--version-control or -V option\u{2019}\n\
                     Valid arguments are:\n  - \u{2018}none\u{2019}, \u{2018}off\u{2019}\n  - \u{2018}simple\u{2019}, \u{2018}never\u{2019}\n  \
                     - \u{2018}existing\u{2019}, \u{2018}nil\u{2019}\n  - \u{2018}numbered\u{2019}, \u{2018}t\u{2019}"
                );
                return Err(Failure::new(2, text));
            }
        };
        let last = line.last_of(&["backup-if-mismatch", "no-backup-if-mismatch"]);
        Ok(Self {
            always: line.has("backup"),
            if_mismatch: last != Some("no-backup-if-mismatch")
                && (last.is_some() || !line.has("posix")),
            prefix: option("prefix").unwrap_or_default(),
            name_prefix: option("basename-prefix").unwrap_or_default(),
            suffix: option("suffix").or_else(|| variable("SIMPLE_BACKUP_SUFFIX")),
            numbers,
        })
    }
}

pub(super) struct Outputs {
    backups: Backups,
    /// Those of patches of git, which are written together: a file may take the name of another.
    pending: Vec<Output>,
    /// Files that this run has written, which need no backup.
    written: HashSet<String>,
    /// The file of the patch that is read.
    pub(super) chosen: Option<Input>,
}

fn path_of(call: &Call, folder: Option<&str>, name: &str) -> PathBuf {
    match folder {
        Some(folder) if !name.starts_with('/') => call.path(&format!("{folder}/{name}")),
        _ => call.path(name),
    }
}

impl Outputs {
    pub(super) fn new(backups: Backups) -> Self {
        Self {
            backups,
            pending: Vec::new(),
            written: HashSet::new(),
            chosen: None,
        }
    }

    pub(super) fn backs_up(&self, is_mismatch: bool) -> bool {
        self.backups.always || self.backups.if_mismatch && is_mismatch
    }

    pub(super) fn will_remove(&self, name: &str) -> bool {
        let last = self.pending.iter().rev().find(|output| output.to == name);
        last.is_some_and(|output| output.content.is_none())
    }

    pub(super) fn is_pending_from(&self, name: &str) -> bool {
        self.pending
            .iter()
            .any(|output| output.from.as_deref() == Some(name))
    }

    /// Writes an output, or keeps it for later.
    pub(super) fn add(
        &mut self,
        call: &Call,
        folder: Option<&str>,
        output: Output,
        is_later: bool,
    ) -> Result<(), Failure> {
        if is_later {
            self.pending.push(output);
            return Ok(());
        }
        self.write(call, folder, &output)
    }

    pub(super) fn write_all(&mut self, call: &Call, folder: Option<&str>) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        // What is removed may have got a new content under its name.
        let (kept, removed): (Vec<_>, Vec<_>) = pending
            .into_iter()
            .partition(|output| output.content.is_some());
        for output in &kept {
            self.write(call, folder, output)?;
        }
        for output in removed {
            if !kept.iter().any(|other| other.to == output.to) {
                self.write(call, folder, &output)?;
            }
        }
        Ok(())
    }

    pub(super) fn back_up(
        &mut self,
        call: &Call,
        folder: Option<&str>,
        name: &str,
    ) -> Result<(), Failure> {
        if self.written.contains(name) {
            return Ok(());
        }
        let backup = self.backup_name(call, folder, name);
        let (path, backup_path) = (path_of(call, folder, name), path_of(call, folder, &backup));
        let copied = match call.files.read(&path) {
            Ok(content) => put(call, &backup_path, &content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => put(call, &backup_path, b""),
            Err(error) => Err(error),
        };
        let copied = copied.and_then(|()| match call.files.metadata(&path) {
            Ok(metadata) => call.files.set_mode(&backup_path, metadata.mode & 0o777),
            Err(_) => Ok(()),
        });
        copied.map_err(|error| {
            let (name, backup) = (quoted_if_needed(name), quoted_if_needed(&backup));
            let why = text_of(&error);
            Failure::new(
                2,
                format!("**** Can't rename file {name} to {backup} : {why}"),
            )
        })
    }

    fn backup_name(&self, call: &Call, folder: Option<&str>, name: &str) -> String {
        let backups = &self.backups;
        let (parents, base) = match name.rfind('/') {
            Some(slash) => name.split_at(slash + 1),
            None => ("", name),
        };
        if backups.numbers != Numbers::Never {
            let parent = path_of(call, folder, parents);
            let entries = call.files.names(&parent).unwrap_or_default();
            let number = |entry: &str| -> Option<u64> {
                let rest = entry.strip_prefix(base)?.strip_prefix(".~")?;
                rest.strip_suffix('~')?.parse().ok()
            };
            let last = entries.iter().filter_map(|(entry, _)| number(entry)).max();
            if last.is_some() || backups.numbers == Numbers::Always {
                return format!("{name}.~{}~", last.unwrap_or(0) + 1);
            }
        }
        let (prefix, name_prefix) = (&backups.prefix, &backups.name_prefix);
        let is_plain = prefix.is_empty() && name_prefix.is_empty();
        let suffix = match &backups.suffix {
            Some(suffix) => suffix,
            None if is_plain => ".orig",
            None => "",
        };
        format!("{prefix}{parents}{name_prefix}{base}{suffix}")
    }

    fn write(&mut self, call: &Call, folder: Option<&str>, output: &Output) -> Result<(), Failure> {
        let path = path_of(call, folder, &output.to);
        if output.has_backup {
            self.back_up(call, folder, &output.to)?;
        }
        let name = || quoted_if_needed(&output.to);
        let Some(content) = &output.content else {
            match call.files.remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    let why = text_of(&error);
                    let text = format!("**** Can't remove file {} : {why}", name());
                    return Err(Failure::new(2, text));
                }
                _ => {}
            }
            remove_empty_parents(call, folder, &output.to);
            return Ok(());
        };
        let old = call.files.metadata(&path).ok();
        let is_locked = old.as_ref().is_some_and(|old| old.mode & 0o200 == 0);
        let is_new = old.is_none() || is_locked;
        let written = if is_locked {
            call.files.remove_file(&path)
        } else {
            Ok(())
        };
        let written = written.and_then(|()| put(call, &path, content));
        let written = written.and_then(|()| {
            let old_mode = old.map(|old| old.mode & 0o777);
            match output.mode {
                Some(mode) if is_new || old_mode != Some(mode) => call.files.set_mode(&path, mode),
                _ => Ok(()),
            }
        });
        written.map_err(|error| {
            let why = text_of(&error);
            Failure::new(2, format!("**** Can't create file {} : {why}", name()))
        })?;
        self.written.insert(output.to.clone());
        Ok(())
    }
}

/// Writes a file and the folders that it needs.
fn put(call: &Call, path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        let missing: Vec<_> = parent
            .ancestors()
            .take_while(|folder| call.files.metadata(folder).is_err())
            .collect();
        for folder in missing.into_iter().rev() {
            call.files.make_folder(folder)?;
        }
    }
    call.files.write(path, content)
}

fn remove_empty_parents(call: &Call, folder: Option<&str>, name: &str) {
    let mut rest = name;
    while let Some((parent, _)) = rest.rsplit_once('/') {
        let path = path_of(call, folder, parent);
        let is_empty = call.files.names(&path).is_ok_and(|names| names.is_empty());
        if parent.is_empty() || !is_empty || call.files.remove_folder(&path).is_err() {
            return;
        }
        rest = parent;
    }
}
