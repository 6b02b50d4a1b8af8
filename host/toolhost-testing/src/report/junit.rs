//! The report as JUnit XML.

use std::fmt::Write;
use std::time::Duration;

use indexmap::IndexMap;
use toolhost::text::needs_escape;

use crate::case_report::{CaseReport, Verdict};
use crate::judge::LogLine;
use crate::mismatch::Mismatch;

pub(super) fn xml(cases: &[CaseReport], took: Duration) -> String {
    let mut suites: IndexMap<&str, Vec<&CaseReport>> = IndexMap::new();
    for case in cases {
        suites.entry(case.case.file()).or_default().push(case);
    }
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = counts(&cases.iter().collect::<Vec<_>>(), took);
    let _ = writeln!(xml, "<testsuites name=\"toolhost\" {counts}>");
    for (file, cases) in suites {
        let took = cases.iter().map(|case| case.took).sum();
        let counts = self::counts(&cases, took);
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {counts}>", escaped(file));
        for case in cases {
            write_case(case, &mut xml);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn counts(cases: &[&CaseReport], took: Duration) -> String {
    let tests = cases.len();
    let failed = |case: &&&CaseReport| case.verdict() == Verdict::Failed;
    let failures = cases.iter().filter(failed).count();
    let time = took.as_secs_f64();
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{time:.3}\"")
}

fn write_case(report: &CaseReport, xml: &mut String) {
    let case = &report.case;
    let [tool, name, file] = [case.tool(), &case.name(), case.file()].map(escaped);
    let line = case.line().map(|line| format!(" line=\"{line}\""));
    let line = line.unwrap_or_default();
    let time = report.took.as_secs_f64();
    let _ = write!(
        xml,
        "    <testcase classname=\"{tool}\" name=\"{name}\" file=\"{file}\"{line} time=\"{time:.3}\""
    );
    if report.verdict() != Verdict::Failed {
        xml.push_str("/>\n");
        return;
    }
    let mut problems: Vec<String> = report.mismatches.iter().flat_map(Mismatch::lines).collect();
    let grants = report.policy_lines().into_iter();
    problems.extend(grants.map(|(denial, line)| format!("denied: {denial}; granted by: {line}")));
    let first = escaped(problems.first().map_or("", String::as_str));
    let details = escaped(&problems.join("\n"));
    let _ = writeln!(
        xml,
        ">\n      <failure message=\"{first}\">{details}</failure>"
    );
    if !report.log.is_empty() {
        let line = |line: &LogLine| format!("{}: {}", line.level, line.text);
        let lines: Vec<String> = report.log.iter().map(line).collect();
        let log = escaped(&lines.join("\n"));
        let _ = writeln!(xml, "      <system-out>{log}</system-out>");
    }
    xml.push_str("    </testcase>\n");
}

/// Escapes text for XML. Characters that XML 1.0 cannot hold, and those that would act on a display,
/// become `\u{…}`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(c.escape_unicode()),
            c if needs_escape(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_well_formed_xml() {
        let all: String = ('\0'..=char::MAX).collect();
        let text = format!("<a b=\"{}\">{}</a>", escaped(&all), escaped("x\ny"));
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().text(), Some("x\ny"));
    }
}
