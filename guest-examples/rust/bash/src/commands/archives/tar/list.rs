//! `tar -t`, and the lines of `-v`.

use std::time::Instant;

use super::member::{Format, Member};
use super::names::Of;
use super::run::Run;
use crate::commands::call::Failure;
use crate::commands::dates;
use crate::commands::on_files::modes;

/// How wide a time is at least.
const TIME: usize = 16;

/// Lists the members.
pub(super) fn list(run: &mut Run) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut reader = run.open()?;
    run.read_members(&mut reader, |run, reader, member, _| {
        let mut name = run.target_name(&member.name, Of::Member)?;
        let settings = run.settings;
        if !settings.is_on("show-transformed-names", "show-stored-names") {
            name.clone_from(&member.name);
        } else if member.kind == b'5' {
            name.push(b'/');
        }
        let block = reader.block_at() / super::header::BLOCK as u64;
        run.print_member(&member, &name, run.settings.verbosity + 1, Some(block))
    })?;
    run.report_missing();
    let read = reader.position().next_multiple_of(run.settings.record);
    run.report_total("read", read, begin);
    Ok(())
}

impl Run<'_, '_> {
    /// Prints what `-v` says of a member, if it was given.
    pub(super) fn print_member(
        &mut self,
        member: &Member,
        name: &[u8],
        verbosity: usize,
        block: Option<u64>,
    ) -> Result<(), Failure> {
        if verbosity == 0 {
            return Ok(());
        }
        let mut line = String::new();
        if let Some(block) = block.filter(|_| self.settings.has("block-number")) {
            line = format!("block {block}: ");
        }
        let name = self.shown(name);
        if verbosity == 1 {
            return self.print(&(line + &name));
        }
        let (kind, after) = match member.kind {
            b'1' => ('h', format!(" link to {}", self.shown(&member.link))),
            b'2' => ('l', format!(" -> {}", self.shown(&member.link))),
            b'3' => ('c', String::new()),
            b'4' => ('b', String::new()),
            b'5' | b'D' => ('d', String::new()),
            b'6' => ('p', String::new()),
            b'V' => ('V', "--Volume Header--".to_owned()),
            b'M' => ('M', "--Continued--".to_owned()),
            b'0' | b'S' => ('-', String::new()),
            kind => {
                let kind = self.call.quoted(&char::from(kind).to_string());
                ('?', format!(" unknown file type {kind}"))
            }
        };
        let is_named = member.format != Format::V7 && !self.settings.has("numeric-owner");
        let named = |name: &[u8], id: i64| {
            if is_named && !name.is_empty() {
                String::from_utf8_lossy(name).into_owned()
            } else {
                id.to_string()
            }
        };
        let user = named(&member.user, member.user_id);
        let group = named(&member.group, member.group_id);
        let size = match (member.kind, member.device) {
            (b'3' | b'4', (major, minor)) => format!("{major},{minor}"),
            _ => member.size.to_string(),
        };
        let used = user.len() + 1 + group.len() + 1 + size.len();
        self.width = self.width.max(used);
        let width = self.width - used + size.len();
        let time = self.time(member);
        line += &format!(
            "{kind}{} {user}/{group} {size:>width$} {time:<TIME$} {name}{after}",
            modes::letters(member.mode)
        );
        self.print(&line)
    }

    fn time(&self, member: &Member) -> String {
        let format = match (self.settings.has("full-time"), member.has_nanos()) {
            (false, _) => "%Y-%m-%d %H:%M",
            (true, false) => "%Y-%m-%d %H:%M:%S",
            (true, true) => "%Y-%m-%d %H:%M:%S.%N",
        };
        dates::format(format, member.modified, &self.settings.zone)
    }
}
