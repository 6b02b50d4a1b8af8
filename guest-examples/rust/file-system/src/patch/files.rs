//! The files of a patch as it leaves them, before any is written.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;

use serde::Serialize;
use toolhost_guest::ToolError;

use super::format::{Action, FilePatch, Hunk, Kind};
use super::hunks::{self, Miss, Place};
use crate::changes::Change;
use crate::encoding::{Codec, End};
use crate::failure::{self, failure};
use crate::line_ends::LineEnds;
use crate::path::GuestPath;
use crate::text_file::read_bytes;

/// What was done with a file.
#[derive(Serialize)]
pub(crate) struct Done {
    path: String,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Lines.
    added: usize,
    removed: usize,
    /// Where each hunk was applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hunks: Vec<Place>,
}

#[derive(Default)]
pub(crate) struct Files {
    states: BTreeMap<String, State>,
}

/// A path before the patch and now; `None` where there is no file.
struct State {
    before: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
    /// The path that the file had before the patch.
    origin: Option<String>,
}

impl Files {
    /// Applies the part of a patch that is about one file.
    pub(crate) fn apply(&mut self, patch: &FilePatch) -> Result<Done, ToolError> {
        let count = |kind| patch.hunks.iter().map(|it| it.count(kind)).sum();
        let mut done = Done {
            path: String::new(),
            action: "changed",
            from: None,
            added: count(Kind::Add),
            removed: count(Kind::Remove),
            hunks: Vec::new(),
        };
        match &patch.action {
            Action::Create { path } => {
                let path = self.new_path(path)?;
                let state = self.state(&path)?;
                if state.now.is_some() {
                    return Err(failure::file_exists(&path)
                        .suggestion("change it with an update (`*** Update File`, or a diff that is not from /dev/null)"));
                }
                state.now = Some(content(&path, patch)?);
                (done.path, done.action) = (path, "created");
            }
            Action::Delete { path } => {
                let path = GuestPath::new(path).as_str().to_owned();
                let state = self.state(&path)?;
                let bytes = state.now.take().ok_or_else(|| missing(&path))?;
                if !patch.hunks.is_empty() {
                    let (left, _) = change(&path, &bytes, patch)?;
                    if !left.is_empty() {
                        let reason = "the file has more lines than the patch deletes".into();
                        return Err(no_place(
                            &path,
                            patch,
                            &Miss {
                                hunk: 0,
                                is_ambiguous: false,
                                reason,
                            },
                        ));
                    }
                }
                (done.path, done.action) = (path, "deleted");
            }
            Action::Update { path, to } => {
                let path = GuestPath::new(path).as_str().to_owned();
                let state = self.state(&path)?;
                let bytes = state.now.as_ref().ok_or_else(|| missing(&path))?;
                if !patch.hunks.is_empty() {
                    let (bytes, places) = change(&path, bytes, patch)?;
                    state.now = Some(bytes);
                    done.hunks = places;
                }
                done.path.clone_from(&path);
                if let Some(to) = to {
                    let to = self.new_path(to)?;
                    if to != path {
                        self.rename(&path, &to)?;
                        (done.path, done.from, done.action) = (to, Some(path), "renamed");
                    }
                }
            }
        }
        Ok(done)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), ToolError> {
        if self.state(to)?.now.is_some() {
            return Err(failure::file_exists(to)
                .suggestion("rename to another path, or delete it in the patch before"));
        }
        let source = self.state(from)?;
        let (now, origin) = (source.now.take(), source.origin.take());
        let target = self.state(to)?;
        (target.now, target.origin) = (now, origin);
        Ok(())
    }

    /// Returns the path of a file that the patch makes.
    fn new_path(&self, path: &str) -> Result<String, ToolError> {
        let path = GuestPath::new(path);
        path.refuse_stray_tree(path.parent())?;
        Ok(path.as_str().to_owned())
    }

    fn state(&mut self, path: &str) -> Result<&mut State, ToolError> {
        if !self.states.contains_key(path) {
            let before = match fs::symlink_metadata(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(failure::io(path, &error)),
                Ok(_) => Some(read_bytes(path)?),
            };
            let state = State {
                now: before.clone(),
                origin: before.is_some().then(|| path.to_owned()),
                before,
            };
            self.states.insert(path.into(), state);
        }
        self.states.get_mut(path).ok_or_else(|| missing(path))
    }

