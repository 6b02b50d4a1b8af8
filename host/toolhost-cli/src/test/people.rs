//! The report as people read it: a line for each case that failed and what came instead, then one line
//! for all.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use toolhost::Denial;
use toolhost::cases::{LogLine, Mismatch};
use toolhost::text::shell_word;

use super::item::{Item, What};
use super::{Done, Report, Verdict};
use crate::terminal::Style;
use crate::terminal::text;

/// Most lines shown of a difference.
const DIFF_MAX: usize = 40;

/// Most lines shown of a log.
const LOG_MAX: usize = 10;

/// Longest command that is shown for calling again.
const COMMAND_MAX: usize = 400;

/// Before what belongs to the line above.
const INDENT: &str = "     ";

/// The cases that would be run.
pub(crate) fn listed(items: &[Item]) -> String {
    let line = |item: &Item| {
        let what = &item.what;
        let name = text::line(&what.name());
        match what {
            What::Written { .. } => {
                format!("{}  {name}  ({})", text::line(&what.place()), what.tool())
            }
            What::Generated(_) => format!("generated  {name}"),
        }
    };
    items.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The report.
pub(crate) fn report(report: &Report, style: Style) -> String {
    let mut text = String::new();
    for done in report
        .done
        .iter()
        .filter(|done| done.verdict() == Verdict::Failed)
    {
        failed(done, &report.call, style, &mut text);
    }
    denied(report, &mut text);
    text + &summary(report)
}

fn failed(done: &Done, call: &str, style: Style, text: &mut String) {
    let (place, name) = (
        text::line(&done.what.place()),
        text::line(&done.what.name()),
    );
    let runs = match done.runs {
        1 => String::new(),
        runs => format!(" ({} of {runs} runs)", done.failed),
    };
    let mut lines = done.mismatches.iter().map(told);
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(text, "{} {place} {name}{runs}: {first}", style.red("FAIL"));
    for line in lines {
        let _ = writeln!(text, "{INDENT}{line}");
    }
    for mismatch in &done.mismatches {
        difference(mismatch, text);
    }
    for line in logged(&done.log) {
        let _ = writeln!(text, "{INDENT}| {line}");
    }
    if let Some(command) = again(done, call) {
        let _ = writeln!(text, "{INDENT}again: {command}");
    }
}

/// `output/lines: expected 2 but got 3`.
pub(super) fn told(mismatch: &Mismatch) -> String {
    let Mismatch {
        what,
        expected,
        got,
        ..
    } = mismatch;
    text::line(&format!("{what}: expected {expected} but got {got}"))
}

/// What differs, line by line: `-` is expected, `+` is what came.
fn difference(mismatch: &Mismatch, text: &mut String) {
    let Some((expected, got)) = &mismatch.texts else {
        return;
    };
    let _ = writeln!(
        text,
        "{INDENT}{} (- expected, + got):",
        text::line(&mismatch.what)
    );
    let diff = TextDiff::from_lines(expected.as_str(), got.as_str());
    let mut lines = Vec::new();
    for group in diff.grouped_ops(2) {
        if !lines.is_empty() {
            lines.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let line = text::line(change.value().trim_end_matches('\n'));
            let end = if change.missing_newline() {
                "  (no line break at the end)"
            } else {
                ""
            };
            let end = if expected.ends_with('\n') == got.ends_with('\n') {
                ""
            } else {
                end
            };
            lines.push(format!("{sign} {line}{end}"));
        }
    }
    for line in lines.iter().take(DIFF_MAX) {
        let _ = writeln!(text, "{INDENT}  {line}");
    }
    if lines.len() > DIFF_MAX {
        let _ = writeln!(text, "{INDENT}  … {} more lines", lines.len() - DIFF_MAX);
    }
}

/// What the tool said.
fn logged(log: &[LogLine]) -> Vec<String> {
    let line = |line: &LogLine| {
        let context = match line.context.as_str() {
            "" => String::new(),
            context => format!(" ({context})"),
        };
        text::cut(
            &text::line(&format!("{}{context}: {}", line.level, line.text)),
            500,
        )
    };
    let mut lines: Vec<String> = log.iter().take(LOG_MAX).map(line).collect();
    if log.len() > LOG_MAX {
        lines.push(format!("… {} more lines", log.len() - LOG_MAX));
    }
    lines
}

/// The command that makes the same call as a generated case.
fn again(done: &Done, call: &str) -> Option<String> {
    let What::Generated(case) = &done.what else {
        return None;
    };
    let args = Value::Object(case.args.clone()).to_string();
    let args = toolhost::text::escape_json(&args).replace('\'', r"\u0027");
    let mut command = format!("{call} {} --args '{args}'", case.tool);
    if let Some(agent) = &done.agent {
        let _ = write!(command, " --agent {}", shell_word(agent));
    }
    (command.len() <= COMMAND_MAX).then(|| text::line(&command))
}

/// What was tried and refused in generated cases: worth knowing, and no failure.
fn denied(report: &Report, text: &mut String) {
    let mut tried: BTreeMap<(&str, Denial), usize> = BTreeMap::new();
    for done in report.of(true) {
        for denial in &done.denials {
            *tried.entry((done.what.tool(), denial.clone())).or_default() += 1;
        }
    }
    for ((tool, denial), count) in tried {
        let cases = text::counted(count, "generated case");
        let _ = writeln!(text, "note: {tool} was denied '{denial}' in {cases}");
    }
}

fn summary(report: &Report) -> String {
    let mut parts = Vec::new();
    let written = report.of(false).count();
    if written > 0 {
        parts.push(format!(
            "{}: {}",
            text::counted(written, "case"),
            ended(report, false)
        ));
    }
    let generated = report.of(true).count();
    if generated > 0 {
        let ended = ended(report, true);
        parts.push(format!(
            "{generated} generated (seed {}): {ended}",
            report.seed
        ));
    }
    parts.push(seconds(report.took));
    parts.join(" · ")
}

fn ended(report: &Report, generated: bool) -> String {
    let counts = [Verdict::Passed, Verdict::Failed, Verdict::Updated].map(|verdict| {
        let count = report
            .of(generated)
            .filter(|done| done.verdict() == verdict)
            .count();
        (verdict, count)
    });
    let said = |(verdict, count): &(Verdict, usize)| {
        let always = *verdict == Verdict::Passed;
        (always || *count > 0).then(|| format!("{count} {}", verdict.as_str()))
    };
    counts
        .iter()
        .filter_map(said)
        .collect::<Vec<_>>()
        .join(", ")
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
