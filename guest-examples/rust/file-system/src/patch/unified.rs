//! Unified diffs, also those of git.

use super::format::{Action, FilePatch, Hunk, Invalid, Kind, Line, Patch};
use crate::replace::quote;

/// The numbers of `@@ -1,2 +3,4 @@`.
pub(crate) struct HunkHeader {
    pub(crate) old_start: usize,
    old_count: usize,
    new_count: usize,
}

/// What is said of one file before its hunks.
#[derive(Default)]
struct Section {
    line: usize,
    is_git: bool,
    old: Option<String>,
    new: Option<String>,
    /// The names in `diff --git`, for a file without hunks.
    names: Option<(String, String)>,
    is_new: bool,
    is_deleted: bool,
    rename: (Option<String>, Option<String>),
    hunks: Vec<Hunk>,
}

pub(crate) fn parse(lines: &[&str]) -> Result<Patch, Invalid> {
    let mut patch = Patch {
        files: Vec::new(),
        notes: Vec::new(),
    };
    let mut section: Option<Section> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let number = at + 1;
        let following = lines.get(at + 1).copied().unwrap_or_default();
        if let Some(names) = line.strip_prefix("diff --git ") {
            finish(&mut patch, section.take())?;
            section = Some(Section {
                line: number,
                is_git: true,
                names: git_names(names),
                ..Section::default()
            });
        } else if line.starts_with("--- ") && following.starts_with("+++ ") {
            let is_same = section
                .as_ref()
                .is_some_and(|it| it.is_git && it.hunks.is_empty() && it.old.is_none());
            if !is_same {
                finish(&mut patch, section.take())?;
            }
            let current = section.get_or_insert_with(|| Section {
                line: number,
                ..Section::default()
            });
            current.old = Some(name(line.get(4..).unwrap_or_default()));
            current.new = Some(name(following.get(4..).unwrap_or_default()));
            at += 1;
        } else if let Some(header) = hunk_header(line) {
            let Some(current) = section.as_mut() else {
                return Err(Invalid::new(
                    number,
                    "the hunk belongs to no file: `--- a/PATH` and `+++ b/PATH` are missing",
                ));
            };
            let (hunk, used) = hunk(lines, at, &header, &mut patch.notes)?;
            current.hunks.push(hunk);
            at += used;
            continue;
        } else if line.starts_with("@@") {
            let reason = format!("{} is not `@@ -LINE,COUNT +LINE,COUNT @@`", quote(line));
            return Err(Invalid::new(number, reason));
        } else if let Some(current) = section.as_mut().filter(|it| it.is_git) {
            git_header(current, number, line, &mut patch.notes)?;
        }
        at += 1;
    }
    finish(&mut patch, section)?;
    Ok(patch)
}

/// Parses the header of a hunk.
pub(crate) fn hunk_header(line: &str) -> Option<HunkHeader> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((old_start, old_count), (_, new_count)) = (range(old)?, range(new)?);
    Some(HunkHeader {
        old_start,
        old_count,
        new_count,
    })
}

/// Parses a hunk, and returns how many lines of the patch it takes. Its lines count, not the numbers in its header:
/// those of models are often wrong.
fn hunk(
    lines: &[&str],
    at: usize,
    header: &HunkHeader,
    notes: &mut Vec<String>,
) -> Result<(Hunk, usize), Invalid> {
    let mut hunk = Hunk {
        line: at + 1,
        hint: Some(header.old_start),
        ..Hunk::default()
    };
    let (mut old, mut new) = (0, 0);
    let mut used = 1;
    while let Some(line) = lines.get(at + used) {
        let is_complete = old >= header.old_count && new >= header.new_count;
        let following = lines.get(at + used + 1).copied().unwrap_or_default();
        let is_file = line.starts_with("diff --git ")
            || (line.starts_with("--- ")
                && following.starts_with("+++ ")
                && (is_complete || begins_hunk(lines, at + used + 2)));
        if line.starts_with("@@") || is_file {
            break;
        }
        if let Some(said) = line.strip_prefix('\\') {
            no_line_feed(&mut hunk, at + used + 1, said)?;
            used += 1;
            continue;
        }
        // The rest of a mail, the end of a code block, a blank line before the next file.
        if is_complete
            && (line.is_empty() || Line::parse(line).is_none() || line.starts_with("-- "))
        {
            break;
        }
        let Some(line) = Line::parse(line) else {
            let reason = format!(
                "{}: each line of a hunk begins with a space, `-` or `+`",
                quote(line)
            );
            return Err(Invalid::new(at + used + 1, reason));
        };
        old += usize::from(line.kind != Kind::Add);
        new += usize::from(line.kind != Kind::Remove);
        hunk.lines.push(line);
        used += 1;
    }
    // What a missing space at the end of the patch looks like.
    while (old > header.old_count || new > header.new_count)
        && hunk.lines.last() == Some(&Line::new(Kind::Context, ""))
    {
        hunk.lines.pop();
        (old, new) = (old - 1, new - 1);
    }
    if (old, new) != (header.old_count, header.new_count) {
        let (old_said, new_said) = (header.old_count, header.new_count);
        notes.push(format!(
            "the hunk at line {} of the patch says -{old_said} +{new_said} lines and has -{old} +{new}: its lines were taken",
            at + 1
        ));
    }
    if hunk.lines.iter().all(|it| it.kind == Kind::Context) {
        return Err(Invalid::new(at + 1, "the hunk changes nothing"));
    }
    Ok((hunk, used))
}

