//! Which file a patch is for, and what becomes of it.

use bashkit::FileType;

use super::apply::State;
use super::header::{Header, INDEX, NEW, OLD};
use super::names;
use super::outputs::{Input, Output};
use super::run::{Run, Speech};
use crate::commands::call::Failure;
use crate::commands::on_files::quoted_if_needed;
use crate::files::text_of;

/// The bits of a mode that are permissions, and those that say what kind of file it is.
const PERMISSIONS: u32 = 0o777;
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

impl Run<'_, '_> {
    /// Chooses the file, as POSIX and GNU say: of the names, the best that exists.
    pub(super) fn choose(&mut self, header: &Header) -> Option<Input> {
        if let Some(named) = self.named.clone() {
            let input = self.input(&named);
            if input.file_type.is_none_or(|kind| kind.is_file()) {
                let is_empty = input.is_empty();
                self.maybe_reverse(header, &named, input.file_type.is_none(), is_empty);
            }
            return Some(input);
        }
        let mut names = header.names.clone();
        if names.iter().take(2).any(Option::is_some)
            && let Some(index) = names.get_mut(INDEX)
        {
            *index = None;
        }
        let inputs: Vec<Option<Input>> = names
            .iter()
            .map(|name| name.as_ref().map(|name| self.input(name)))
            .collect();
        let exists: Vec<bool> = inputs
            .iter()
            .map(|input| {
                input
                    .as_ref()
                    .is_some_and(|input| input.file_type.is_some())
            })
            .collect();
        let mut refused = Vec::new();
        let mut chosen = self.best(&names, &exists, &mut refused);
        let last = names.iter().rposition(Option::is_some);
        if let Some(last) = last {
            let subject = chosen.unwrap_or(last);
            let input = inputs.get(subject).and_then(Option::as_ref);
            let is_regular = chosen.is_none()
                || input.is_some_and(|input| input.file_type.is_some_and(|kind| kind.is_file()));
            let is_empty = chosen.is_none() || input.is_none_or(Input::is_empty);
            let name = names.get(subject).cloned().flatten().unwrap_or_default();
            if is_regular
                && self.maybe_reverse(header, &name, chosen.is_none(), is_empty)
                && chosen.is_none()
            {
                chosen = Some(last);
            }
        }
        let reverse = usize::from(self.is_reversed);
        if chosen.is_none()
            && header
                .sides
                .get(reverse)
                .is_some_and(|side| side.missing > 0)
        {
            // A new file: of the names, the one that needs the fewest new folders.
            let new_folders: Vec<Option<usize>> = names
                .iter()
                .map(|name| name.as_ref().map(|name| self.new_folders(name)))
                .collect();
            let fewest = new_folders.iter().flatten().min().copied();
            let is_least: Vec<bool> = new_folders
                .iter()
                .map(|count| count.is_some() && *count == fewest)
                .collect();
            chosen = self.best(&names, &is_least, &mut refused);
        }
        if header.renames() || header.copies() {
            let is_valid = |slot: usize| {
                let name = names.get(slot).and_then(Option::as_deref);
                name.is_some_and(names::is_safe)
            };
            if !matches!(chosen, Some(OLD | NEW)) || !is_valid(OLD) || !is_valid(NEW) {
                let what = if header.renames() { "rename" } else { "copy" };
                self.say(format!("Cannot {what} file without two valid file names\n"));
                self.is_skipped = true;
                self.has_failed = true;
            }
        }
        inputs.into_iter().nth(chosen?).flatten()
    }

    /// What is at a name now, after the outputs that are still to be written.
    fn input(&self, name: &str) -> Input {
        let path = self.path(name);
        let metadata = self.call.files.metadata(&path).ok();
        let metadata = metadata.filter(|_| !self.outputs.will_remove(name));
        Input {
            name: name.to_owned(),
            file_type: metadata.as_ref().map(|metadata| metadata.file_type),
            size: metadata.as_ref().map_or(0, |metadata| metadata.size),
            mode: metadata.map(|metadata| metadata.mode & PERMISSIONS),
        }
    }

    /// The best of some names: the fewest folders, the shortest last part, the shortest, the first.
    fn best(
        &mut self,
        names: &[Option<String>],
        counts: &[bool],
        refused: &mut Vec<String>,
    ) -> Option<usize> {
        let candidates = names.iter().zip(counts).enumerate();
        let mut ranked: Vec<_> = candidates
            .filter_map(|(slot, (name, counts))| {
                let name = name.as_ref().filter(|_| *counts)?;
                let base = name.rsplit('/').next().unwrap_or(name).len();
                Some(((names::folders(name), base, name.len()), slot, name))
            })
            .collect();
        ranked.sort_by_key(|(rank, slot, _)| (*rank, *slot));
        let best = ranked.first().map(|(rank, ..)| *rank)?;
        for (_, slot, name) in ranked.iter().filter(|(rank, ..)| *rank == best) {
            if names::is_safe(name) {
                return Some(*slot);
            }
            if !refused.contains(name) {
                let shown = quoted_if_needed(name);
                self.say(format!(
                    "Ignoring potentially dangerous file name {shown}\n"
                ));
                refused.push((*name).clone());
            }
        }
        None
    }

    /// The number of folders of a name that do not exist.
    fn new_folders(&self, name: &str) -> usize {
        let folders = names::folders(name);
        let mut existing = 0;
        let mut end = 0;
        for part in name.split_inclusive('/') {
            end += part.len();
            let folder = name.get(..end).unwrap_or(name);
            let metadata = self.call.files.target_metadata(&self.path(folder));
            if !folder.ends_with('/') || metadata.is_err() {
                break;
            }
            existing += 1;
        }
        folders.saturating_sub(existing)
    }

