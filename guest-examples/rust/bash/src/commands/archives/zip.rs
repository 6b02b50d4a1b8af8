//! `zip`: archives that other programs open.

use std::io;
use std::path::Path;

use bashkit::Metadata;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::Zone;
use crate::commands::on_text::glob::{self, Slash};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

pub(super) mod archive;
pub(super) mod source;

use archive::{Archive, Content, Entry};

const SPEC: Spec = Spec::new(&[
    flag('r', "recurse-paths"),
    flag('q', "quiet"),
    flag('j', "junk-paths"),
    flag('d', "delete"),
    flag('u', "update"),
    flag('f', "freshen"),
    flag('m', "move"),
    flag('D', "no-dir-entries"),
    flag('X', "no-extra"),
    flag('y', "symlinks"),
    flag('v', "verbose"),
    flag('@', "names-stdin"),
    flag('T', "test"),
    value('x', "exclude"),
    value('i', "include"),
    flag('0', ""),
    flag('1', ""),
    flag('2', ""),
    flag('3', ""),
    flag('4', ""),
    flag('5', ""),
    flag('6', ""),
    flag('7', ""),
    flag('8', ""),
    flag('9', ""),
]);

pub(super) const ZIP: Command = Command::new("zip", SPEC, zip);

const NOTHING_TO_DO: i32 = 12;

/// Splits the lists of `-x` and `-i`, which go on to the next option, from the operands.
fn lists(line: &Line, args: &[String]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut excluded, mut included) = (Vec::new(), Vec::new());
    let mut operands = line.operands.clone();
    for (list, letter) in [(&mut excluded, "-x"), (&mut included, "-i")] {
        let name = if letter == "-x" { "exclude" } else { "include" };
        list.extend(line.values(name).map(str::to_owned));
        let mut inside = false;
        for arg in args {
            if arg == letter {
                inside = true;
            } else if arg.starts_with('-') || arg == "@" {
                inside = false;
            } else if inside
                && !list.contains(arg)
                && let Some(at) = operands.iter().rposition(|operand| operand == arg)
            {
                list.push(operands.remove(at));
            }
        }
    }
    (operands, excluded, included)
}

