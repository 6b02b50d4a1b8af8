//! What a block is in: quotes, lists and their items.

/// Most containers that are told apart; what is deeper belongs to the innermost of them.
const MAX_DEPTH: usize = 48;

/// Most containers that a line shows.
const MAX_SHOWN: usize = 12;

enum Container {
    Quote,
    /// With the number of the next item, if they have numbers.
    List(Option<u64>),
    /// With what is before its first line, until that is written.
    Item {
        marker: String,
        is_new: bool,
    },
}

#[derive(Default)]
pub(super) struct Containers {
    stack: Vec<Container>,
    /// Lists and quotes that are open beyond [`MAX_DEPTH`].
    beyond: usize,
}

impl Containers {
    pub(super) fn begin_list(&mut self, start: Option<u64>) {
        self.push(Container::List(start));
    }

    pub(super) fn begin_quote(&mut self) {
        self.push(Container::Quote);
    }

    fn push(&mut self, container: Container) {
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(container);
        } else {
            self.beyond += 1;
        }
    }

    pub(super) fn begin_item(&mut self) {
        self.end_item();
        let marker = match self.stack.last_mut() {
            Some(Container::List(Some(next))) => {
                let number = *next;
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        if self.stack.len() < MAX_DEPTH {
            self.stack.push(Container::Item {
                marker,
                is_new: true,
            });
        }
    }

    /// Ends the item of the innermost list, and what is in it.
    pub(super) fn end_item(&mut self) {
        let is_list = |it: &Container| matches!(it, Container::List(_));
        match self.stack.iter().rposition(is_list) {
            Some(list) => self.stack.truncate(list + 1),
            None => self
                .stack
                .retain(|it| !matches!(it, Container::Item { .. })),
        }
    }

    pub(super) fn end_list(&mut self) {
        self.end(|it| matches!(it, Container::List(_)));
    }

    pub(super) fn end_quote(&mut self) {
        self.end(|it| matches!(it, Container::Quote));
    }

    fn end(&mut self, is_it: impl Fn(&Container) -> bool) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else if let Some(at) = self.stack.iter().rposition(is_it) {
            self.stack.truncate(at);
        }
    }

    pub(super) fn is_in_item(&self) -> bool {
        let mut stack = self.stack.iter();
        stack.any(|it| matches!(it, Container::Item { .. }))
    }

    /// Whether the next block is the first of an item.
    pub(super) fn is_new_item(&self) -> bool {
        let last = self.stack.last();
        matches!(last, Some(Container::Item { is_new: true, .. }))
    }

    pub(super) fn quotes(&self) -> usize {
        let stack = self.stack.iter();
        stack.filter(|it| matches!(it, Container::Quote)).count()
    }

    /// Returns what is before an empty line within so many quotes.
    pub(super) fn before_empty_line(&self, quotes: usize) -> String {
        "> ".repeat(quotes.min(MAX_SHOWN)).trim_end().to_owned()
    }

    /// Returns what is before the first line of a block, and before the others.
    pub(super) fn begin_block(&mut self) -> (String, String) {
        let (mut first, mut others) = (String::new(), String::new());
        for container in self.stack.iter_mut().take(2 * MAX_SHOWN) {
            match container {
                Container::Quote => {
                    first.push_str("> ");
                    others.push_str("> ");
                }
                Container::List(_) => {}
                Container::Item { marker, is_new } => {
                    let indent = " ".repeat(marker.len());
                    first.push_str(if *is_new { marker } else { &indent });
                    others.push_str(&indent);
                    *is_new = false;
                }
            }
        }
        (first, others)
    }
}
