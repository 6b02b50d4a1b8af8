//! Tables.

/// Most columns of a row.
const MAX_COLUMNS: usize = 100;

/// A table whose cells are being read.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    pub(super) is_in_cell: bool,
    bytes: usize,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn begin_row(&mut self) {
        if self.rows.last().is_none_or(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
    }

    pub(super) fn add(&mut self, cell: &str) {
        self.bytes += cell.len() + 3;
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        if let Some(row) = self.rows.last_mut().filter(|row| row.len() < MAX_COLUMNS) {
            row.push(cell.trim().replace('\n', " "));
        }
    }

    /// Returns the blocks of the table: one, or each cell of a table with one column.
    pub(super) fn blocks(mut self, is_markdown: bool) -> Vec<String> {
        self.rows
            .retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns < 2 {
            return self.rows.into_iter().flatten().collect();
        }
        let mut lines = Vec::new();
        for row in self.rows {
            if !is_markdown {
                lines.push(row.join("\t"));
                continue;
            }
            let mut cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            cells.resize(columns, String::new());
            lines.push(format!("| {} |", cells.join(" | ")));
            if lines.len() == 1 {
                lines.push(format!("|{}", "---|".repeat(columns)));
            }
        }
        vec![lines.join("\n")]
    }
}
