//! What came of fuzzing one target, read from what libFuzzer says.

use std::path::Path;
use std::process::ExitStatus;

/// Lines of libFuzzer's that are shown with a finding.
const SHOWN_LINES: usize = 12;

/// What came of a target.
pub(super) struct Outcome {
    executions: Option<u64>,
    per_second: Option<u64>,
    /// Inputs that were found to reach something new, of all runs so far.
    corpus: usize,
    /// What was found, in lines for the terminal.
    pub(super) finding: Option<String>,
}

impl Outcome {
    /// Reads how a target ended.
    pub(super) fn read(status: ExitStatus, said: &str, corpus: usize, program: &Path) -> Self {
        Self {
            executions: stat(said, "number_of_executed_units"),
            per_second: stat(said, "average_exec_per_sec"),
            corpus,
            finding: (!status.success()).then(|| finding(status, said, program)),
        }
    }

    /// The counts, in one line.
    pub(super) fn line(&self) -> String {
        let shown = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        format!(
            "{} executions, {} exec/s, {} inputs in its corpus, {}",
            shown(self.executions),
            shown(self.per_second),
            self.corpus,
            if self.finding.is_some() {
                "FOUND SOMETHING"
            } else {
                "nothing found"
            },
        )
    }
}

fn stat(said: &str, name: &str) -> Option<u64> {
    let line = said
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
    line?.trim_start_matches(':').trim().parse().ok()
}

fn finding(status: ExitStatus, said: &str, program: &Path) -> String {
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    // A panic's own words are what is wanted; libFuzzer's are where there was none.
    let from = lines.iter().position(|line| line.contains("panicked at"));
    let from = from.unwrap_or(lines.len().saturating_sub(SHOWN_LINES));
    let shown = lines.iter().skip(from).take(SHOWN_LINES);
    let mut text: String = shown.map(|line| format!("  | {line}\n")).collect();
    let artefact = said
        .lines()
        .find_map(|line| line.split_once("Test unit written to "));
    match artefact {
        Some((_, artefact)) => text.push_str(&format!(
            "  artefact: {artefact}\n  again:    {} {artefact}",
            program.display()
        )),
        None => text.push_str(&format!("  it ended with {status}, and wrote no artefact")),
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn reads_counts_and_findings() {
        let program = Path::new("bundle");
        let said =
            "#1 DONE\nstat::number_of_executed_units: 120\nstat::average_exec_per_sec:     60\n";
        let clean = Outcome::read(ExitStatus::from_raw(0), said, 7, program);
        let line = "120 executions, 60 exec/s, 7 inputs in its corpus, nothing found";
        assert_eq!((clean.line().as_str(), clean.finding), (line, None));

        let said = "#1 NEW\nthread panicked at a.rs:1:1:\nit broke\n\
                    artifact_prefix='x/'; Test unit written to x/crash-1\n";
        let broken = Outcome::read(ExitStatus::from_raw(77 << 8), said, 0, program);
        assert!(
            broken.line().starts_with("? executions"),
            "{}",
            broken.line()
        );
        let finding = broken.finding.unwrap();
        assert!(
            finding.contains("it broke") && finding.contains("bundle x/crash-1"),
            "{finding}"
        );
        assert!(!finding.contains("NEW"), "{finding}");
    }
}
