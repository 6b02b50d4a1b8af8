//! Counts of instructions, and how they compare with the committed ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};

/// The instructions of each case.
pub(super) type Counts = BTreeMap<String, u64>;

/// How much more than the committed count a case may take, in percent, and how much less before a new count
/// is suggested. Wide: the standard library's code depends on the processor, and the compiler's on its
/// version.
pub(super) const TOLERANCE: u64 = 25;

/// Returns the file of these counts: a line for each case, its count and its name.
pub(super) fn to_text(counts: &Counts, command: &str) -> String {
    let mut text = format!(
        "# Instructions of one run of each case, in the dev profile, compiled tools included.\n\
         # Written by `{command} --write`. `{command}` fails where a case takes over {TOLERANCE} % more.\n"
    );
    for (case, count) in counts {
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "{count} {case}");
    }
    text
}

/// Parses what [`to_text`] writes.
pub(super) fn parse(text: &str) -> Result<Counts> {
    let line = |line: &str| {
        let (count, case) = line.split_once(' ')?;
        Some((case.to_owned(), count.parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts = lines.map(|it| line(it).with_context(|| format!("no count and case: `{it}`")));
    counts.collect()
}

/// How the counts differ from the committed ones.
#[derive(Debug, PartialEq)]
pub(super) struct Comparison {
    /// A line for each case.
    pub(super) table: Vec<String>,
    /// Cases that take too much, or of which only one count is known.
    pub(super) findings: Vec<String>,
    /// Cases that take much less.
    pub(super) improvements: Vec<String>,
}

/// Compares counts with the committed ones.
pub(super) fn compare(committed: &Counts, counts: &Counts) -> Comparison {
    let mut comparison = Comparison {
        table: vec![row("counted", "committed", "change", "case")],
        findings: Vec::new(),
        improvements: Vec::new(),
    };
    for (case, &count) in counts {
        let Some(&before) = committed.get(case) else {
            let line = row(&count.to_string(), "–", "–", case);
            comparison.table.push(line);
            let finding = format!("{case}: {count} instructions, no count is committed");
            comparison.findings.push(finding);
            continue;
        };
        comparison.compare_case(case, before, count);
    }
    for (case, before) in committed.iter().filter(|it| !counts.contains_key(it.0)) {
        let finding = format!("{case}: {before} instructions are committed, but it is not counted");
        comparison.findings.push(finding);
    }
    comparison
}

impl Comparison {
    fn compare_case(&mut self, case: &str, before: u64, count: u64) {
        let (sign, difference) = if count < before {
            ('-', before - count)
        } else {
            ('+', count - before)
        };
        let percent = difference.saturating_mul(100) / before.max(1);
        let change = match percent {
            0 => "0 %".to_owned(),
            _ => format!("{sign}{percent} %"),
        };
        let line = row(&count.to_string(), &before.to_string(), &change, case);
        self.table.push(line);
        let finding = format!("{case}: {count} instructions, {before} are committed: {change}");
        match (percent > TOLERANCE, sign) {
            (false, _) => {}
            (true, '-') => self.improvements.push(finding),
            (true, _) => {
                let finding = format!("{finding}, at most +{TOLERANCE} % is allowed");
                self.findings.push(finding);
            }
        }
    }
}

fn row(count: &str, committed: &str, change: &str, case: &str) -> String {
    format!("{count:>11} {committed:>11} {change:>7}  {case}")
}

#[cfg(test)]
mod tests {
    use super::{Counts, compare, parse, to_text};

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter()
            .map(|(case, count)| ((*case).to_owned(), *count))
            .collect()
    }

    #[test]
    fn a_count_may_grow_by_a_quarter() {
        let committed = counts(&[("execute", 1_000)]);
        let findings = |count| compare(&committed, &counts(&[("execute", count)])).findings;
        assert_eq!(findings(1_250), [""; 0]);
        assert_eq!(findings(1), [""; 0]);
        assert_eq!(
            findings(1_300),
            ["execute: 1300 instructions, 1000 are committed: +30 %, at most +25 % is allowed"]
        );
    }

    #[test]
    fn a_much_lower_count_is_an_improvement() {
        let compared = compare(&counts(&[("execute", 1_000)]), &counts(&[("execute", 500)]));
        assert_eq!(
            compared.improvements,
            ["execute: 500 instructions, 1000 are committed: -50 %"]
        );
        let line = "        500        1000   -50 %  execute";
        assert_eq!(compared.table.get(1).map(String::as_str), Some(line));
    }

    #[test]
    fn a_case_with_only_one_count_is_a_finding() {
        let compared = compare(&counts(&[("gone", 1)]), &counts(&[("new", 2)]));
        assert_eq!(
            compared.findings,
            [
                "new: 2 instructions, no count is committed",
                "gone: 1 instructions are committed, but it is not counted"
            ]
        );
    }

    #[test]
    fn committed_counts_are_read_as_they_are_written() {
        let written = counts(&[("execute, reading a file", 12_345), ("open a step", 6)]);
        let text = to_text(&written, "cargo xtask instructions");
        assert!(
            text.contains("fails where a case takes over 25 % more"),
            "{text}"
        );
        assert_eq!(parse(&text).unwrap(), written);
        let error = parse("many execute\n").unwrap_err().to_string();
        assert_eq!(error, "no count and case: `many execute`");
    }
}
