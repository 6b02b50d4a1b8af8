//! The findings as text.

use std::fmt::Write;

use super::finding::{Finding, State};
use crate::terminal::{Style, text};

/// Lists the findings of each area, and counts errors and warnings.
pub(super) fn text(findings: &[Finding], style: Style) -> String {
    let names = findings.iter().map(|finding| finding.name.len());
    let widest = names.max().unwrap_or(0);
    let (mut out, mut area) = (String::new(), "");
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            let _ = writeln!(out, "{area}");
        }
        // They have the same width without colours.
        let state = match finding.state {
            State::Ok => style.green("ok     "),
            State::Warning => style.yellow("warning"),
            State::Error => style.red("error  "),
        };
        let mut line = format!("  {state}  {:<widest$}  ", finding.name);
        line += &text::line(&finding.value);
        if let Some(needed_for) = finding.needed_for {
            let _ = write!(line, "; for {needed_for}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
        if let Some(next) = &finding.next {
            let _ = writeln!(
                out,
                "           {} {}",
                style.cyan("next:"),
                text::line(next)
            );
        }
    }
    let count = |state| {
        let of_state = findings.iter().filter(|finding| finding.state == state);
        of_state.count()
    };
    let errors = text::counted(count(State::Error), "error");
    let warnings = text::counted(count(State::Warning), "warning");
    format!("{out}{errors}, {warnings}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ColorChoice;

    #[test]
    fn a_report_has_a_line_for_each_finding_and_the_next_move() {
        let findings = [
            Finding::ok("compilers", "node", "v22.1.0").needed_for("tools in TypeScript"),
            Finding::ok("compilers", "python3", "not installed").warning("apt install python3"),
            Finding::ok("state", "directory", "/x\u{1b}[2J").error("chmod 700 /x"),
        ];
        let text = text(&findings, Style::of_stdout(ColorChoice::Never));
        let expected = "compilers
  ok       node       v22.1.0; for tools in TypeScript
  warning  python3    not installed
           next: apt install python3
state
  error    directory  /x\\u{1b}[2J
           next: chmod 700 /x
1 error, 1 warning";
        assert_eq!(text, expected);
    }
}
