//! The envelope that models write: `*** Begin Patch`, files, `@@` hunks without numbers, `*** End Patch`.

use super::format::{Action, FilePatch, Hunk, Invalid, Kind, Line, Patch};
use super::unified::hunk_header;
use crate::replace::quote;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

pub(crate) fn is_envelope(lines: &[&str]) -> bool {
    let begins = |line: &&str| [ADD, UPDATE, DELETE].iter().any(|it| line.starts_with(it));
    lines
        .iter()
        .any(|line| line.trim() == BEGIN || begins(line))
}

pub(crate) fn parse(lines: &[&str]) -> Result<Patch, Invalid> {
    let begin = lines.iter().position(|line| line.trim() == BEGIN);
    let mut files: Vec<FilePatch> = Vec::new();
    let mut has_end = false;
    for (at, line) in lines.iter().enumerate().skip(begin.map_or(0, |at| at + 1)) {
        let number = at + 1;
        if line.trim_end() == END {
            has_end = true;
            break;
        }
        if let Some(action) = action(line) {
            files.push(FilePatch {
                line: number,
                action,
                hunks: Vec::new(),
            });
            continue;
        }
        match files.last_mut() {
            Some(file) => add_line(file, number, line)?,
            None if line.trim().is_empty() => {}
            None => {
                return Err(Invalid::new(
                    number,
                    format!("{} belongs to no file", quote(line)),
                ));
            }
        }
    }
    if begin.is_some() && !has_end {
        let reason = format!("it ends without `{END}`, so that its end may be missing");
        return Err(Invalid::new(lines.len(), reason));
    }
    for file in &mut files {
        finish(file)?;
    }
    Ok(Patch {
        files,
        notes: Vec::new(),
    })
}

fn action(line: &str) -> Option<Action> {
    let path = |prefix| {
        line.strip_prefix(prefix)
            .map(|path: &str| path.trim().to_owned())
    };
    if let Some(path) = path(ADD) {
        return Some(Action::Create { path });
    }
    if let Some(path) = path(DELETE) {
        return Some(Action::Delete { path });
    }
    path(UPDATE).map(|path| Action::Update { path, to: None })
}

fn add_line(file: &mut FilePatch, number: usize, line: &str) -> Result<(), Invalid> {
    let invalid = |reason: &str| Err(Invalid::new(number, format!("{}: {reason}", quote(line))));
    if let Some(target) = line.strip_prefix(MOVE) {
        return match &mut file.action {
            Action::Update { to, .. } => {
                *to = Some(target.trim().into());
                Ok(())
            }
            Action::Create { .. } | Action::Delete { .. } => {
                invalid("only an updated file is moved")
            }
        };
    }
    match &file.action {
        Action::Delete { .. } if line.trim().is_empty() => return Ok(()),
        Action::Delete { .. } => return invalid("a deleted file has no lines"),
        Action::Create { .. } => {
            return match Line::parse(line) {
                Some(added) if added.kind == Kind::Add => {
                    with_hunk(file, number, |hunk| hunk.lines.push(added));
                    Ok(())
                }
                _ if line.is_empty() => Ok(()),
                _ => invalid("each line of an added file begins with `+`"),
            };
        }
        Action::Update { .. } => {}
    }
    if line.trim_end() == END_OF_FILE {
        with_hunk(file, number, |hunk| hunk.is_at_end = true);
        return Ok(());
    }
    if line.starts_with("*** ") {
        return invalid("it is none of the lines that begin with `***`");
    }
    if let Some(rest) = line.strip_prefix("@@") {
        let is_anchor_of_last = file.hunks.last().is_some_and(|hunk| hunk.lines.is_empty());
        if !is_anchor_of_last {
            file.hunks.push(Hunk {
                line: number,
                ..Hunk::default()
            });
        }
        with_hunk(file, number, |hunk| {
            // Some write the numbers of a unified diff: they say where to look first.
            if let Some(header) = hunk_header(line) {
                hunk.hint = Some(header.old_start);
            } else if !rest.trim().is_empty() {
                hunk.anchors
                    .push(rest.strip_prefix(' ').unwrap_or(rest).into());
            }
        });
        return Ok(());
    }
    match Line::parse(line) {
        _ if line.starts_with("\\ No newline") => Ok(()),
        Some(line) => {
            with_hunk(file, number, |hunk| hunk.lines.push(line));
            Ok(())
        }
        None => invalid("each line of a hunk begins with a space, `-` or `+`"),
    }
}

/// Changes the last hunk of a file, the first if it has none yet.
fn with_hunk(file: &mut FilePatch, number: usize, change: impl FnOnce(&mut Hunk)) {
    if file.hunks.is_empty() {
        file.hunks.push(Hunk {
            line: number,
            ..Hunk::default()
        });
    }
    if let Some(hunk) = file.hunks.last_mut() {
        change(hunk);
    }
}

fn finish(file: &mut FilePatch) -> Result<(), Invalid> {
    for hunk in &mut file.hunks {
        // Blank lines before the next header belong to nothing.
        while hunk
            .lines
            .last()
            .is_some_and(|it| *it == Line::new(Kind::Context, ""))
            && !hunk.is_at_end
        {
            hunk.lines.pop();
        }
    }
    if let Action::Update { to, .. } = &file.action {
        let changes = |hunk: &Hunk| hunk.lines.iter().any(|it| it.kind != Kind::Context);
        if let Some(hunk) = file.hunks.iter().find(|hunk| !changes(hunk)) {
            return Err(Invalid::new(hunk.line, "the hunk changes nothing"));
        }
        if file.hunks.is_empty() && to.is_none() {
            return Err(Invalid::new(file.line, "the file has no hunk"));
        }
    }
    Ok(())
}
