//! Counts the instructions of the steps of a call with valgrind, and compares them with the committed counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

/// The committed counts, beneath the workspace: a line for each case, its count and its name.
const COMMITTED: &str = "benches/instructions.txt";

/// The function before whose calls valgrind begins a new count.
const MARK: &str = "--dump-before=*toolhost_instructions_mark*";

/// Most instructions of a case, in percent of the committed count. Wide: the standard library's code
/// depends on the processor, and the compiler's on its version.
const MOST_PERCENT: u64 = 125;

/// Fewest instructions of a case, in percent of the committed count, before a new count is suggested.
const FEWEST_PERCENT: u64 = 75;

const WRITE: &str = "cargo xtask instructions --write";

/// The instructions of each case.
type Counts = BTreeMap<String, u64>;

/// Compares the counts with the committed ones, or commits them.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let Some(counts) = count(workspace)? else {
        return Ok(());
    };
    let file = workspace.root().join(COMMITTED);
    if words.iter().any(|word| word == "--write") {
        fs::write(&file, text(&counts)).with_context(|| format!("cannot write {COMMITTED}"))?;
        println!("instructions: wrote {COMMITTED}");
        return Ok(());
    }
    let committed =
        fs::read_to_string(&file).with_context(|| format!("no {COMMITTED}: {WRITE}"))?;
    let committed = parse(&committed)?;
    for (case, count) in &counts {
        println!("instructions: {count:>11}  {case}");
    }
    let (findings, hints) = compare(&committed, &counts);
    hints
        .iter()
        .for_each(|hint| println!("instructions: {hint}"));
    if findings.is_empty() {
        return Ok(());
    }
    bail!(
        "instructions:\n  {}\nIf that is intended, run `{WRITE}` and commit {COMMITTED}.",
        findings.join("\n  ")
    )
}

/// Counts the instructions of each case. None if valgrind is not installed.
fn count(workspace: &Workspace) -> Result<Option<Counts>> {
    if !child::works(Command::new("valgrind").arg("--version")) {
        println!("instructions: not measured: valgrind is not installed");
        return Ok(None);
    }
    let program = workspace.built("toolhost-bench", "instructions")?;
    let dir = workspace.target().join("instructions");
    if dir.is_dir() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    let dumps = dir.join("counts");
    let out_file = format!("--callgrind-out-file={}", dumps.display());
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=callgrind", "--dump-line=no", MARK])
        .arg(out_file)
        .arg(program);
    let names = child::read(&mut valgrind)?;
    medians(&names, &dumps).map(Some)
}

/// Returns the median count of each case. Line `n` of `names` is the case that dump `n` counts.
fn medians(names: &str, dumps: &Path) -> Result<Counts> {
    let mut runs: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (name, number) in names.lines().zip(1..) {
        if name != "-" {
            let dump = dump_file(dumps, number);
            let text = fs::read_to_string(&dump)
                .with_context(|| format!("valgrind wrote no {}", dump.display()))?;
            let sum = summary(&text).with_context(|| format!("no count in {}", dump.display()))?;
            runs.entry(name).or_default().push(sum);
        }
    }
    let median = |(name, mut counts): (&str, Vec<u64>)| {
        counts.sort_unstable();
        let middle = counts.get(counts.len() / 2).copied().unwrap_or_default();
        (name.to_owned(), middle)
    };
    Ok(runs.into_iter().map(median).collect())
}

fn dump_file(dumps: &Path, number: u32) -> PathBuf {
    let mut name = dumps.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Returns the number of instructions that a dump of valgrind counts, of all threads.
fn summary(dump: &str) -> Option<u64> {
    let counts = dump
        .lines()
        .filter_map(|line| line.strip_prefix("summary: "));
    counts.map(|count| count.trim().parse::<u64>().ok()).sum()
}

fn text(counts: &Counts) -> String {
    let mut text = format!("# Instructions of a run of each case, in the dev profile: {WRITE}\n");
    for (case, count) in counts {
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "{count} {case}");
    }
    text
}

fn parse(text: &str) -> Result<Counts> {
    let line = |line: &str| {
        let (count, case) = line.split_once(' ')?;
        Some((case.to_owned(), count.parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts = lines.map(|it| line(it).with_context(|| format!("{COMMITTED}: `{it}`")));
    counts.collect()
}

/// Returns what is wrong, and what may be improved.
fn compare(committed: &Counts, counts: &Counts) -> (Vec<String>, Vec<String>) {
    let (mut findings, mut hints) = (Vec::new(), Vec::new());
    for (case, &count) in counts {
        let Some(&before) = committed.get(case) else {
            findings.push(format!("{case}: no count is committed"));
            continue;
        };
        let percent = count.saturating_mul(100) / before.max(1);
        let change = format!("{case}: {count} instructions, {before} are committed");
        if percent > MOST_PERCENT {
            let more = percent - 100;
            let allowed = MOST_PERCENT - 100;
            findings.push(format!(
                "{change}: {more} % more, at most {allowed} % are allowed"
            ));
        } else if percent < FEWEST_PERCENT {
            hints.push(format!("{change}: commit the lower count with `{WRITE}`"));
        }
    }
    for case in committed.keys().filter(|case| !counts.contains_key(*case)) {
        findings.push(format!("{case}: is committed, but not counted"));
    }
    (findings, hints)
}

#[cfg(test)]
mod tests {
    use super::{Counts, compare, parse, summary, text};

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter()
            .map(|(case, count)| ((*case).to_owned(), *count))
            .collect()
    }

    #[test]
    fn a_count_may_grow_by_a_quarter() {
        let committed = counts(&[("execute", 1_000), ("gone", 1)]);
        let findings = |count| compare(&committed, &counts(&[("execute", count), ("gone", 1)])).0;
        assert_eq!(findings(1_250), [""; 0]);
        assert_eq!(
            findings(1_300),
            ["execute: 1300 instructions, 1000 are committed: 30 % more, at most 25 % are allowed"]
        );
        let (findings, hints) = compare(&committed, &counts(&[("execute", 500), ("new", 1)]));
        assert_eq!(
            findings,
            [
                "new: no count is committed",
                "gone: is committed, but not counted"
            ]
        );
        assert_eq!(
            hints,
            [
                "execute: 500 instructions, 1000 are committed: commit the lower count with `cargo xtask instructions --write`"
            ]
        );
    }

    #[test]
    fn committed_counts_are_read_as_they_are_written() {
        let written = counts(&[("execute, reading a file", 12_345), ("open a step", 6)]);
        assert_eq!(parse(&text(&written)).unwrap(), written);
        let error = parse("many execute\n").unwrap_err().to_string();
        assert_eq!(error, "benches/instructions.txt: `many execute`");
    }

    #[test]
    fn a_dump_has_a_sum_for_each_of_its_threads() {
        assert_eq!(
            summary("events: Ir\nsummary: 12\n\nsummary: 30\n"),
            Some(42)
        );
        assert_eq!(summary("summary: many\n"), None);
    }
}