    /// Returns what leads from the files before to those now: what may fail for want of space comes first, what
    /// cannot be taken back exactly comes last.
    pub(crate) fn changes(self) -> Vec<Change> {
        let gone = |path: &String| {
            let state = self.states.get(path)?;
            state.before.as_ref().filter(|_| state.now.is_none())
        };
        let mut renamed = Vec::new();
        let (mut renames, mut others, mut deletions) = (Vec::new(), Vec::new(), Vec::new());
        for (path, state) in &self.states {
            match (&state.before, &state.now) {
                (None, Some(now)) => {
                    let origin = state.origin.as_ref().and_then(|it| Some((it, gone(it)?)));
                    let Some((from, before)) = origin else {
                        others.push(Change::Create {
                            path: path.clone(),
                            bytes: now.clone(),
                        });
                        continue;
                    };
                    renamed.push(from);
                    renames.push(Change::Rename {
                        from: from.clone(),
                        to: path.clone(),
                    });
                    if before != now {
                        others.push(Change::Write {
                            path: path.clone(),
                            before: before.clone(),
                            after: now.clone(),
                        });
                    }
                }
                (Some(before), Some(now)) if before != now => {
                    others.push(Change::Write {
                        path: path.clone(),
                        before: before.clone(),
                        after: now.clone(),
                    });
                }
                (Some(before), None) => deletions.push((path, before)),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
        let deletions = deletions
            .into_iter()
            .filter(|(path, _)| !renamed.contains(path));
        let deletions = deletions.map(|(path, before)| Change::Delete {
            path: path.clone(),
            before: before.clone(),
        });
        renames.into_iter().chain(others).chain(deletions).collect()
    }
}

/// Returns the bytes of a new file.
fn content(path: &str, patch: &FilePatch) -> Result<Vec<u8>, ToolError> {
    let lines = patch.hunks.iter().flat_map(|hunk| &hunk.lines);
    if lines.clone().any(|line| line.kind != Kind::Add) {
        let reason = "a new file has only lines that begin with `+`".into();
        return Err(no_place(
            path,
            patch,
            &Miss {
                hunk: 0,
                is_ambiguous: false,
                reason,
            },
        ));
    }
    let lines: Vec<_> = lines.map(|line| line.text.as_str()).collect();
    Ok(join(
        &lines,
        "\n",
        ends_with_line_feed(&patch.hunks).unwrap_or(true),
    )
    .into())
}

/// Applies the hunks to the bytes of a file.
fn change(path: &str, bytes: &[u8], patch: &FilePatch) -> Result<(Vec<u8>, Vec<Place>), ToolError> {
    let (text, _) = Codec::Utf8
        .decode(bytes, End::Whole)
        .map_err(|invalid| failure::not_text(path, Codec::Utf8, 0, bytes, invalid.at))?;
    let has_cr = patch
        .hunks
        .iter()
        .flat_map(|it| &it.lines)
        .any(|it| it.text.ends_with('\r'));
    let is_crlf = LineEnds::of(&text) == LineEnds::Crlf && !has_cr;
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|it| it.is_empty()) {
        lines.pop();
    }
    if is_crlf {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    let applied = hunks::apply(&lines, &patch.hunks);
    let (lines, places) = applied.map_err(|miss| no_place(path, patch, &miss))?;
    let is_ended = text.is_empty() || text.ends_with('\n');
    let is_ended = ends_with_line_feed(&patch.hunks).unwrap_or(is_ended);
    let text = join(&lines, if is_crlf { "\r\n" } else { "\n" }, is_ended);
    Ok((text.into(), places))
}

fn ends_with_line_feed(hunks: &[Hunk]) -> Option<bool> {
    hunks.iter().rev().find_map(|hunk| hunk.ends_with_line_feed)
}

fn join(lines: &[&str], line_end: &str, is_ended: bool) -> String {
    let mut text = lines.join(line_end);
    if is_ended && !lines.is_empty() {
        text.push_str(line_end);
    }
    text
}

fn missing(path: &str) -> ToolError {
    failure::io(path, &ErrorKind::NotFound.into())
}

fn no_place(path: &str, patch: &FilePatch, miss: &Miss) -> ToolError {
    let line = patch
        .hunks
        .get(miss.hunk)
        .map_or(patch.line, |hunk| hunk.line);
    let (code, name, suggestion) = if miss.is_ambiguous {
        (
            "SEVERAL_MATCHES",
            "SeveralMatchesError",
            "add lines of context, or a line above them behind `@@`, until there is one place; nothing was changed",
        )
    } else {
        (
            "NO_MATCH",
            "NoMatchError",
            "`read` the file there and write the hunk again with its lines exactly as they are; nothing was changed",
        )
    };
    let message = format!(
        "hunk {} of {path} (line {line} of the patch): {}",
        miss.hunk + 1,
        miss.reason
    );
    failure(code, name, message, suggestion.into())
}
