//! The report for people: with -v a line for each case, for each failed case a line and what differed, then
//! one summary line.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;
use toolhost::text::{escape_json, shell_word};
use toolhost::tool::Denial;
use toolhost_testing::{
    CaseReport, GeneratedKind, LeftOut, LogLine, Mismatch, PlannedCase, Report, TestCase, Verdict,
};

use super::difference;
use crate::terminal::{Style, Verbosity, text};

/// Most lines displayed of a log.
const LOG_MAX: usize = 10;

/// Longest command displayed for repeating a call.
const COMMAND_MAX: usize = 400;

/// A case that takes longer is named in the summary.
const SLOW: Duration = Duration::from_secs(1);

/// Longest name in the summary, in columns.
const NAME_MAX: usize = 100;

/// Indents what belongs to the line above.
const INDENT: &str = "     ";

/// Lists planned cases, and what the generated ones leave out.
pub(super) fn list(cases: &[PlannedCase], left_out: &[LeftOut]) -> String {
    let line = |planned: &PlannedCase| {
        let case = &planned.case;
        let name = text::line(&case.name());
        match case {
            TestCase::Written { .. } => {
                format!(
                    "{}  {name}  ({})",
                    text::line(&case.location()),
                    case.tool()
                )
            }
            TestCase::Generated(_) => format!("generated  {name}"),
        }
    };
    let left_out = left_out.iter().map(left_out_note);
    let lines: Vec<String> = cases.iter().map(line).chain(left_out).collect();
    lines.join("\n")
}

/// Notes that the generated cases cover a part of a tool's schema.
fn left_out_note(left_out: &LeftOut) -> String {
    let left_out = text::line(&left_out.to_string());
    format!("note: {left_out}; write cases for the rest")
}

/// Writes the report. `call` is the command that calls a tool of the bundle, up to the tool's name.
pub(super) fn report(report: &Report, call: &str, verbosity: Verbosity, style: Style) -> String {
    let mut out = String::new();
    if verbosity >= Verbosity::Verbose {
        for case in &report.cases {
            let _ = writeln!(out, "{}", verdict_line(case, style));
        }
    }
    for case in &report.cases {
        if case.verdict() == Verdict::Failed {
            write_failed(case, call, style, &mut out);
        }
    }
    write_denials(report, &mut out);
    for left_out in &report.left_out {
        let _ = writeln!(out, "{}", left_out_note(left_out));
    }
    out + &summary(report)
}

/// How one case ended: `ok 3 ms tests/a.yaml:2 says it back`.
fn verdict_line(report: &CaseReport, style: Style) -> String {
    let verdict = match report.verdict() {
        Verdict::Passed => style.green("ok     "),
        Verdict::Failed => style.red("FAILED "),
        Verdict::Updated => style.cyan("updated"),
    };
    let (took, name) = (duration(report.took), text::line(&report.case.name()));
    let place = text::line(&report.case.location());
    format!("{verdict} {took:>8}  {place} {name}")
}

