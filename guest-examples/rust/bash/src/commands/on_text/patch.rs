//! `patch`: changes of files from the output of `diff`.

use std::borrow::Cow;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::Zone;
use crate::commands::on_files::quoted_if_needed;
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod apply;
mod header;
mod hunks;
mod kind;
mod names;
mod next;
mod outputs;
mod reader;
mod rejects;
mod run;
mod talk;
mod target;
mod which;

use header::Rules;
use kind::Kind;
use outputs::{Backups, Outputs};
use reader::Reader;
use run::{Reversal, Run, Speech};

const SPEC: Spec = Spec::new(&[
    flag('b', "backup"),
    flag('\0', "backup-if-mismatch"),
    flag('\0', "no-backup-if-mismatch"),
    value('B', "prefix"),
    flag('\0', "binary"),
    flag('c', "context"),
    value('d', "directory"),
    flag('\0', "dry-run"),
    flag('e', "ed"),
    flag('E', "remove-empty-files"),
    flag('f', "force"),
    value('F', "fuzz"),
    value('i', "input"),
    flag('l', "ignore-whitespace"),
    flag('n', "normal"),
    flag('N', "forward"),
    value('o', "output"),
    value('p', "strip"),
    flag('\0', "posix"),
    value('r', "reject-file"),
    value('\0', "reject-format"),
    flag('R', "reverse"),
    flag('s', "quiet"),
    flag('\0', "silent"),
    flag('t', "batch"),
    flag('u', "unified"),
    flag('\0', "verbose"),
    value('V', "version-control"),
    value('Y', "basename-prefix"),
    value('z', "suffix"),
]);

pub(super) const PATCH: Command = Command::new("patch", SPEC, patch);

fn patch(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let number = |name: &str, what: &str| -> Result<Option<usize>, Failure> {
        let Some(text) = line.value(name) else {
            return Ok(None);
        };
        let number = text.parse().ok();
        let text = || Failure::new(2, format!("**** {what} {text} is not a number"));
        number.map(Some).ok_or_else(text)
    };
    let strip = number("strip", "strip count")?;
    let fuzz = number("fuzz", "fuzz factor")?.unwrap_or(2);
    if let Some(extra) = line.operands.get(2) {
        let text =
            format!("{extra}: extra operand\npatch: Try 'patch --help' for more information.");
        return Err(Failure::new(2, text));
    }
    let folder = line.value("directory").map(str::to_owned);
    if let Some(folder) = &folder
        && !call.is_folder(folder)
    {
        let why = match call.metadata(folder, crate::commands::call::Links::Follow) {
            Ok(_) => "Not a directory".to_owned(),
            Err(error) => text_of(&error),
        };
        let text = format!(
            "**** Can't change to directory {} : {why}",
            quoted_if_needed(folder)
        );
        return Err(Failure::new(2, text));
    }
    let named = line.operands.first().filter(|name| !name.is_empty());
    let named = named.cloned();
    let input = line
        .operands
        .get(1)
        .map(String::as_str)
        .or(line.value("input"));
    let mut run = Run {
        speech: match line.last_of(&["quiet", "silent", "verbose"]) {
            Some("verbose") => Speech::Verbose,
            Some(_) => Speech::Silent,
            None => Speech::Usual,
        },
        reversal: if line.has("forward") {
            Reversal::Skips
        } else if line.has("force") {
            Reversal::Applies
        } else if line.has("batch") {
            Reversal::Reverses
        } else {
            Reversal::Asks
        },
        folder,
        strip,
        output: line.value("output").map(str::to_owned),
        is_dry: line.has("dry-run"),
        named,
        is_reversed: line.has("reverse"),
        is_skipped: false,
        has_failed: false,
        outputs: Outputs::new(Backups::read(line, call)?),
        rejects: Vec::new(),
        collected: Vec::new(),
        call,
        line,
    };
    let text = match input {
        None | Some("-") => run.call.stdin.to_vec(),
        Some(input) => {
            let bytes = if run.folder.is_none() || input.starts_with("/dev/fd/") {
                run.call.read(input).map(Cow::into_owned)
            } else {
                run.call.files.read(&run.path(input))
            };
            bytes.map_err(|error| {
                let name = quoted_if_needed(input);
                let why = text_of(&error);
                Failure::new(2, format!("**** Can't open patch file {name} : {why}"))
            })?
        }
    };
    run.all(&text, i64::try_from(fuzz).unwrap_or(i64::MAX))
}

impl Run<'_, '_> {
    fn all(&mut self, text: &[u8], fuzz: i64) -> Result<i32, Failure> {
        let mut reader = Reader::new(text);
        let kinds = ["context", "ed", "normal", "unified"];
        let kind = self.line.last_of(&kinds).map(|kind| match kind {
            "context" => Kind::Context,
            "ed" => Kind::Ed,
            "normal" => Kind::Normal,
            _ => Kind::Unified,
        });
        let rules = Rules {
            has_name: self.named.is_some(),
            kind,
            strip: self.strip,
            zone: Zone::of(self.call.env.get("TZ").map(String::as_str)),
        };
        let as_asked = self.is_reversed;
        let mut was_git = false;
        while let Some(header) = self.next(&mut reader, &rules)? {
            if was_git && !header.is_git {
                self.outputs.write_all(self.call, self.folder.as_deref())?;
            }
            was_git = header.is_git;
            self.one(&mut reader, &header, fuzz, as_asked)?;
            self.is_reversed = as_asked;
            self.is_skipped = false;
        }
        self.outputs.write_all(self.call, self.folder.as_deref())?;
        if let (Some(output), false) = (self.output.clone(), self.is_dry) {
            let collected = std::mem::take(&mut self.collected);
            self.write_to(&output, &collected)?;
        }
        if let (Some(rejects), false) = (self.line.value("reject-file"), self.is_dry)
            && rejects != "-"
            && !self.rejects.is_empty()
        {
            let text = std::mem::take(&mut self.rejects);
            self.write_to(rejects, &text)?;
        }
        Ok(self.has_failed.into())
    }

    fn write_to(&mut self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let written = if self.folder.is_none() || name == "-" || name.starts_with("/dev/") {
            self.call.write(name, content)
        } else {
            self.call.files.write(&self.path(name), content)
        };
        written.map_err(|error| {
            let (name, why) = (quoted_if_needed(name), text_of(&error));
            Failure::new(2, format!("**** Can't create file {name} : {why}"))
        })
    }
}
