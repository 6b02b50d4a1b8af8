//! `--junit FILE`: the report in the XML that CI servers read.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Done, Report, Verdict, people};

/// Writes the report: a suite for each case file, and one for what was generated.
pub(crate) async fn write(path: &Path, report: &Report) -> Result<()> {
    let (path, text) = (path.to_owned(), xml(report));
    let written = tokio::task::spawn_blocking(move || {
        std::fs::write(&path, text)
            .with_context(|| format!("the report {} cannot be written", path.display()))
    });
    written.await.context("a thread of the host failed")?
}

fn xml(report: &Report) -> String {
    let mut suites: Vec<(&str, Vec<&Done>)> = Vec::new();
    for done in &report.done {
        match suites
            .iter_mut()
            .find(|(file, _)| *file == done.what.file())
        {
            Some((_, cases)) => cases.push(done),
            None => suites.push((done.what.file(), vec![done])),
        }
    }
    let all: Vec<&Done> = report.done.iter().collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites name=\"toolhost\" {}>",
        counts(&all, report.took)
    );
    for (file, cases) in suites {
        let took = cases.iter().map(|done| done.took).sum();
        let counts = counts(&cases, took);
        let _ = writeln!(text, "  <testsuite name=\"{}\" {counts}>", escaped(file));
        for done in cases {
            case(done, &mut text);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn counts(cases: &[&Done], took: Duration) -> String {
    let failed = cases
        .iter()
        .filter(|done| done.verdict() == Verdict::Failed);
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3}\"",
        cases.len(),
        failed.count(),
        took.as_secs_f64()
    )
}

fn case(done: &Done, text: &mut String) {
    let what = &done.what;
    let _ = write!(
        text,
        "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"",
        escaped(what.tool()),
        escaped(&what.name()),
        escaped(what.file()),
    );
    if let Some(line) = what.line() {
        let _ = write!(text, " line=\"{line}\"");
    }
    let _ = write!(text, " time=\"{:.3}\"", done.took.as_secs_f64());
    if done.verdict() != Verdict::Failed {
        text.push_str("/>\n");
        return;
    }
    let told: Vec<String> = done.mismatches.iter().map(people::told).collect();
    let first = told.first().map(String::as_str).unwrap_or_default();
    let _ = writeln!(
        text,
        ">\n      <failure message=\"{}\">{}</failure>",
        escaped(first),
        escaped(&told.join("\n"))
    );
    if !done.log.is_empty() {
        let lines = done
            .log
            .iter()
            .map(|line| format!("{}: {}", line.level, line.text));
        let lines = lines.collect::<Vec<_>>().join("\n");
        let _ = writeln!(text, "      <system-out>{}</system-out>", escaped(&lines));
    }
    text.push_str("    </testcase>\n");
}

/// Text within XML. What XML 1.0 cannot hold, and what acts on whoever shows it, is written out.
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
            c if toolhost::text::acts(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_text_holds_it_is_xml() {
        let all: String = ('\0'..=char::MAX).collect();
        let text = format!("<a b=\"{}\">{}</a>", escaped(&all), escaped("x\ny"));
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().text(), Some("x\ny"));
    }
}
