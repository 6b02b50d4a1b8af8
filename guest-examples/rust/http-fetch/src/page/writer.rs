//! Writes the blocks of a page, one after the other.

use super::container::Containers;
use super::mark::Mark;
use super::table::Table;

/// Most inline elements in each other.
const MAX_MARKS: usize = 32;

pub(super) struct Writer {
    is_markdown: bool,
    out: String,
    /// The text of the current block or cell.
    line: String,
    /// The open inline elements, and where they begin in the line.
    marks: Vec<(Mark, usize)>,
    heading: Option<usize>,
    /// The language of an open `pre`, which keeps its spaces.
    pre: Option<Option<String>>,
    table: Option<Table>,
    containers: Containers,
    /// Of the last block.
    was_in_item: bool,
    quotes: usize,
}

impl Writer {
    pub(super) fn new(is_markdown: bool) -> Self {
        Self {
            is_markdown,
            out: String::new(),
            line: String::new(),
            marks: Vec::new(),
            heading: None,
            pre: None,
            table: None,
            containers: Containers::default(),
            was_in_item: false,
            quotes: 0,
        }
    }

    /// Returns how many bytes there are so far.
    pub(super) fn len(&self) -> usize {
        self.out.len() + self.line.len() + self.table.as_ref().map_or(0, Table::len)
    }

    pub(super) fn finish(mut self) -> String {
        self.end_pre();
        self.end_table();
        self.flush();
        self.out
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.pre.is_some() {
            self.line.push_str(text);
            return;
        }
        for char in text.chars() {
            if !char.is_whitespace() {
                self.line.push(char);
            } else if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
                self.line.push(' ');
            }
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.is_in_cell() {
            self.text(" ");
            return;
        }
        let text = self.line.trim_end_matches(' ').len();
        if self.pre.is_none() {
            self.line.truncate(text);
            if self.is_markdown && !self.line.is_empty() {
                self.line.push_str("  ");
            }
        }
        if self.pre.is_some() || !self.line.is_empty() {
            self.line.push('\n');
        }
    }

    pub(super) fn image(&mut self, alt: &str, source: Option<String>) {
        match source {
            _ if alt.is_empty() => {}
            Some(source) if self.is_markdown && self.may_mark() => {
                self.line.push_str(&format!("![{alt}]({source})"));
            }
            Some(_) | None => self.text(alt),
        }
    }

    pub(super) fn rule(&mut self) {
        self.flush();
        if !self.is_in_cell() && self.pre.is_none() {
            self.block("---");
        }
    }

    /// Whether an inline element may begin here: all there is within code is its text.
    fn may_mark(&self) -> bool {
        let is_code = self
            .marks
            .iter()
            .any(|(mark, _)| mark.is_same_kind(&Mark::Code));
        self.pre.is_none() && !is_code
    }

    pub(super) fn begin(&mut self, mark: Mark) {
        if self.is_markdown && self.may_mark() && self.marks.len() < MAX_MARKS {
            self.marks.push((mark, self.line.len()));
        }
    }

    pub(super) fn end(&mut self, mark: &Mark) {
        let is_it = |(open, _): &(Mark, usize)| open.is_same_kind(mark);
        if let Some(at) = self.marks.iter().rposition(is_it) {
            self.close_marks(at);
        }
    }

    /// Closes the marks from this one on. Returns a link that has no text yet.
    fn close_marks(&mut self, first: usize) -> Option<Mark> {
        let mut link = None;
        while self.marks.len() > first {
            let Some((mark, start)) = self.marks.pop() else {
                break;
            };
            let text = self.line.split_off(start.min(self.line.len()));
            if text.trim().is_empty() && matches!(mark, Mark::Link(_)) {
                self.line.push_str(&text);
                link = Some(mark);
            } else {
                self.line.push_str(&mark.around(&text));
            }
        }
        link
    }

    pub(super) fn begin_heading(&mut self, level: usize) {
        self.flush();
        if !self.is_in_cell() {
            self.heading = Some(level);
        }
    }

    pub(super) fn end_heading(&mut self) {
        self.flush();
        self.heading = None;
    }

