//! The report as JUnit XML.

use std::fmt::Write;
use std::time::Duration;

use toolhost::text::needs_escape;

use crate::case_report::{CaseReport, Verdict};

pub(super) fn xml(cases: &[CaseReport], took: Duration) -> String {
    let mut suites: Vec<(&str, Vec<&CaseReport>)> = Vec::new();
    for case in cases {
        let file = case.case.file();
        match suites.iter_mut().find(|(name, _)| *name == file) {
            Some((_, cases)) => cases.push(case),
            None => suites.push((file, vec![case])),
        }
    }
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = counts(cases.iter(), took);
    let _ = writeln!(xml, "<testsuites name=\"toolhost\" {counts}>");
    for (file, cases) in suites {
        let took = cases.iter().map(|case| case.took).sum();
        let counts = self::counts(cases.iter().copied(), took);
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {counts}>", escaped(file));
        for case in cases {
            write_case(case, &mut xml);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn counts<'r>(cases: impl ExactSizeIterator<Item = &'r CaseReport>, took: Duration) -> String {
    let tests = cases.len();
    let failures = cases
        .filter(|case| case.verdict() == Verdict::Failed)
        .count();
    let time = took.as_secs_f64();
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" time=\"{time:.3}\"")
}

fn write_case(report: &CaseReport, xml: &mut String) {
    let case = &report.case;
    let _ = write!(
        xml,
        "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"",
        escaped(case.tool()),
        escaped(&case.name()),
        escaped(case.file()),
    );
    if let Some(line) = case.line() {
        let _ = write!(xml, " line=\"{line}\"");
    }
    let _ = write!(xml, " time=\"{:.3}\"", report.took.as_secs_f64());
    if report.verdict() != Verdict::Failed {
        xml.push_str("/>\n");
        return;
    }
    let problems: Vec<String> = report.mismatches.iter().map(ToString::to_string).collect();
    let first = problems.first().map(String::as_str).unwrap_or_default();
    let _ = writeln!(
        xml,
        ">\n      <failure message=\"{}\">{}</failure>",
        escaped(first),
        escaped(&problems.join("\n"))
    );
    if !report.log.is_empty() {
        let lines = report.log.iter();
        let lines: Vec<String> = lines
            .map(|line| format!("{}: {}", line.level, line.text))
            .collect();
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