fn begins_hunk(lines: &[&str], at: usize) -> bool {
    lines
        .get(at)
        .is_some_and(|line| hunk_header(line).is_some())
}

/// Takes `\ No newline at end of file`, which is about the line before it.
fn no_line_feed(hunk: &mut Hunk, number: usize, said: &str) -> Result<(), Invalid> {
    let Some(before) = hunk.lines.last() else {
        return Err(Invalid::new(
            number,
            format!("`\\{said}` has no line before it"),
        ));
    };
    hunk.is_at_end = true;
    hunk.ends_with_line_feed = match (before.kind, hunk.ends_with_line_feed) {
        // The new text has one unless it is said of a later line.
        (Kind::Remove, None) => Some(true),
        (Kind::Remove, said) => said,
        (Kind::Context | Kind::Add, _) => Some(false),
    };
    Ok(())
}

/// Parses a name in a header: without what follows a tab, and without the quotes of git.
fn name(text: &str) -> String {
    let text = text.trim_end();
    match unquote(text) {
        Some((name, _)) => name,
        None => text
            .split('\t')
            .next()
            .unwrap_or_default()
            .trim_end()
            .into(),
    }
}

/// Parses a name in quotes with the escapes of C, and returns what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?.bytes().enumerate();
    let mut bytes = Vec::new();
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => {
                let name = String::from_utf8(bytes).ok()?;
                return Some((name, text.get(at + 2..).unwrap_or_default()));
            }
            b'\\' => bytes.push(match rest.next()?.1 {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                digit @ b'0'..=b'3' => {
                    let digits = [digit, rest.next()?.1, rest.next()?.1];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
                }
                other => other,
            }),
            _ => bytes.push(byte),
        }
    }
    None
}

/// Parses `a/PATH b/PATH` of a file that has the same name on both sides.
fn git_names(text: &str) -> Option<(String, String)> {
    if let Some((old, rest)) = unquote(text) {
        return Some((old, name(rest.trim_start())));
    }
    let names = text.match_indices(" b/").map(|(at, _)| text.split_at(at));
    let mut names = names.map(|(old, new)| (old, new.trim_start()));
    let same = names.find(|(old, new)| old.get(2..) == new.get(2..));
    same.map(|(old, new)| (old.into(), new.into()))
}

fn git_header(
    section: &mut Section,
    number: usize,
    line: &str,
    notes: &mut Vec<String>,
) -> Result<(), Invalid> {
    if line.starts_with("new file mode") {
        section.is_new = true;
    } else if line.starts_with("deleted file mode") {
        section.is_deleted = true;
    } else if let Some(from) = line.strip_prefix("rename from ") {
        section.rename.0 = Some(name(from));
    } else if let Some(to) = line.strip_prefix("rename to ") {
        section.rename.1 = Some(name(to));
    } else if line.starts_with("copy from ") {
        return Err(Invalid::new(
            number,
            "a copied file: use `copy`, then a patch of the copy",
        ));
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        return Err(Invalid::new(
            number,
            "a binary file: `write` it with `encoding: \"base64\"`",
        ));
    }
    let mode = line
        .strip_prefix("new mode ")
        .or(line.strip_prefix("new file mode "));
    if let Some(mode) = mode.filter(|mode| mode.trim() != "100644") {
        notes.push(format!(
            "mode {} (line {number} of the patch) is not set",
            mode.trim()
        ));
    }
    Ok(())
}

fn finish(patch: &mut Patch, section: Option<Section>) -> Result<(), Invalid> {
    let Some(section) = section else {
        return Ok(());
    };
    let invalid = |reason: &str| Invalid::new(section.line, reason);
    let (old, new) = match (section.old, section.new, section.names) {
        (Some(old), Some(new), _) => (old, new),
        (_, _, Some((old, new))) => (old, new),
        _ if section.rename.1.is_some() => (String::new(), String::new()),
        _ => return Err(invalid("its names cannot be read")),
    };
    let is_new = section.is_new || old == "/dev/null";
    let is_deleted = section.is_deleted || new == "/dev/null";
    let (old, new) = without_prefixes(&old, &new);
    let action = match section.rename {
        (Some(from), Some(to)) => Action::Update {
            path: from,
            to: Some(to),
        },
        _ if is_new => Action::Create { path: new.into() },
        _ if is_deleted => Action::Delete { path: old.into() },
        // A change of the mode alone is in the notes.
        _ if section.hunks.is_empty() && section.is_git => return Ok(()),
        _ if section.hunks.is_empty() => return Err(invalid("the file has no hunk")),
        // `x.orig` and `x`: the new name is the file.
        _ => Action::Update {
            path: new.into(),
            to: None,
        },
    };
    patch.files.push(FilePatch {
        line: section.line,
        action,
        hunks: section.hunks,
    });
    Ok(())
}

/// Removes `a/` and `b/`, if both names have theirs or are no file.
fn without_prefixes<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let bare = |name: &'a str, prefix| match name {
        "/dev/null" => Some(name),
        name => name.strip_prefix(prefix),
    };
    match (bare(old, "a/"), bare(new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}
