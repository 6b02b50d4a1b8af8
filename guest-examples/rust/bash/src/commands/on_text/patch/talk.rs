//! What a run says, and what it does where a person would answer.

use super::header::Header;
use super::reader::Reader;
use super::run::{Reversal, Run, Speech};

use crate::commands::on_files::quoted_if_needed;

impl Run<'_, '_> {
    pub(super) fn say(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref().as_bytes();
        // The file itself is on standard output.
        if self.output.as_deref() == Some("-") {
            self.call.warn(text);
        } else {
            self.call.out.extend_from_slice(text);
        }
    }

    pub(super) fn say_usually(&mut self, text: impl AsRef<str>) {
        if self.speech != Speech::Silent {
            self.say(text);
        }
    }

    pub(super) fn say_if_verbose(&mut self, text: impl AsRef<str>) {
        if self.speech == Speech::Verbose {
            self.say(text);
        }
    }

    pub(super) fn say_torn(&mut self, reader: &mut Reader) {
        if std::mem::take(&mut reader.is_torn) {
            self.say("patch unexpectedly ends in middle of line\n");
        }
    }

    /// Asks where nobody answers: what the empty answer means is done.
    pub(super) fn ask(&mut self, question: &str) {
        self.say(question);
        self.say("\n");
    }

    /// Decides what happens to a patch that looks applied, and returns whether it is reversed.
    pub(super) fn reverses(&mut self, text: &str) -> bool {
        if self.reversal == Reversal::Skips
            || !(self.reversal == Reversal::Applies && self.speech == Speech::Silent)
        {
            self.say(text);
        }
        match self.reversal {
            Reversal::Skips => {
                self.say("  Skipping patch.\n");
                self.is_skipped = true;
                false
            }
            Reversal::Applies => {
                self.say_usually("  Applying it anyway.\n");
                false
            }
            Reversal::Reverses => {
                let text = if self.is_reversed {
                    "  Ignoring -R.\n"
                } else {
                    "  Assuming -R.\n"
                };
                self.say(text);
                true
            }
            Reversal::Asks => {
                let question = if self.is_reversed {
                    "  Ignore -R? [n] "
                } else {
                    "  Assume -R? [n] "
                };
                self.ask(question);
                self.ask("Apply anyway? [n] ");
                self.say_usually("Skipping patch.\n");
                self.is_skipped = true;
                false
            }
        }
    }

    pub(super) fn announce(&mut self, header: &Header, input: &str, name: &str) {
        let verb = if self.is_dry { "checking" } else { "patching" };
        let shown = quoted_if_needed(name);
        let mut text = format!("{verb} file {shown}");
        let moved = match (header.copies(), header.renames()) {
            (true, _) => Some("copied"),
            (_, true) => Some("renamed"),
            _ => None,
        };
        if input != name {
            let how = moved.unwrap_or("read");
            text.push_str(&format!(" ({how} from {})", quoted_if_needed(input)));
        } else if let (Some(how), None) = (moved, &self.output) {
            let from = header.names.get(usize::from(self.is_reversed));
            let from = from.and_then(Option::as_deref).unwrap_or(input);
            text.push_str(&format!(" (already {how} from {})", quoted_if_needed(from)));
        }
        self.say_usually(text + "\n");
        self.say_if_verbose("Using Plan A...\n");
    }
}