fn zip(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (operands, excluded, included) = lists(line, call.args);
    let [archive, names @ ..] = &*operands else {
        return Err(Failure::new(
            16,
            "error: Invalid command arguments (no archive is named)",
        ));
    };
    let to_stdout = archive == "-";
    let has_ending = Path::new(archive).extension().is_some();
    let path = if has_ending || to_stdout {
        archive.clone()
    } else {
        format!("{archive}.zip")
    };
    let existing = if to_stdout {
        Err(io::ErrorKind::NotFound.into())
    } else {
        call.read(&path)
    };
    let mut entries = match existing {
        Ok(bytes) => Archive::read(&bytes)
            .and_then(|archive| archive.entries())
            .map_err(|text| {
                Failure::new(
                    3,
                    format!("error: Zip file structure invalid ({path}): {text}"),
                )
            })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(Failure::new(
                18,
                format!("error: {path}: {}", text_of(&error)),
            ));
        }
    };
    let is_new = entries.is_empty();
    let mut run = Run {
        line,
        quiet: line.has("quiet") || to_stdout,
        excluded,
        included,
        zone: Zone::of(call.env.get("TZ").map(String::as_str)),
        taken: Vec::new(),
        level: (0..=9)
            .rev()
            .find(|level| line.has(&level.to_string()))
            .unwrap_or(6),
    };
    if line.has("delete") {
        let before = entries.len();
        entries.retain(|entry| {
            let is_named = names
                .iter()
                .any(|name| glob::matches(name, &entry.name, Slash::IsAny));
            if is_named && !run.quiet {
                call.out
                    .extend_from_slice(format!("deleting: {}\n", entry.name).as_bytes());
            }
            !is_named
        });
        if entries.len() == before {
            for name in names {
                warn(call, line, format_args!("name not matched: {name}"));
            }
            return nothing(call, &path);
        }
    } else {
        let mut names = names.to_vec();
        if line.has("names-stdin") {
            names.extend(
                String::from_utf8_lossy(call.stdin)
                    .lines()
                    .map(str::to_owned),
            );
        }
        let before = names.len();
        names.retain(|name| {
            let exists = name == "-" || run.metadata(call, name).is_ok();
            if !exists {
                warn(call, line, format_args!("name not matched: {name}"));
            }
            exists
        });
        let has_missing = names.len() < before;
        for name in &names {
            run.add(call, name, &mut entries)?;
        }
        if run.taken.is_empty() {
            if !is_new && !has_missing {
                return Ok(if line.has("update") || line.has("freshen") {
                    NOTHING_TO_DO
                } else {
                    0
                });
            }
            let has_lists = !run.excluded.is_empty() || !run.included.is_empty();
            if line.has("recurse-paths") && !has_lists {
                return nothing(
                    call,
                    &format!(
                        "try: {}",
                        with_lists(call, operands.get(1..).unwrap_or_default())
                    ),
                );
            }
            return nothing(call, &path);
        }
    }
    let taken = run.taken;
    if entries.is_empty() {
        warn(call, line, format_args!("zip file empty"));
    }
    let bytes = archive::write(&entries)
        .map_err(|text| Failure::new(6, format!("error: {text} ({path})")))?;
    call.write(if to_stdout { "-" } else { &path }, &bytes)
        .map_err(|error| {
            Failure::new(
                15,
                format!(
                    "I/O error: {}\nzip error: Could not create output file ({path})",
                    text_of(&error)
                ),
            )
        })?;
    if line.has("test") && !run.quiet {
        call.print(format!("test of {path} OK\n"));
    }
    if line.has("move") {
        for (name, is_folder) in taken.into_iter().rev() {
            if name == "-" {
                continue;
            }
            let file = call.path(&name);
            let removed = if is_folder {
                call.files.remove_folder(&file)
            } else {
                call.files.remove_file(&file)
            };
            if let Err(error) = removed
                && !is_folder
            {
                call.complain_of(&name, &error);
            }
        }
    }
    Ok(0)
}

/// The command line that takes what is here instead, of the names.
fn with_lists(call: &Call, names: &[String]) -> String {
    let first = names
        .first()
        .and_then(|name| call.args.iter().position(|arg| arg == name));
    let (before, after) = call.args.split_at(first.unwrap_or(call.args.len()));
    format!("zip {} . -i {}", before.join(" "), after.join(" "))
}

/// Warnings are on stdout, and `-q` turns them off.
fn warn(call: &mut Call, line: &Line, text: std::fmt::Arguments) {
    if !line.has("quiet") && !line.operands.first().is_some_and(|archive| archive == "-") {
        call.print(format!("\tzip warning: {text}\n"));
    }
}

fn nothing(call: &mut Call, path: &str) -> Result<i32, Failure> {
    call.print(format!("\nzip error: Nothing to do! ({path})\n"));
    Ok(NOTHING_TO_DO)
}

struct Run<'a> {
    line: &'a Line,
    quiet: bool,
    excluded: Vec<String>,
    included: Vec<String>,
    zone: Zone,
    /// What went into the archive, and whether it is a folder.
    taken: Vec<(String, bool)>,
    level: u32,
}

