//! A run of `tar`: what it has read of its arguments, and what it says.

use std::collections::HashSet;

use super::header::BLOCK;
use super::member::Member;
use super::names::{Of, shown, stripped, transformed, unsafe_length};
use super::reader::{Next, Reader, fatal};
use super::select::Name;
use super::settings::Settings;
use crate::commands::call::{Call, Failure};

/// The most bytes that go to standard output.
pub(super) const OUTPUT: usize = 16 << 20;

/// How wide user, group and size of a listing are at least.
pub(super) const WIDTH: usize = 19;

/// A name without slashes at its end.
fn trimmed(name: &[u8]) -> &[u8] {
    let mut name = name;
    while let Some(shorter) = name.strip_suffix(b"/").filter(|name| !name.is_empty()) {
        name = shorter;
    }
    name
}

/// A run of the command.
pub(super) struct Run<'r, 'c> {
    pub(super) call: &'r mut Call<'c>,
    pub(super) settings: &'r Settings,
    pub(super) names: Vec<Name>,
    pub(super) exit_code: i32,
    /// What was cut off names, as it was reported.
    pub(super) prefixes: HashSet<String>,
    /// How wide users and sizes were so far in a listing.
    pub(super) width: usize,
    /// Whether the listing goes there because an archive or a content goes to standard output.
    pub(super) to_stderr: bool,
}

impl Run<'_, '_> {
    /// Reports what makes the command fail in the end.
    pub(super) fn error(&mut self, text: impl std::fmt::Display) {
        self.call.complain(text);
        self.exit_code = 2;
    }

    /// Reports what does not make it fail, unless `--warning` turns that off.
    pub(super) fn warn(&mut self, keyword: &str, text: impl std::fmt::Display) {
        let mut silent = self.settings.silent.iter();
        if !silent.any(|silent| silent == keyword || silent == "all") {
            self.call.complain(text);
        }
    }

    pub(super) fn shown(&self, name: &[u8]) -> String {
        shown(name, self.call.is_utf8())
    }

    /// Writes a line of the listing.
    pub(super) fn print(&mut self, line: &str) -> Result<(), Failure> {
        let used = if self.to_stderr {
            self.call.err.len()
        } else {
            self.call.out.len()
        };
        if used + line.len() > OUTPUT {
            return Err(fatal("the output is larger than 16 MiB"));
        }
        let line = format!("{line}\n");
        if self.to_stderr {
            self.call.warn(line);
        } else {
            self.call.print(line);
        }
        Ok(())
    }

    /// A name that does not lead out of the folder.
    pub(super) fn safe(&mut self, name: &[u8], of: Of) -> Vec<u8> {
        let is_link = of == Of::HardLink;
        let mut rest = name;
        if !self.settings.has("absolute-names") {
            let (prefix, safe) = name.split_at(unsafe_length(name));
            rest = safe;
            if !prefix.is_empty() {
                let what = if is_link {
                    "hard link targets"
                } else {
                    "member names"
                };
                let text = format!("Removing leading `{}' from {what}", self.shown(prefix));
                if self.prefixes.insert(text.clone()) {
                    self.call.complain(text);
                }
            }
        }
        if !rest.is_empty() {
            return rest.to_vec();
        }
        if name.is_empty() {
            let what = if is_link {
                "hard link target"
            } else {
                "member name"
            };
            self.call
                .complain(format_args!("Substituting `.' for empty {what}"));
        }
        b".".to_vec()
    }

    /// The name of a member, or of what a link leads to, under which it is read: transformed, safe, stripped.
    pub(super) fn target_name(&mut self, name: &[u8], of: Of) -> Result<Vec<u8>, Failure> {
        let name = if of == Of::Member {
            trimmed(name)
        } else {
            name
        };
        let name = transformed(&self.settings.transformations, name, of).map_err(fatal)?;
        if of == Of::SymbolicLink {
            return Ok(name);
        }
        let name = self.safe(&name, of);
        Ok(stripped(&name, self.settings.strip).to_vec())
    }

    /// Whether `--exclude` leaves a name out.
    pub(super) fn is_excluded(&self, name: &str) -> bool {
        let mut patterns = self.settings.excluded.iter();
        patterns.any(|pattern| pattern.matches(name))
    }

    /// The index of the name that means a member; the first of all if none was given.
    pub(super) fn matching_name(&mut self, name: &str) -> Option<Option<usize>> {
        if !self.settings.has_names {
            return Some(None);
        }
        let index = self
            .names
            .iter()
            .position(|one| one.pattern.matches(name))?;
        let one = self.names.get_mut(index)?;
        one.count += 1;
        let is_meant = self
            .settings
            .occurrence
            .is_none_or(|occurrence| occurrence == one.count);
        is_meant.then_some(Some(index))
    }

