//! Commands of `-exec` and `-execdir`, which the shell runs.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::entry::Entry;
use crate::commands::quoted;

/// The most bytes of the arguments of one command.
const LONGEST_ARGUMENTS: usize = 128 << 10;

/// A command of `-exec` or `-execdir`; `{}` stands for the entry, or the entries are its last arguments.
pub(super) struct Command {
    pub(super) words: Vec<String>,
    pub(super) in_folder: bool,
}

/// Entries for one command at once.
pub(super) struct Batch {
    command: usize,
    folder: Option<PathBuf>,
    names: Vec<String>,
    bytes: usize,
}

/// The commands of a walk, and the entries that they are to get.
pub(super) struct Commands {
    commands: Vec<Command>,
    batches: Vec<Batch>,
    /// Batches that are full, or all of them once the walk is over.
    full: VecDeque<Batch>,
}

impl Commands {
    pub(super) const fn new(commands: Vec<Command>) -> Self {
        Self {
            commands,
            batches: Vec::new(),
            full: VecDeque::new(),
        }
    }

    /// The next full batch as a text of the shell.
    pub(super) fn next_full(&mut self, cwd: &Path) -> Option<String> {
        let batch = self.full.pop_front()?;
        let command = self.commands.get(batch.command)?;
        let words = command.words.iter().cloned().chain(batch.names);
        let folder = batch.folder.unwrap_or_else(|| cwd.to_owned());
        Some(text(words, command.in_folder.then_some(&*folder)))
    }

    /// Makes all batches full. Says whether there are any.
    pub(super) fn flush(&mut self) -> bool {
        self.full.extend(self.batches.drain(..));
        !self.full.is_empty()
    }

    /// Adds an entry to the batch of a command.
    pub(super) fn collect(&mut self, command: usize, entry: &Entry) {
        let in_folder = self.commands.get(command).is_some_and(|it| it.in_folder);
        let (folder, name) = if in_folder {
            (
                entry.path.parent().map(Path::to_owned),
                in_its_folder(entry),
            )
        } else {
            (None, entry.shown.clone())
        };
        let is_same = |batch: &Batch| batch.command == command && batch.folder == folder;
        let place = self.batches.iter().position(is_same).unwrap_or_else(|| {
            self.batches.push(Batch {
                command,
                folder: folder.clone(),
                names: Vec::new(),
                bytes: 0,
            });
            self.batches.len() - 1
        });
        let Some(batch) = self.batches.get_mut(place) else {
            return;
        };
        batch.bytes += name.len() + 1;
        batch.names.push(name);
        if batch.bytes > LONGEST_ARGUMENTS {
            let batch = self.batches.swap_remove(place);
            self.full.push_back(batch);
        }
    }

    /// A command for one entry as a text of the shell.
    pub(super) fn for_entry(&self, command: usize, entry: &Entry) -> Option<String> {
        let command = self.commands.get(command)?;
        let name = if command.in_folder {
            in_its_folder(entry)
        } else {
            entry.shown.clone()
        };
        let words = command.words.iter().map(|word| word.replace("{}", &name));
        let folder = entry.path.parent().unwrap_or(&entry.path);
        Some(text(words, command.in_folder.then_some(folder)))
    }
}

fn in_its_folder(entry: &Entry) -> String {
    match entry.name() {
        "/" => "/".to_owned(),
        name => format!("./{name}"),
    }
}

/// A command as a text of the shell, in a subshell, with the exit code 127 if there is no such program.
fn text(words: impl Iterator<Item = String>, folder: Option<&Path>) -> String {
    let words: Vec<_> = words.map(|word| quoted(&word)).collect();
    let name = words.first().map_or("''", String::as_str);
    let change = match folder {
        Some(folder) => format!("cd -- {} && ", quoted(&folder.to_string_lossy())),
        None => String::new(),
    };
    // The shell runs itself, and has no command of that name.
    if matches!(name, "'sh'" | "'bash'") {
        let args = words.get(1..).unwrap_or_default().join(" ");
        let shell = name.trim_matches('\'');
        return format!("( {change}{shell} {args} )");
    }
    let absent = quoted(&format!(
        "find: \u{2018}{}\u{2019}: No such file or directory",
        name.trim_matches('\'')
    ));
    format!(
        "( {change}if type {name} >/dev/null 2>&1; then command {}; else printf '%s\\n' {absent} >&2; exit 127; fi )",
        words.join(" ")
    )
}
