//! The table of ratios: what toolhost aims at, and what was measured.

use super::rows::{BUN, BUN_SPAWNED, ENGINE, EXTISM, JAQ, OURS, TUNED};
use super::spread::Spread;
use super::tables::{Section, faults};

/// Returns the table.
pub(super) fn table(sections: &[Section]) -> String {
    let mut table = "| ratio | aim | measured |\n|---|---|---|\n".to_owned();
    let mut row = |name: &str, aim: &str, measured: String| {
        table.push_str(&format!("| {name} | {aim} | {measured} |\n"));
    };
    let ratio = |work, name, of| time(sections, work, name, of);
    row(
        "echo of 32 bytes: toolhost / engine alone",
        "≤ 1.15",
        ratio("echo-32", OURS, ENGINE),
    );
    row(
        "… / engine alone, tuned",
        "≤ 1.15",
        ratio("echo-32", OURS, TUNED),
    );
    row("… / Bun, one process", "≤ 0.9", ratio("echo-32", OURS, BUN));
    row(
        "Extism, a plug-in per call / toolhost",
        "≥ 20",
        ratio("echo-32", EXTISM, OURS),
    );
    row(
        "Bun, a process per call / toolhost",
        "≥ 300",
        ratio("echo-32", BUN_SPAWNED, OURS),
    );
    row(
        "jq query: toolhost / jaq, one process",
        "≤ 5",
        ratio("query", OURS, JAQ),
    );
    row(
        "file read / echo of 32 bytes",
        "≤ 2.5",
        between(sections, "read", "echo-32"),
    );
    row(
        "file write / echo of 32 bytes",
        "≤ 5",
        between(sections, "write", "echo-32"),
    );
    for (work, aim) in [("echo-32", "0.1"), ("replace", "5"), ("count", "50")] {
        let cell = find(sections, work).and_then(|section| section.cell(OURS, 1));
        let measured = cell.map_or_else(none, |cell| faults(cell.faults()));
        row(
            &format!("page faults of a call, `{work}`"),
            &format!("≤ {aim}"),
            measured,
        );
    }
    for work in ["echo-32", "read", "replace", "count"] {
        let grows = find(sections, work).and_then(|section| section.grows(OURS));
        let measured = grows.map_or_else(none, Spread::ratio);
        row(
            &format!("calls/s with 16 in flight / with 1, `{work}`"),
            "≥ 1.7",
            measured,
        );
    }
    table
}

fn none() -> String {
    "not measured".to_owned()
}

fn find<'a>(sections: &'a [Section], work: &str) -> Option<&'a Section> {
    sections.iter().find(|section| section.key == work)
}

/// The time of one row as a multiple of another's.
fn time(sections: &[Section], work: &str, name: &str, of: &str) -> String {
    let ratio = find(sections, work).and_then(|section| section.time_ratio(name, of));
    ratio.map_or_else(none, Spread::ratio)
}

/// The time of toolhost for one work as a multiple of that for another.
fn between(sections: &[Section], work: &str, of: &str) -> String {
    let medians = |work| Some(&find(sections, work)?.cell(OURS, 1)?.medians);
    let ratio = medians(work).zip(medians(of));
    ratio.map_or_else(none, |(work, of)| Spread::of_ratios(work, of).ratio())
}