    /// Whether no other member can be meant.
    pub(super) fn is_done(&self) -> bool {
        self.settings.occurrence.is_some_and(|occurrence| {
            self.settings.has_names && self.names.iter().all(|name| name.count >= occurrence)
        })
    }

    /// Reports the names that no member has.
    pub(super) fn report_missing(&mut self) {
        let least = self.settings.occurrence.unwrap_or(1);
        let missing = self.names.iter().filter(|name| name.count < least);
        let missing: Vec<(String, bool, u64)> = missing
            .map(|name| {
                let is_literal = !name.pattern.matching.has_wildcards;
                (name.pattern.text.clone(), is_literal, name.count)
            })
            .collect();
        let is_told = ["wildcards", "no-wildcards"]
            .iter()
            .any(|name| self.settings.has(name));
        let mut is_explained = is_told;
        for (name, is_literal, count) in missing {
            if is_literal && name.contains(['*', '?', '[', '\\']) && !is_explained {
                is_explained = true;
                self.call
                    .complain("Pattern matching characters used in file names");
                self.call.complain(
                    "Use --wildcards to enable pattern matching, or --no-wildcards to suppress this warning",
                );
            }
            let what = if count == 0 {
                "Not found in archive"
            } else {
                "Required occurrence not found in archive"
            };
            let name = self.shown(name.as_bytes());
            self.error(format_args!("{name}: {what}"));
        }
    }

    /// Reads the members that are meant, and gives each to a function with the index of its name.
    pub(super) fn read_members<'a>(
        &mut self,
        reader: &mut Reader<'a>,
        mut each: impl FnMut(
            &mut Self,
            &mut Reader<'a>,
            Box<Member>,
            Option<usize>,
        ) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut is_first, mut is_invalid) = (true, false);
        loop {
            match reader.next()? {
                Next::Member(member) => {
                    (is_first, is_invalid) = (false, false);
                    let name = String::from_utf8_lossy(trimmed(&member.name)).into_owned();
                    let is_old = self.settings.newer.is_some_and(|newer| {
                        (member.modified.seconds, member.modified.nanos)
                            < (newer.seconds, newer.nanos)
                    });
                    let Some(index) = self.matching_name(&name) else {
                        continue;
                    };
                    if is_old || self.is_excluded(&name) {
                        if member.kind == b'5' && self.settings.has("show-omitted-dirs") {
                            self.call.complain(format_args!("{name}: Omitting"));
                        }
                        continue;
                    }
                    each(self, reader, member, index)?;
                    if self.is_done() {
                        return Ok(());
                    }
                }
                Next::Invalid => {
                    if is_first {
                        self.error("This does not look like a tar archive");
                    }
                    if !is_invalid {
                        self.error("Skipping to next header");
                    }
                    (is_first, is_invalid) = (false, true);
                }
                Next::Zeros if self.settings.has("ignore-zeros") => {}
                Next::Zeros if self.settings.has("block-number") => {
                    let block = reader.block_at() / BLOCK as u64;
                    return self.print(&format!("block {block}: ** Block of NULs **"));
                }
                Next::Zeros => {
                    let block = reader.block_at() / BLOCK as u64;
                    if !matches!(reader.next()?, Next::Zeros) {
                        let text = format!("A lone zero block at {}", block + 1);
                        self.warn("alone-zero-block", text);
                    }
                    return Ok(());
                }
                Next::End => return Ok(()),
            }
        }
    }

    /// Reports how much was read or written.
    pub(super) fn report_total(&mut self, verb: &str, bytes: u64, since: std::time::Instant) {
        if !self.settings.has("totals") {
            return;
        }
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let rate = bytes.saturating_mul(1_000_000) / micros.max(1);
        let (total, rate) = (human(bytes), human(rate));
        self.call
            .warn(format!("Total bytes {verb}: {bytes} ({total}, {rate}/s)\n").as_bytes());
    }
}

/// A number of bytes as `--totals` has it: `10KiB`.
fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let mut size = bytes as f64;
    let mut units = units.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0 {
        let Some(next) = units.next() else { break };
        size /= 1024.0;
        unit = next;
    }
    if size < 9.95 && unit != "B" && size.fract() > 0.0 {
        format!("{:.1}{unit}", (size * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0}{unit}", size.ceil())
    }
}