impl Run<'_> {
    fn is_taken(&self, name: &str) -> bool {
        let is_in = |list: &[String]| {
            list.iter()
                .any(|glob| glob::matches(glob, name, Slash::IsAny))
        };
        !is_in(&self.excluded) && (self.included.is_empty() || is_in(&self.included))
    }

    fn metadata(&self, call: &Call, operand: &str) -> io::Result<Metadata> {
        let path = call.path(operand);
        if self.line.has("symlinks") {
            call.files.metadata(&path)
        } else {
            call.files.target_metadata(&path)
        }
    }

    /// Adds a file or a folder.
    fn add(
        &mut self,
        call: &mut Call,
        operand: &str,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Failure> {
        if operand == "-" {
            let content = call.stdin.to_vec();
            self.put(
                call,
                "-",
                entries,
                0o010_600,
                std::time::SystemTime::now(),
                content,
            );
            self.taken.push((operand.to_owned(), true));
            return Ok(());
        }
        let path = call.path(operand);
        // Gone since it was listed.
        let Ok(metadata) = self.metadata(call, operand) else {
            return Ok(());
        };
        let mut name = operand;
        while let Some(rest) = name.strip_prefix("./").or(name.strip_prefix('/')) {
            name = rest;
        }
        let kind = metadata.file_type;
        let permissions = metadata.mode & 0o777;
        if kind.is_dir() {
            let folder = name.trim_end_matches('/');
            let stored = format!("{folder}/");
            let is_here = matches!(folder, "" | ".");
            if !(is_here || self.line.has("no-dir-entries") || self.line.has("junk-paths"))
                && self.is_taken(&stored)
            {
                self.put(
                    call,
                    &stored,
                    entries,
                    0o040_000 | permissions,
                    metadata.modified,
                    Vec::new(),
                );
                self.taken.push((operand.to_owned(), true));
            }
            if self.line.has("recurse-paths") {
                let mut inner = call
                    .files
                    .entries(&path)
                    .map_err(|error| Failure::new(18, format!("{operand}: {}", text_of(&error))))?;
                inner.sort_by(|one, other| one.name.cmp(&other.name));
                for entry in inner {
                    let inner = if is_here {
                        entry.name
                    } else {
                        format!("{}/{}", operand.trim_end_matches('/'), entry.name)
                    };
                    self.add(call, &inner, entries)?;
                }
            }
            return Ok(());
        }
        let stored = match name.rsplit_once('/') {
            Some((_, base)) if self.line.has("junk-paths") => base,
            _ => name,
        };
        if !self.is_taken(stored) {
            return Ok(());
        }
        let old = entries.iter().find(|entry| entry.name == stored);
        let is_newer =
            |old: &Entry| archive::dos_time(metadata.modified, &self.zone) > old.dos_time;
        let skips = match old {
            Some(old) => (self.line.has("update") || self.line.has("freshen")) && !is_newer(old),
            None => self.line.has("freshen"),
        };
        if skips {
            return Ok(());
        }
        let (mode, content) = if kind.is_symlink() {
            let target = call.files.read_link(&path);
            let target = target.map(|target| target.to_string_lossy().into_owned().into_bytes());
            (0o120_777, target)
        } else {
            (0o100_000 | permissions, call.files.read(&path))
        };
        let content =
            content.map_err(|error| Failure::new(18, format!("{operand}: {}", text_of(&error))))?;
        self.put(call, stored, entries, mode, metadata.modified, content);
        self.taken.push((operand.to_owned(), false));
        Ok(())
    }

    fn put(
        &self,
        call: &mut Call,
        name: &str,
        entries: &mut Vec<Entry>,
        mode: u32,
        modified: std::time::SystemTime,
        content: Vec<u8>,
    ) {
        let size = content.len();
        let content = Content::of(content, self.level);
        let packed = content.packed.len();
        let how = if content.is_deflated {
            "deflated"
        } else {
            "stored"
        };
        let saved = if size == 0 {
            0
        } else {
            (size.saturating_sub(packed) * 200 / size).div_ceil(2)
        };
        let saved = if content.is_deflated {
            saved.min(100)
        } else {
            0
        };
        let entry = Entry::new(name, mode, modified, &self.zone, content);
        let verb = match entries.iter_mut().find(|entry| entry.name == name) {
            Some(old) => {
                *old = entry;
                "updating: "
            }
            None => {
                entries.push(entry);
                "  adding: "
            }
        };
        if !self.quiet {
            call.print(format!("{verb}{name} ({how} {saved}%)\n"));
        }
    }
}
