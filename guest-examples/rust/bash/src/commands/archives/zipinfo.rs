//! `zipinfo`, which is `unzip -Z`: what an archive has.

use super::zip::archive::Entry;
use super::zip::source::{NO_MATCH, Report, entries, read};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Civil, Zone};
use crate::commands::on_files::modes;
use crate::commands::on_text::glob::{self, Slash};
use crate::commands::options::{Spec, flag, value};

const SPEC: Spec = Spec::new(&[
    flag('1', ""),
    flag('2', ""),
    flag('s', ""),
    flag('m', ""),
    flag('l', ""),
    flag('h', ""),
    flag('t', ""),
    flag('T', ""),
    flag('C', ""),
    value('x', ""),
]);

pub(super) const ZIPINFO: Command = Command::new("zipinfo", SPEC.shown_only(), |call, line| {
    zipinfo(call, &line.operands)
});

/// Which column follows the kind of a content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    None,
    Percent,
    Packed,
}

/// Lists the entries of an archive.
pub(super) fn zipinfo(call: &mut Call, args: &[String]) -> Result<i32, Failure> {
    call.name = "zipinfo";
    let line = SPEC.read(args)?;
    let [path, names @ ..] = &*line.operands else {
        return Err(Failure::new(
            10,
            "no archive is named; use: zipinfo [options] file[.zip] [names] [-x names]",
        ));
    };
    let Some((path, bytes)) = read(call, path) else {
        return Ok(9);
    };
    let report = if line.has("1") || line.has("2") {
        Report::Quiet
    } else {
        Report::Stdout
    };
    let Some(mut entries) = entries(call, &path, &bytes, report) else {
        return Ok(9);
    };
    let folds = line.has("C");
    let is = |pattern: &str, name: &str| {
        if folds {
            glob::matches(&pattern.to_lowercase(), &name.to_lowercase(), Slash::IsAny)
        } else {
            glob::matches(pattern, name, Slash::IsAny)
        }
    };
    let count = entries.len();
    let mut exit_code = 0;
    for name in names {
        if !entries.iter().any(|entry| is(name, &entry.name)) {
            let text = format!("caution: filename not matched:  {name}\n");
            call.warn(text.as_bytes());
            exit_code = NO_MATCH;
        }
    }
    entries.retain(|entry| {
        (names.is_empty() || names.iter().any(|name| is(name, &entry.name)))
            && !line.values("x").any(|name| is(name, &entry.name))
    });
    let column = match line.last_of(&["1", "2", "s", "m", "l"]) {
        Some("1" | "2") => {
            for entry in &entries {
                call.print(format!("{}\n", entry.name));
            }
            return Ok(exit_code);
        }
        Some("m") => Column::Percent,
        Some("l") => Column::Packed,
        _ => Column::None,
    };
    // By default the lines of a whole archive are between its head and its totals.
    let (has_head, has_totals) = (line.has("h"), line.has("t"));
    let is_chosen = ["s", "m", "l"].iter().any(|option| line.has(option));
    let is_whole = names.is_empty() && !has_head && !has_totals;
    if has_head || is_whole {
        call.print(format!("Archive:  {path}\n"));
        call.print(format!(
            "Zip file size: {} bytes, number of entries: {count}\n",
            bytes.len()
        ));
    }
    let zone = Zone::of(call.env.get("TZ").map(String::as_str));
    if is_chosen || !(has_head || has_totals) {
        for entry in &entries {
            let civil = entry
                .modified
                .map_or_else(|| entry.civil(), |time| zone.civil(time));
            call.print(described(entry, column, line.has("T"), &civil));
        }
    }
    if has_totals || is_whole {
        let size: u64 = entries.iter().map(Entry::size).sum();
        let packed: u64 = entries.iter().map(|entry| entry.packed_size() as u64).sum();
        let count = entries.len();
        let files = if count == 1 { "file" } else { "files" };
        let saved = permille(size, packed);
        call.print(format!(
            "{count} {files}, {size} bytes uncompressed, {packed} bytes compressed:  {}.{}%\n",
            saved / 10,
            saved % 10
        ));
    }
    Ok(exit_code)
}

/// How much smaller the packed content is.
fn permille(size: u64, packed: u64) -> u64 {
    let saved = size.saturating_sub(packed).saturating_mul(1000);
    saved
        .saturating_add(size / 2)
        .checked_div(size)
        .unwrap_or(0)
}

fn described(entry: &Entry, column: Column, is_sortable: bool, civil: &Civil) -> String {
    let kind = if entry.is_folder() {
        'd'
    } else if entry.is_link() {
        'l'
    } else if entry.mode & 0o170_000 == 0o010_000 {
        'p'
    } else {
        '-'
    };
    let content = if entry.is_text { 't' } else { 'b' };
    let extra = if entry.has_extra { 'x' } else { '-' };
    let (size, packed) = (entry.size(), entry.packed_size() as u64);
    let middle = match column {
        Column::None => String::new(),
        Column::Percent => format!("{:>2}% ", (permille(size, packed) + 5) / 10),
        Column::Packed => format!("{packed:>8} "),
    };
    let method = if entry.is_deflated() { "defN" } else { "stor" };
    let time = if is_sortable {
        format!(
            "{:04}{:02}{:02}.{:02}{:02}{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        )
    } else {
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let month = usize::try_from(civil.month - 1).ok();
        let month = month.and_then(|month| MONTHS.get(month)).unwrap_or(&"???");
        format!(
            "{:02}-{month}-{:02} {:02}:{:02}",
            civil.year % 100,
            civil.day,
            civil.hour,
            civil.minute
        )
    };
    format!(
        "{kind}{}  {}.{} unx {size:>8} {content}{extra} {middle}{method} {time} {}\n",
        modes::letters(entry.mode & 0o7777),
        entry.version / 10,
        entry.version % 10,
        entry.name
    )
}
