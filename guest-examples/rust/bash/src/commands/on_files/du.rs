//! `du`.

use super::names::{base, joined, quoted};
use super::sizes::Unit;
use super::stat::Record;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::on_text::glob::{Slash, matches};
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const DU: Command = Command::new(
    "du",
    Spec::new(&[
        flag('0', "null"),
        flag('a', "all"),
        flag('\0', "apparent-size"),
        value('B', "block-size"),
        flag('b', "bytes"),
        flag('c', "total"),
        flag('D', "dereference-args"),
        flag('H', ""),
        value('d', "max-depth"),
        value('\0', "exclude"),
        flag('h', "human-readable"),
        flag('\0', "inodes"),
        flag('k', ""),
        flag('L', "dereference"),
        flag('l', "count-links"),
        flag('m', ""),
        flag('P', "no-dereference"),
        flag('S', "separate-dirs"),
        flag('\0', "si"),
        flag('s', "summarize"),
        value('t', "threshold"),
        flag('x', "one-file-system"),
    ]),
    du,
);

struct Usage {
    unit: Unit,
    is_apparent: bool,
    counts_files: bool,
    shows_files: bool,
    depth: usize,
    excluded: Vec<String>,
    links: Links,
    is_separate: bool,
    /// Only entries of at least so many bytes, or of at most so many if negative.
    threshold: Option<i64>,
    end: &'static str,
}

fn du(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut unit = Unit::Bytes(1024);
    for (name, value) in line.given() {
        unit = match (name.as_str(), value) {
            ("bytes", _) => Unit::Bytes(1),
            ("human-readable", _) => Unit::Human,
            ("si", _) => Unit::Si,
            ("k", _) => Unit::Bytes(1 << 10),
            ("m", _) => Unit::Bytes(1 << 20),
            ("block-size", Some(text)) => Unit::parse(text)
                .ok_or_else(|| Failure::new(1, format!("invalid -B argument {}", quoted(text))))?,
            _ => unit,
        };
    }
    let is_summary = line.has("summarize");
    if is_summary && line.has("all") {
        return Err(call.misuse("cannot both summarize and show all entries"));
    }
    let depth = match line.value("max-depth") {
        Some(text) => {
            let invalid =
                || call.misuse(format_args!("invalid maximum depth {}", call.quoted(text)));
            let depth = text.parse().map_err(|_| invalid())?;
            if is_summary && depth > 0 {
                return Err(call.misuse(format_args!(
                    "warning: summarizing conflicts with --max-depth={depth}"
                )));
            }
            depth
        }
        None if is_summary => 0,
        None => usize::MAX,
    };
    let threshold = match line.value("threshold") {
        Some(text) => {
            let (sign, number) = text
                .strip_prefix('-')
                .map_or((1, text), |number| (-1, number));
            let invalid =
                || Failure::new(1, format!("invalid --threshold argument {}", quoted(text)));
            let end = number
                .find(|char: char| !char.is_ascii_digit())
                .unwrap_or(number.len());
            let (digits, unit) = number.split_at(end);
            let digits: i64 = digits.parse().map_err(|_| invalid())?;
            let (unit, _) = super::sizes::unit_of(unit).ok_or_else(invalid)?;
            Some(sign * digits * i64::try_from(unit).unwrap_or(i64::MAX))
        }
        None => None,
    };
    let usage = Usage {
        unit: if line.has("inodes") {
            Unit::Bytes(1)
        } else {
            unit
        },
        is_apparent: line.has("apparent-size") || line.has("bytes"),
        counts_files: line.has("inodes"),
        shows_files: line.has("all"),
        depth,
        excluded: line.values("exclude").map(str::to_owned).collect(),
        links: if line.last_of(&["dereference", "no-dereference"]) == Some("dereference") {
            Links::Follow
        } else {
            Links::Keep
        },
        is_separate: line.has("separate-dirs"),
        threshold,
        end: if line.has("null") { "\0" } else { "\n" },
    };
    let here = [".".to_owned()];
    let operands = if line.operands.is_empty() {
        &here[..]
    } else {
        &line.operands
    };
    let mut counted = Vec::new();
    let (mut total, mut all) = (0, true);
    for operand in operands {
        let follows = usage.links == Links::Follow || line.has("dereference-args") || line.has("H");
        let links = if follows { Links::Follow } else { Links::Keep };
        // What was counted for an operand is not counted again.
        let path = call.path(operand);
        let path = call.files.canonical_new(&path).unwrap_or(path);
        if !line.has("count-links")
            && counted.iter().any(|before| path.starts_with(before))
            && !operand.ends_with('/')
        {
            continue;
        }
        match usage.entry(call, operand, 0, links, &mut all) {
            Some(bytes) => total += bytes,
            None => all = false,
        }
        counted.push(path);
    }
    if line.has("total") {
        call.print(format!("{}\ttotal{}", usage.unit.show(total), usage.end));
    }
    Ok(i32::from(!all))
}

impl Usage {
    /// Counts an entry with all that it holds; `None` if it cannot be read.
    fn entry(
        &self,
        call: &mut Call,
        operand: &str,
        depth: usize,
        links: Links,
        all: &mut bool,
    ) -> Option<u64> {
        let record = match Record::read(call, operand, links) {
            Ok(record) => record,
            Err(error) => {
                fail(
                    call,
                    format_args!("cannot access {}", quoted(operand)),
                    &error,
                );
                return None;
            }
        };
        let own = if self.counts_files {
            1
        } else if self.is_apparent {
            record.size()
        } else {
            record.allocated()
        };
        if !record.kind().is_dir() {
            if depth == 0 || (self.shows_files && depth <= self.depth) {
                self.show(call, own, operand);
            }
            return Some(own);
        }
        let (mut sum, mut direct) = (own, own);
        match call.files.names(&record.path) {
            Ok(names) => {
                for (name, kind) in names {
                    let operand = joined(operand, &name);
                    if self.is_excluded(&operand) {
                        continue;
                    }
                    match self.entry(call, &operand, depth + 1, self.links, all) {
                        Some(bytes) => {
                            sum += bytes;
                            direct += if kind.is_dir() { 0 } else { bytes };
                        }
                        None => *all = false,
                    }
                }
            }
            Err(error) => {
                *all = fail(
                    call,
                    format_args!("cannot read directory {}", quoted(operand)),
                    &error,
                )
            }
        }
        if depth <= self.depth {
            self.show(call, if self.is_separate { direct } else { sum }, operand);
        }
        Some(sum)
    }

    fn is_excluded(&self, operand: &str) -> bool {
        let mut patterns = self.excluded.iter();
        patterns.any(|pattern| {
            matches(pattern, base(operand), Slash::IsAny) || matches(pattern, operand, Slash::IsAny)
        })
    }

    fn show(&self, call: &mut Call, bytes: u64, operand: &str) {
        let signed = i64::try_from(bytes).unwrap_or(i64::MAX);
        let is_shown = match self.threshold {
            Some(least) if least >= 0 => signed >= least,
            Some(most) => signed <= -most,
            None => true,
        };
        if is_shown {
            call.print(format!("{}\t{operand}{}", self.unit.show(bytes), self.end));
        }
    }
}