    /// Notices that a patch would create what exists, or remove what does not. Returns whether it would.
    fn maybe_reverse(
        &mut self,
        header: &Header,
        name: &str,
        is_missing: bool,
        is_empty: bool,
    ) -> bool {
        let missing = |side: bool| {
            let side = header.sides.get(usize::from(side));
            side.map_or(0, |side| side.missing)
        };
        let looks_reversed = u8::from(!is_empty) < missing(self.is_reversed ^ is_empty);
        // git says of a file that it is empty.
        if is_empty
            && missing(self.is_reversed ^ is_missing) == 1
            && missing(!self.is_reversed ^ is_missing) == 2
        {
            return false;
        }
        if looks_reversed {
            let text = format!(
                "The next patch{} would {} the file {},\nwhich {}!",
                if self.is_reversed {
                    ", when reversed,"
                } else {
                    ""
                },
                if is_missing {
                    "delete"
                } else if is_empty {
                    "empty out"
                } else {
                    "create"
                },
                quoted_if_needed(name),
                if is_missing {
                    "does not exist"
                } else if is_empty {
                    "is already empty"
                } else {
                    "already exists"
                }
            );
            if self.reverses(&text) {
                self.is_reversed = !self.is_reversed;
            }
        }
        looks_reversed
    }

    /// Why a file is not patched.
    pub(super) fn refusal(&self, header: &Header, input: &Input) -> Option<String> {
        let name = quoted_if_needed(&input.name);
        let kinds = header.sides.each_ref().map(|side| side.mode & KIND);
        if kinds.iter().any(|kind| *kind != 0 && *kind != REGULAR) {
            return Some(format!(
                "File {name}: the patch is of a symbolic link, which is not patched here\n"
            ));
        }
        match input.file_type {
            Some(FileType::File) | None => None,
            Some(_) => Some(format!(
                "File {name} is not a regular file -- refusing to patch\n"
            )),
        }
    }

    /// The content of the file that is patched.
    pub(super) fn content(&mut self, input: &Input) -> Result<Vec<u8>, Failure> {
        if self.outputs.is_pending_from(&input.name) {
            self.outputs.write_all(self.call, self.folder.as_deref())?;
        }
        if input.file_type.is_none() {
            return Ok(Vec::new());
        }
        if input.mode.is_some_and(|mode| mode & 0o200 == 0) {
            let name = quoted_if_needed(&input.name);
            self.say(format!(
                "File {name} is read-only; trying to patch anyway\n"
            ));
        }
        let path = self.path(&input.name);
        self.call.files.read(&path).map_err(|error| {
            let (name, why) = (quoted_if_needed(&input.name), text_of(&error));
            Failure::new(2, format!("**** Can't open file {name} : {why}"))
        })
    }

    /// Puts the patched file where it belongs.
    pub(super) fn put(
        &mut self,
        header: &Header,
        input: &Input,
        name: &str,
        result: Vec<u8>,
        state: &State,
    ) -> Result<(), Failure> {
        if self.output.is_some() {
            self.collected.extend(result);
            return Ok(());
        }
        let is_reversed = self.is_reversed;
        let side = |is_new: bool| header.sides.get(usize::from(is_new ^ is_reversed));
        let goes = side(true).is_some_and(|side| side.missing == 2);
        let removes_empty = self.line.has("remove-empty-files");
        let is_git = header.is_git;
        let has_backup = self.outputs.backs_up(state.is_mismatch || state.failed > 0);
        let from = Some(input.name.clone());
        let mut outputs = Vec::new();
        if result.is_empty() && (removes_empty || goes && !self.line.has("posix")) {
            outputs.push(Output {
                from,
                to: name.to_owned(),
                content: None,
                mode: None,
                has_backup,
            });
        } else {
            if !result.is_empty() && goes {
                self.has_failed = true;
                if self.speech != Speech::Silent {
                    let name = quoted_if_needed(name);
                    self.say(format!(
                        "Not deleting file {name} as content differs from patch\n"
                    ));
                }
            }
            let mode = |is_new: bool| side(is_new).map_or(0, |side| side.mode);
            let (old_mode, new_mode) = (mode(false), mode(true));
            let sets_mode = new_mode != 0 && old_mode != new_mode;
            let moves = header.renames() || header.copies();
            if state.failed < state.count || sets_mode || moves {
                outputs.push(Output {
                    from,
                    to: name.to_owned(),
                    content: Some(result),
                    mode: if sets_mode {
                        Some(new_mode & PERMISSIONS)
                    } else {
                        input.mode
                    },
                    has_backup,
                });
                if header.renames() && input.name != name {
                    outputs.push(Output {
                        from: None,
                        to: input.name.clone(),
                        content: None,
                        mode: None,
                        has_backup,
                    });
                }
            } else if has_backup && !self.is_dry {
                self.outputs
                    .back_up(self.call, self.folder.as_deref(), name)?;
                if input.file_type.is_none() {
                    let name = quoted_if_needed(name);
                    let why = "No such file or directory";
                    let text = format!("**** Can't reopen file {name} : {why}");
                    return Err(Failure::new(2, text));
                }
            }
        }
        for output in outputs {
            if self.is_dry {
                continue;
            }
            if self.speech == Speech::Verbose && output.content.is_none() {
                let name = quoted_if_needed(&output.to);
                self.say(format!("Removing file {name}\n"));
            }
            self.outputs
                .add(self.call, self.folder.as_deref(), output, is_git)?;
        }
        Ok(())
    }
}
