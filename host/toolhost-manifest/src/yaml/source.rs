//! The text of a YAML file, with the byte offsets of its characters.

use std::sync::Arc;

use super::Mark;
use crate::diagnostic::{Place, Position, Span};

/// Number of characters between two stored byte offsets.
const STRIDE: usize = 256;

/// The text of a YAML file, and its name in messages. Cheap to clone.
#[derive(Debug, Clone)]
pub struct YamlSource {
    name: Arc<str>,
    text: Arc<str>,
    /// Byte offset of every 256th character: the parser counts characters, editors count bytes.
    strides: Arc<[usize]>,
}

impl YamlSource {
    /// Creates a source from the text of a file. A byte order mark at its beginning is removed.
    pub fn new(name: impl Into<Arc<str>>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let offsets = text.char_indices().map(|(offset, _)| offset);
        Self {
            name: name.into(),
            text: text.into(),
            strides: offsets.step_by(STRIDE).collect(),
        }
    }

    /// Returns the name of the file in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text. The spans of places are offsets in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Converts a position of the parser to a place in the file.
    pub fn place(&self, mark: Mark, document_path: &str) -> Place {
        let offset = self.byte_offset(mark.offset);
        let span = Span {
            offset,
            length: self.byte_offset(mark.offset.saturating_add(mark.length)) - offset,
        };
        Place {
            file: self.name.to_string(),
            position: Some(Position {
                line: mark.line,
                column: self.column(offset),
                span,
            }),
            document_path: document_path.into(),
        }
    }

    /// Returns the column of a byte, in characters from 1. The parser's column does not count byte order
    /// marks.
    fn column(&self, offset: usize) -> u32 {
        let above = self.text.get(..offset).unwrap_or_default();
        let line = above.rsplit(['\n', '\r']).next().unwrap_or_default();
        u32::try_from(line.chars().count() + 1).unwrap_or(u32::MAX)
    }

    fn byte_offset(&self, characters: usize) -> usize {
        let Some(near) = self.strides.get(characters / STRIDE) else {
            return self.text.len();
        };
        let rest = self.text.get(*near..).unwrap_or_default();
        let offset = rest.char_indices().nth(characters % STRIDE);
        offset.map_or(self.text.len(), |(offset, _)| near + offset)
    }
}
