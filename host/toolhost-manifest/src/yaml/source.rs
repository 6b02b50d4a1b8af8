//! The text of a YAML file, with the byte offsets of its characters.

use std::fmt;
use std::sync::Arc;

use super::Mark;
use crate::diagnostic::{Place, Position, Span};

/// Number of characters between two stored positions.
const STRIDE: usize = 256;

/// The position of a character.
#[derive(Debug, Clone, Copy)]
struct CharPosition {
    /// In bytes from 0.
    offset: usize,
    /// In characters from 1. The parser's column does not count byte order marks.
    column: u32,
}

impl CharPosition {
    const FIRST: Self = Self {
        offset: 0,
        column: 1,
    };

    /// Returns the position after `character`.
    fn after(self, character: char) -> Self {
        Self {
            offset: self.offset + character.len_utf8(),
            column: match character {
                '\n' | '\r' => 1,
                _ => self.column.saturating_add(1),
            },
        }
    }
}

/// The text of a YAML file, and its name in messages. Cheap to clone.
#[derive(Clone)]
pub struct YamlSource {
    name: Arc<str>,
    text: Arc<str>,
    /// Every 256th character: the parser counts characters, editors count bytes.
    strides: Arc<[CharPosition]>,
}

impl fmt::Debug for YamlSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the text, which an error would show whole where `main` returns it.
        out.debug_tuple("YamlSource").field(&self.name).finish()
    }
}

impl YamlSource {
    /// Creates a source from the text of a file. A byte order mark at its beginning is removed.
    pub fn new(name: impl Into<Arc<str>>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let positions = text.chars().scan(CharPosition::FIRST, |next, character| {
            let position = *next;
            *next = position.after(character);
            Some(position)
        });
        Self {
            name: name.into(),
            text: text.into(),
            strides: positions.step_by(STRIDE).collect(),
        }
    }

    /// Returns the name of the file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text. The spans of places are offsets in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Converts a position of the parser to a place in the file.
    pub fn place(&self, mark: Mark, document_path: &str) -> Place {
        let CharPosition { offset, column } = self.position(mark.offset);
        let end = self.position(mark.offset.saturating_add(mark.length));
        let span = Span {
            offset,
            length: end.offset - offset,
        };
        Place {
            file: self.name.to_string(),
            position: Some(Position {
                line: mark.line,
                column,
                span,
            }),
            document_path: document_path.into(),
        }
    }

    /// Returns the text of a scalar.
    pub(super) fn literal(&self, mark: Mark) -> &str {
        let start = self.position(mark.offset).offset;
        let end = self
            .position(mark.offset.saturating_add(mark.length))
            .offset;
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the position of a character, or the end of the text if it has fewer characters.
    fn position(&self, characters: usize) -> CharPosition {
        let (near, rest) = match self.strides.get(characters / STRIDE) {
            Some(near) => (*near, characters % STRIDE),
            None => match self.strides.last() {
                Some(last) => (*last, STRIDE),
                None => return CharPosition::FIRST,
            },
        };
        let text = self.text.get(near.offset..).unwrap_or_default();
        text.chars().take(rest).fold(near, CharPosition::after)
    }
}