    pub(super) fn begin_list(&mut self, start: Option<u64>) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.begin_list(start);
        }
    }

    pub(super) fn end_list(&mut self) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.end_list();
            // Another list is a block of its own.
            self.was_in_item &= self.containers.is_in_item();
        }
    }

    pub(super) fn begin_item(&mut self) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.begin_item();
        }
    }

    pub(super) fn end_item(&mut self) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.end_item();
        }
    }

    pub(super) fn begin_quote(&mut self) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.begin_quote();
        }
    }

    pub(super) fn end_quote(&mut self) {
        self.flush();
        if !self.is_in_cell() {
            self.containers.end_quote();
        }
    }

    pub(super) fn is_pre(&self) -> bool {
        self.pre.is_some()
    }

    pub(super) fn begin_pre(&mut self, language: Option<String>) {
        // A row cannot hold lines: the rest of the table is blocks.
        self.end_table();
        self.flush();
        self.pre = Some(language);
    }

    pub(super) fn set_language(&mut self, language: Option<String>) {
        if let Some(known) = &mut self.pre
            && language.is_some()
        {
            *known = language;
        }
    }

    pub(super) fn end_pre(&mut self) {
        let Some(language) = self.pre.take() else {
            return;
        };
        let line = std::mem::take(&mut self.line);
        let text = line.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        if !self.is_markdown {
            self.block(text);
            return;
        }
        let mut fence = "```".to_owned();
        while text.contains(&fence) {
            fence.push('`');
        }
        let language = language.unwrap_or_default();
        self.block(&format!("{fence}{language}\n{text}\n{fence}"));
    }

    fn is_in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.is_in_cell)
    }

    pub(super) fn begin_table(&mut self) {
        // A table within a cell: the outer one is a layout.
        self.end_table();
        self.flush();
        self.table = Some(Table::default());
    }

    pub(super) fn begin_row(&mut self) {
        self.end_cell();
        self.flush();
        if let Some(table) = &mut self.table {
            table.begin_row();
        }
    }

    pub(super) fn end_row(&mut self) {
        self.end_cell();
        self.flush();
    }

    pub(super) fn begin_cell(&mut self) {
        self.end_cell();
        self.flush();
        if let Some(table) = &mut self.table {
            table.is_in_cell = true;
        }
    }

    pub(super) fn end_cell(&mut self) {
        if !self.is_in_cell() {
            self.flush();
            return;
        }
        self.close_marks(0);
        let cell = std::mem::take(&mut self.line);
        if let Some(table) = &mut self.table {
            table.add(&cell);
            table.is_in_cell = false;
        }
    }

    pub(super) fn end_table(&mut self) {
        self.end_cell();
        if let Some(table) = self.table.take() {
            for block in table.blocks(self.is_markdown) {
                self.block(&block);
            }
        }
    }

    /// Ends the current block.
    pub(super) fn flush(&mut self) {
        if self.pre.is_some() {
            if !self.line.is_empty() && !self.line.ends_with('\n') {
                self.line.push('\n');
            }
            return;
        }
        if self.is_in_cell() {
            self.text(" ");
            return;
        }
        // The link around several blocks is that of the first with text.
        let link = self.close_marks(0);
        let line = std::mem::take(&mut self.line);
        let text = line.trim();
        if !text.is_empty() {
            match self.heading.take() {
                Some(level) if self.is_markdown => {
                    let text = text.replace("  \n", " ");
                    self.block(&format!("{} {text}", "#".repeat(level)));
                }
                Some(_) | None => self.block(text),
            }
        }
        self.marks.extend(link.map(|link| (link, 0)));
    }

    fn block(&mut self, text: &str) {
        let quotes = self.containers.quotes();
        if !self.out.is_empty() {
            self.out.push('\n');
            let is_next_item = self.was_in_item && self.containers.is_new_item();
            if !is_next_item {
                let quotes = quotes.min(self.quotes);
                self.out
                    .push_str(&self.containers.before_empty_line(quotes));
                self.out.push('\n');
            }
        }
        let (first, others) = self.containers.begin_block();
        for (number, line) in text.split('\n').enumerate() {
            let before = if number == 0 { &first } else { &others };
            if number > 0 {
                self.out.push('\n');
            }
            let before = if line.is_empty() {
                before.trim_end()
            } else {
                before
            };
            self.out.push_str(before);
            self.out.push_str(line);
        }
        self.was_in_item = self.containers.is_in_item();
        self.quotes = quotes;
    }
}
