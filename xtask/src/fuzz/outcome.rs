//! The result of fuzzing one target, parsed from the output of libFuzzer.

use std::path::Path;
use std::process::ExitStatus;

/// Lines of output in a finding.
const FINDING_LINES: usize = 12;

/// The result of one target.
pub(super) struct Outcome {
    executions: Option<u64>,
    per_second: Option<u64>,
    /// Inputs in the corpus, of all runs.
    corpus: usize,
    /// The finding, as lines for the terminal.
    pub(super) finding: Option<String>,
}

impl Outcome {
    /// Parses the output of a target that has ended.
    pub(super) fn read(status: ExitStatus, output: &str, corpus: usize, program: &Path) -> Self {
        Self {
            executions: stat(output, "number_of_executed_units"),
            per_second: stat(output, "average_exec_per_sec"),
            corpus,
            finding: (!status.success()).then(|| finding(status, output, program)),
        }
    }

    /// Returns the counts in one line.
    pub(super) fn line(&self) -> String {
        let text = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        format!(
            "{} executions, {} exec/s, {} inputs in its corpus, {}",
            text(self.executions),
            text(self.per_second),
            self.corpus,
            if self.finding.is_some() {
                "A FINDING"
            } else {
                "nothing found"
            },
        )
    }
}

fn stat(output: &str, name: &str) -> Option<u64> {
    let line = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
    line?.trim_start_matches(':').trim().parse().ok()
}

fn finding(status: ExitStatus, output: &str, program: &Path) -> String {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    // The message of a panic; without one, the last lines of libFuzzer.
    let from = lines.iter().position(|line| line.contains("panicked at"));
    let from = from.unwrap_or(lines.len().saturating_sub(FINDING_LINES));
    let kept = lines.iter().skip(from).take(FINDING_LINES);
    let mut text: String = kept.map(|line| format!("  | {line}\n")).collect();
    let artifact = output
        .lines()
        .find_map(|line| line.split_once("Test unit written to "));
    match artifact {
        Some((_, artifact)) => text.push_str(&format!(
            "  artifact: {artifact}\n  again:    {} {artifact}",
            program.display()
        )),
        None => text.push_str(&format!(
            "  the target ended with {status} and wrote no artifact"
        )),
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
        let output =
            "#1 DONE\nstat::number_of_executed_units: 120\nstat::average_exec_per_sec:     60\n";
        let clean = Outcome::read(ExitStatus::from_raw(0), output, 7, program);
        let line = "120 executions, 60 exec/s, 7 inputs in its corpus, nothing found";
        assert_eq!((clean.line().as_str(), clean.finding), (line, None));

        let output = "#1 NEW\nthread panicked at a.rs:1:1:\nit broke\n\
                    artifact_prefix='x/'; Test unit written to x/crash-1\n";
        let broken = Outcome::read(ExitStatus::from_raw(77 << 8), output, 0, program);
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
