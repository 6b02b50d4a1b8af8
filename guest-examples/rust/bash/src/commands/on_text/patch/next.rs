//! Finds the patch of the next file.

use super::header::{self, Header, Rules};
use super::kind::Kind;
use super::reader::Reader;
use super::run::{Reversal, Run, Speech, plural};
use crate::commands::call::Failure;

impl Run<'_, '_> {
    /// Finds the next patch, and says how it is read.
    pub(super) fn next(
        &mut self,
        reader: &mut Reader,
        rules: &Rules,
    ) -> Result<Option<Header>, Failure> {
        let base = reader.at;
        if reader.is_at_end() && !reader.is_empty() && base > 0 {
            self.say_if_verbose("done\n");
            return Ok(None);
        }
        self.say_if_verbose("Hmm...");
        let header = header::read(reader, rules);
        self.say_torn(reader);
        let Some(header) = header else {
            self.say_if_verbose(if base > 0 {
                "  Ignoring the trailing garbage.\ndone\n"
            } else {
                "  I can't seem to find a patch in there anywhere.\n"
            });
            if base == 0 && !reader.is_empty() {
                let text = "**** Only garbage was found in the patch input.";
                return Err(Failure::new(2, text));
            }
            return Ok(None);
        };
        let (kind, start) = (header.kind, header.start);
        self.say_if_verbose(format!(
            "  {}ooks like {} to me...\n",
            if base == 0 { "L" } else { "The next patch l" },
            kind.name()
        ));
        if header.wrapping.indent > 0 {
            let (indent, plural) = (header.wrapping.indent, plural(header.wrapping.indent));
            self.say_usually(format!("(Patch is indented {indent} space{plural}.)\n"));
        }
        let mut header = header;
        if self.line.has("binary") {
            header.wrapping.strips_return = false;
        }
        if header.wrapping.strips_return {
            self.say_usually("(Stripping trailing CRs from patch; use --binary to disable.)\n");
        }
        let choice = self.choose(&header);
        let has_name = choice.is_some();
        self.outputs.chosen = choice;
        if self.is_skipped {
            // The choice of the name has ended it; the hunks are read and counted.
            reader.at = start;
            return Ok(Some(header));
        }
        if !has_name {
            let number = start + 1;
            self.say_usually(format!("can't find file to patch at input line {number}\n"));
            if !matches!(kind, Kind::Ed | Kind::Normal) {
                self.say_usually(if self.strip.is_none() {
                    "Perhaps you should have used the -p or --strip option?\n"
                } else {
                    "Perhaps you used the wrong -p or --strip option?\n"
                });
            }
        }
        if (self.speech == Speech::Verbose || !has_name) && base < start {
            self.say("The text leading up to this was:\n--------------------------\n");
            reader.at = base;
            while reader.at < start
                && let Some(line) = reader.line()
            {
                let text = String::from_utf8_lossy(&line).into_owned();
                self.say(format!("|{text}"));
            }
            self.say("--------------------------\n");
        }
        reader.at = start;
        if !has_name {
            self.is_skipped = true;
            if matches!(self.reversal, Reversal::Applies | Reversal::Reverses) {
                self.say("No file to patch.  Skipping patch.\n");
            } else {
                self.ask("File to patch: ");
                self.ask("Skip this patch? [y] ");
                self.say_usually("Skipping patch.\n");
            }
        }
        Ok(Some(header))
    }
}