/// Formats a time: `12 ms`, `1.25 s`.
fn duration(time: Duration) -> String {
    if time < SLOW {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

/// Names the case that took longest, if it took long: `, slowest 1.25 s: tests/a.yaml:2 waits`.
fn slowest(report: &Report) -> String {
    let slowest = report.cases.iter().max_by_key(|case| case.took);
    let Some(slowest) = slowest.filter(|case| case.took >= SLOW) else {
        return String::new();
    };
    let (took, place) = (duration(slowest.took), slowest.case.location());
    let name = text::line(&format!("{place} {}", slowest.case.name()));
    format!(", slowest {took}: {}", text::cut(&name, NAME_MAX))
}

fn write_failed(report: &CaseReport, call: &str, style: Style, out: &mut String) {
    let (place, name) = (
        text::line(&report.case.location()),
        text::line(&report.case.name()),
    );
    let runs = match report.runs {
        1 => String::new(),
        runs => format!(" ({} of {runs} runs)", report.failed),
    };
    let mut lines = report.mismatches.iter().map(Mismatch::to_string);
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(out, "{} {place} {name}{runs}: {first}", style.red("FAIL"));
    for line in lines {
        let _ = writeln!(out, "{INDENT}{line}");
    }
    for mismatch in &report.mismatches {
        for line in difference::lines(mismatch, style) {
            let _ = writeln!(out, "{INDENT}{line}");
        }
    }
    let lines = report.policy_lines();
    // Several operations may be granted by one line.
    for group in lines.chunk_by(|(_, one), (_, next)| one == next) {
        for (denial, _) in group {
            let denial = text::line(&denial.to_string());
            let _ = writeln!(out, "{INDENT}denied: {denial}");
        }
        let line = group.first().map_or("", |(_, line)| line.as_str());
        let line = text::line(line);
        let _ = writeln!(
            out,
            "{INDENT}granted by this line in `policy` of the case, or in --policy FILE:"
        );
        let _ = writeln!(out, "{INDENT}  {}", style.cyan(&line));
    }
    for line in log_lines(&report.log) {
        let _ = writeln!(out, "{INDENT}| {line}");
    }
    if let Some(command) = call_again(report, call) {
        let _ = writeln!(out, "{INDENT}again: {command}");
    }
}

/// The lines that the tool logged.
fn log_lines(log: &[LogLine]) -> Vec<String> {
    let line = |line: &LogLine| {
        let context = match line.context.as_str() {
            "" => String::new(),
            context => format!(" ({context})"),
        };
        let line = text::line(&format!("{}{context}: {}", line.level, line.text));
        text::cut(&line, 500)
    };
    let mut lines: Vec<String> = log.iter().take(LOG_MAX).map(line).collect();
    if log.len() > LOG_MAX {
        lines.push(format!("… {} more lines", log.len() - LOG_MAX));
    }
    lines
}

/// The command that repeats the call of a generated case.
fn call_again(report: &CaseReport, call: &str) -> Option<String> {
    let TestCase::Generated(case) = &report.case else {
        return None;
    };
    let args = Value::Object(case.args.clone()).to_string();
    let args = escape_json(&args).replace('\'', r"\u0027");
    let mut command = format!("{call} {} --args '{args}'", case.tool);
    if let Some(agent) = &report.agent {
        let _ = write!(command, " --agent {}", shell_word(agent));
    }
    (command.len() <= COMMAND_MAX).then(|| text::line(&command))
}

/// Notes the denials of generated cases, which are not failures.
fn write_denials(report: &Report, out: &mut String) {
    let mut counts: BTreeMap<(&str, &Denial), usize> = BTreeMap::new();
    for case in report.generated() {
        for denial in case
            .denials
            .iter()
            .filter(|denial| !is_expected(case, denial))
        {
            *counts.entry((case.case.tool(), denial)).or_default() += 1;
        }
    }
    for ((tool, denial), count) in counts {
        let cases = text::counted(count, "generated case");
        let _ = writeln!(out, "note: {tool} was denied '{denial}' in {cases}");
    }
}

/// Whether a generated case attempts what was denied: hostile paths lead out of the workdir.
fn is_expected(report: &CaseReport, denial: &Denial) -> bool {
    let is_hostile = match &report.case {
        TestCase::Generated(case) => case.kind == GeneratedKind::Hostile,
        TestCase::Written { .. } => false,
    };
    is_hostile && *denial == Denial::OutsideWorkdir
}

fn summary(report: &Report) -> String {
    let mut parts = Vec::new();
    let written = report.written().count();
    if written > 0 {
        let cases = text::counted(written, "case");
        parts.push(format!("{cases}: {}", verdicts(report.written())));
    }
    let generated = report.generated().count();
    if generated > 0 {
        let verdicts = verdicts(report.generated());
        let seed = report.seed;
        parts.push(format!("{generated} generated (seed {seed}): {verdicts}"));
    }
    if report.cases.is_empty() {
        parts.push("no case in this part".to_owned());
    }
    if report.not_run > 0 {
        parts.push(format!("{} not run", report.not_run));
    }
    let took = report.took.as_secs_f64();
    parts.push(format!("{took:.2} s{}", slowest(report)));
    parts.join(" · ")
}

/// How many cases ended in each way: `3 passed, 1 failed`.
fn verdicts<'r>(cases: impl Iterator<Item = &'r CaseReport> + Clone) -> String {
    let count = |verdict: Verdict| {
        let count = cases
            .clone()
            .filter(|case| case.verdict() == verdict)
            .count();
        let is_shown = verdict == Verdict::Passed || count > 0;
        is_shown.then(|| format!("{count} {}", verdict.as_str()))
    };
    let verdicts = [Verdict::Passed, Verdict::Failed, Verdict::Updated];
    let counts: Vec<String> = verdicts.into_iter().filter_map(count).collect();
    counts.join(", ")
}
