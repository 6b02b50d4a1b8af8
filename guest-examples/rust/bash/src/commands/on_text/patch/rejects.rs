//! Hunks that fit nowhere, and the file that keeps them.

use super::header::{Header, INDEX, NEW, OLD};
use super::kind::Kind;
use super::outputs::Output;
use super::run::Run;
use crate::commands::call::Failure;
use crate::commands::on_files::quoted_if_needed;
use crate::commands::on_text::diff::hunk::{Halves, Hunk};
use crate::commands::on_text::diff::pen::Pen;

impl Run<'_, '_> {
    /// Adds a hunk to the rejects, with names before the first one.
    pub(super) fn reject(
        &self,
        rejects: &mut Vec<u8>,
        header: &Header,
        hunk: &Hunk,
        is_first: bool,
        added: i64,
    ) {
        let is_unified = match self.line.value("reject-format") {
            Some("unified") => true,
            Some(_) => false,
            None => header.kind == Kind::Unified,
        };
        if is_first {
            if let Some(name) = header.names.get(INDEX).and_then(Option::as_ref) {
                rejects.extend_from_slice(format!("Index: {name}\n").as_bytes());
            }
            let signs = if is_unified {
                ["---", "+++"]
            } else {
                ["***", "---"]
            };
            let sides = if self.is_reversed {
                [NEW, OLD]
            } else {
                [OLD, NEW]
            };
            for (sign, side) in signs.into_iter().zip(sides) {
                let name = header.names.get(side).and_then(Option::as_deref);
                let stamp = header.sides.get(side).map_or("", |side| &side.stamp);
                let name = name.unwrap_or("/dev/null");
                rejects.extend_from_slice(format!("{sign} {name}{stamp}\n").as_bytes());
            }
        }
        let moved =
            |before: usize| before.saturating_add_signed(isize::try_from(added).unwrap_or(0));
        let mut hunk = hunk.clone();
        (hunk.old, hunk.new) = (moved(hunk.old), moved(hunk.new));
        if is_unified {
            hunk.print_unified(rejects, &Pen::PLAIN);
        } else {
            let halves = Halves {
                ends: match header.kind {
                    Kind::Unified | Kind::NewContext => [" ****", " ----"],
                    _ => ["", " -----"],
                },
                has_unchanged: true,
                marks_both: header.kind != Kind::Normal,
            };
            hunk.print_context(rejects, &Pen::PLAIN, &halves);
        }
    }

    pub(super) fn save_rejects(
        &mut self,
        name: Option<&str>,
        rejects: Vec<u8>,
    ) -> Result<(), Failure> {
        let option = self.line.value("reject-file").map(str::to_owned);
        let (Some(name), false) = (name, option.as_deref() == Some("-")) else {
            self.say("\n");
            return Ok(());
        };
        if self.is_dry {
            self.say("\n");
            return Ok(());
        }
        let file = option.clone().unwrap_or_else(|| format!("{name}.rej"));
        self.say(format!(
            " -- saving rejects to file {}\n",
            quoted_if_needed(&file)
        ));
        if option.is_some() {
            self.rejects.extend(rejects);
            return Ok(());
        }
        self.outputs.add(
            self.call,
            self.folder.as_deref(),
            Output {
                from: None,
                to: file,
                content: Some(rejects),
                mode: None,
                has_backup: false,
            },
            false,
        )
    }
}
