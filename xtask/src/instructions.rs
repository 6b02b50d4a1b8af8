//! Counts the instructions of the steps of a call with valgrind, and compares them with the committed counts.

mod counts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{child, valgrind};
use counts::{Counts, compare, parse, to_text};

/// The committed counts, beneath the workspace.
const COMMITTED: &str = "benches/instructions.txt";

const COMMAND: &str = "cargo xtask instructions";

/// The function before whose calls valgrind begins a new count.
const MARK: &str = "--dump-before=*toolhost_instructions_mark*";

/// Compares the counts with the committed ones, or writes them.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let Some(counts) = count(workspace)? else {
        return Ok(());
    };
    let file = workspace.root().join(COMMITTED);
    let committed = fs::read_to_string(&file);
    let write = words.iter().any(|word| word == "--write");
    let committed = match committed {
        Err(_) if write => Counts::new(),
        committed => {
            let text = committed
                .with_context(|| format!("{COMMITTED} cannot be read: `{COMMAND} --write`"))?;
            parse(&text).with_context(|| format!("{COMMITTED} cannot be parsed"))?
        }
    };
    let comparison = compare(&committed, &counts);
    for line in &comparison.table {
        println!("instructions: {line}");
    }
    if write {
        let text = to_text(&counts, COMMAND);
        fs::write(&file, text).with_context(|| format!("cannot write {COMMITTED}"))?;
        println!("instructions: wrote {COMMITTED}");
        return Ok(());
    }
    for improvement in &comparison.improvements {
        println!("instructions: {improvement}: `{COMMAND} --write` lowers the committed count");
    }
    if comparison.findings.is_empty() {
        return Ok(());
    }
    bail!(
        "instructions:\n  {}\nFind the cause, for example with `callgrind_annotate` and the counts in \
         target/instructions. If the change is intended, run `{COMMAND} --write` and commit {COMMITTED}.",
        comparison.findings.join("\n  ")
    )
}

/// Counts the instructions of each case. None where nothing can be counted.
fn count(workspace: &Workspace) -> Result<Option<Counts>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("instructions: NOT counted: the committed counts are of Linux on x86-64");
        return Ok(None);
    }
    let Some(mut callgrind) = valgrind::callgrind(workspace) else {
        println!("instructions: NOT counted: valgrind is missing: `apt-get install valgrind`");
        return Ok(None);
    };
    let program = workspace.built("toolhost-bench", "instructions")?;
    let dir = workspace.target().join("instructions");
    if dir.is_dir() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    let (counts, log) = (dir.join("counts"), dir.join("log"));
    callgrind
        .args(["--quiet", "--tool=callgrind", "--vgdb=no", MARK])
        .arg(format!("--log-file={}", log.display()))
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program);
    let cases = child::read(&mut callgrind)
        .with_context(|| format!("what valgrind logged is in {}", log.display()))?;
    fewest(&cases, &counts).map(Some)
}

/// Returns the count of each case: that of the run with the fewest instructions. A run takes more if the
/// clock of the engine advances meanwhile.
///
/// Line `n` of `cases` is the case that dump `n` counts, or `-`.
fn fewest(cases: &str, dumps: &Path) -> Result<Counts> {
    let mut fewest = Counts::new();
    for (case, number) in cases.lines().zip(1..).filter(|(case, _)| *case != "-") {
        let dump = dump_file(dumps, number);
        let text = fs::read_to_string(&dump)
            .with_context(|| format!("valgrind wrote no {}", dump.display()))?;
        let count = summary(&text).with_context(|| format!("no count in {}", dump.display()))?;
        let least = fewest.entry(case.to_owned()).or_insert(count);
        *least = count.min(*least);
    }
    if fewest.is_empty() {
        bail!("nothing was counted");
    }
    Ok(fewest)
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
    let sum: Option<u64> = counts.map(|count| count.trim().parse::<u64>().ok()).sum();
    // No dump counts nothing.
    sum.filter(|sum| *sum > 0)
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn a_dump_has_a_sum_for_each_of_its_threads() {
        assert_eq!(
            summary("events: Ir\nsummary: 12\n\nsummary: 30\n"),
            Some(42)
        );
        assert_eq!(summary("summary: many\n"), None);
        assert_eq!(summary("events: Ir\n"), None);
    }
}
