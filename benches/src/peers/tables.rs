//! The tables of docs/performance.md.

use toolhost_tests::root;

use super::rounds::{Cell, Cells, IN_FLIGHT, Measured};
use super::rows::OURS;
use super::spread::{Spread, grouped, micros};

/// A work and what was measured of it.
pub(super) struct Section {
    pub(super) key: &'static str,
    pub(super) title: String,
    pub(super) rows: Vec<Measured>,
}

impl Section {
    /// Returns what was measured of a row with so many calls at once.
    pub(super) fn cell(&self, name: &str, in_flight: usize) -> Option<&Cell> {
        let row = self.rows.iter().find(|row| row.name == name)?;
        let at = IN_FLIGHT.iter().position(|known| *known == in_flight)?;
        row.cells.as_ref().ok()?[at].as_ref()
    }

    /// Returns the table of the work.
    pub(super) fn table(&self) -> String {
        let mut table = format!(
            "**{}**\n\n| | one call: p50, p99 | its time / toolhost's | calls/s with 1, 4, 16, 256 in flight |\n\
             |---|---|---|---|\n",
            self.title
        );
        for row in &self.rows {
            let cells = match &row.cells {
                Ok(cells) => self.cells(row.name, cells),
                Err(reason) => format!("not measured: {} | | |", without_root(reason)),
            };
            table.push_str(&format!("| {} | {cells}\n", row.name));
        }
        table
    }

    fn cells(&self, name: &str, cells: &Cells) -> String {
        let one = cells[0].as_ref().unwrap();
        let per_second = cells.iter().map(|cell| {
            let median = |cell: &Cell| grouped(Spread::of(cell.per_second.clone()).median);
            cell.as_ref().map_or("–".to_owned(), median)
        });
        let per_second: Vec<_> = per_second.collect();
        format!(
            "{}, {} | {} | {} |",
            micros(one.percentile(50)),
            micros(one.percentile(99)),
            self.time_ratio(name, OURS)
                .map_or_else(|| "–".to_owned(), Spread::ratio),
            per_second.join(", "),
        )
    }

    /// Returns the time of one row as a multiple of another's, with one call at a time.
    pub(super) fn time_ratio(&self, name: &str, of: &str) -> Option<Spread> {
        let (row, of) = (self.cell(name, 1)?, self.cell(of, 1)?);
        Some(Spread::of_ratios(&row.medians, &of.medians))
    }

    /// Returns the calls per second with 16 in flight as a multiple of those with one.
    pub(super) fn grows(&self, name: &str) -> Option<Spread> {
        let (many, one) = (self.cell(name, 16)?, self.cell(name, 1)?);
        Some(Spread::of_ratios(&many.per_second, &one.per_second))
    }
}

/// Returns a reason with paths beneath the workspace.
fn without_root(reason: &str) -> String {
    let folder = root("");
    let resolved = folder.canonicalize().unwrap();
    let short = reason.replace(&*folder.to_string_lossy(), "");
    short.replace(&format!("{}/", resolved.display()), "")
}

pub(super) fn faults(faults: f64) -> String {
    match faults {
        few if few < 9.95 => format!("{few:.1}"),
        many => grouped(many),
    }
}
