//! Writes what was measured into docs/performance.md.

use std::fmt::Write as _;
use std::fs;

use toolhost_tests::root;

use super::rounds::Rounds;
use super::scale::ScaleRow;
use super::tables::Section;
use super::{plots, ratios};

const DOCUMENT: &str = "docs/performance.md";
const PLOTS: &str = "docs/performance";

/// The lines between which the document is written.
const BEGIN: &str = "<!-- Written by `cargo xtask bench peers --write`: begin -->\n";
const END: &str = "<!-- Written by `cargo xtask bench peers --write`: end -->\n";

/// Returns all tables.
pub(super) fn text(sections: &[Section], scale: &[ScaleRow], rounds: Rounds) -> String {
    let mut text = format!(
        "Rounds: {}. Time of each measurement in a round: {} ms. Cores: {}.\n\n{}\n",
        rounds.rounds,
        rounds.time.as_millis(),
        std::thread::available_parallelism().unwrap(),
        ratios::table(sections),
    );
    for section in sections {
        writeln!(text, "{}", section.table()).unwrap();
    }
    if !scale.is_empty() {
        text.push_str("**Scale**\n\n| | result |\n|---|---|\n");
    }
    for row in scale {
        writeln!(text, "| {} | {} |", row.name, row.result).unwrap();
    }
    text
}

/// Writes the tables into the document, and the plots beside it.
pub(super) fn write(text: &str, sections: &[Section]) -> Result<(), String> {
    let path = root(DOCUMENT);
    let document = fs::read_to_string(&path).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    let parts = document.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| format!("{DOCUMENT} has no lines\n{BEGIN}{END}"))?;
    let document = format!("{before}{BEGIN}\n{}\n\n{END}{after}", text.trim_end());
    fs::write(&path, document).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    plots::write(&root(PLOTS), sections).map_err(|error| format!("{PLOTS}: {error}"))
}
