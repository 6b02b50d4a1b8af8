//! Applies the patch of one file.

use super::header::Header;
use super::hunks;
use super::kind::Kind;
use super::reader::Reader;
use super::run::{Reversal, Run, Speech, plural};
use super::target::{self, Target};
use crate::commands::call::Failure;
use crate::commands::on_files::quoted_if_needed;

/// How the hunks of a file went.
pub(super) struct State {
    pub(super) count: usize,
    pub(super) failed: usize,
    pub(super) is_mismatch: bool,
}

impl Run<'_, '_> {
    /// Reads the next hunk, in the direction in which it is applied.
    pub(super) fn hunk(
        &mut self,
        reader: &mut Reader,
        header: &Header,
    ) -> Result<Option<hunks::OwnedHunk>, Failure> {
        let hunk = hunks::read(reader, header.kind, header.wrapping);
        self.say_torn(reader);
        hunk
    }

    /// Applies the patch of one file.
    pub(super) fn one(
        &mut self,
        reader: &mut Reader,
        header: &Header,
        most_fuzz: i64,
        as_asked: bool,
    ) -> Result<(), Failure> {
        if header.kind == Kind::Ed {
            let text = "**** a script for ed is not applied here; \
                        make the patch with 'diff -u' instead of 'diff -e'";
            return Err(Failure::new(2, text));
        }
        let input = if self.is_skipped {
            None
        } else {
            self.outputs.chosen.take()
        };
        let forward = usize::from(!self.is_reversed);
        let mut out_name = None;
        if let Some(input) = &input {
            let renamed = header.names.get(forward).cloned().flatten();
            let moves = header.renames() || header.copies();
            out_name = Some(match (&self.output, renamed) {
                (Some(output), _) => output.clone(),
                (None, Some(renamed)) if moves && self.named.is_none() => renamed,
                _ => input.name.clone(),
            });
            if let Some(refusal) = self.refusal(header, input) {
                self.say(refusal);
                self.is_skipped = true;
            }
        }
        let content = match &input {
            Some(input) if !self.is_skipped => self.content(input)?,
            _ => Vec::new(),
        };
        let mut target = Target::new(&content, self.line.has("ignore-whitespace"));
        if let (Some(input), Some(name), false) = (&input, &out_name, self.is_skipped) {
            if header.kind == Kind::GitBinary {
                let name = quoted_if_needed(name);
                self.say(format!(
                    "File {name}: git binary diffs are not supported.\n"
                ));
                self.is_skipped = true;
                self.has_failed = true;
            } else {
                self.announce(header, &input.name, name);
            }
        }
        let (mut count, mut failed, mut is_mismatch) = (0_usize, 0_usize, false);
        let mut applies_anyway = false;
        let mut rejects = Vec::new();
        while let Some(owned) = self.hunk(reader, header)? {
            count += 1;
            let mut hunk = owned.borrowed();
            if self.is_reversed {
                hunk = hunk.reversed();
            }
            let mut place = None;
            let mut fuzz = 0;
            if !self.is_skipped {
                let (prefix, suffix) = target::context(&hunk);
                let most_fuzz = most_fuzz.min(prefix.max(suffix));
                loop {
                    place = target.locate(&hunk, fuzz)?;
                    is_mismatch |= place.is_none() || fuzz > 0 || target.offset != 0;
                    if count == 1
                        && place.is_none()
                        && !(self.reversal == Reversal::Applies && !self.line.has("forward"))
                        && !applies_anyway
                        && self.is_reversed == as_asked
                    {
                        let swapped = hunk.reversed();
                        place = target.locate(&swapped, fuzz)?;
                        if place.is_some() {
                            let what = if self.is_reversed {
                                "Unreversed patch detected!"
                            } else {
                                "Reversed (or previously applied) patch detected!"
                            };
                            if self.reverses(what) {
                                self.is_reversed = !self.is_reversed;
                                hunk = swapped;
                            } else {
                                applies_anyway = true;
                                fuzz -= 1;
                                place = None;
                                target.offset = 0;
                            }
                        }
                    }
                    fuzz += 1;
                    if self.is_skipped || place.is_some() || fuzz > most_fuzz {
                        fuzz -= 1;
                        break;
                    }
                }
            }
            let at = place.unwrap_or_else(|| Target::first(&hunk)) + target.added;
            let reverse = usize::from(self.is_reversed);
            let is_full = place == Some(1)
                && header
                    .sides
                    .get(reverse)
                    .is_some_and(|side| side.missing == 2)
                && !content.is_empty();
            let is_applied = match place {
                Some(place) if !self.is_skipped && !is_full => {
                    let is_applied = target.apply(&hunk, place);
                    if !is_applied {
                        self.say("misordered hunks! output would be garbled\n");
                    }
                    is_applied
                }
                _ => false,
            };
            if is_applied {
                if self.speech == Speech::Verbose
                    || self.speech == Speech::Usual && (fuzz > 0 || target.offset != 0)
                {
                    let mut text = format!("Hunk #{count} succeeded at {at}");
                    if fuzz > 0 {
                        text.push_str(&format!(" with fuzz {fuzz}"));
                    }
                    if target.offset != 0 {
                        let offset = target.offset;
                        let plural = if offset == 1 { "" } else { "s" };
                        text.push_str(&format!(" (offset {offset} line{plural})"));
                    }
                    self.say(text + ".\n");
                }
            } else {
                self.reject(&mut rejects, header, &hunk, failed == 0, target.added);
                failed += 1;
                if self.speech == Speech::Verbose
                    || self.speech == Speech::Usual && !self.is_skipped
                {
                    let how = if self.is_skipped { "ignored" } else { "FAILED" };
                    let ends = if !self.is_skipped && target.has_other_ends(&hunk, at) {
                        " (different line endings)"
                    } else {
                        ""
                    };
                    self.say(format!("Hunk #{count} {how} at {at}{ends}.\n"));
                }
            }
        }
        if let (Some(input), Some(name), false) = (&input, &out_name, self.is_skipped) {
            target.finish();
            let result = std::mem::take(&mut target.out);
            let state = State {
                count,
                failed,
                is_mismatch,
            };
            self.put(header, input, name, result, &state)?;
        }
        if failed > 0 {
            self.has_failed = true;
            let how = if self.is_skipped { "ignored" } else { "FAILED" };
            let plural = plural(count);
            self.say(format!("{failed} out of {count} hunk{plural} {how}"));
            self.save_rejects(out_name.as_deref(), rejects)?;
        }
        Ok(())
    }
}
