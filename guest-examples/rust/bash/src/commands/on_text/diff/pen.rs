//! How lines of a comparison are written: colours, tabs.

/// What a part of the output is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::on_text) enum Tint {
    None,
    Header,
    Place,
    Old,
    New,
}

impl Tint {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Header => Some("\x1b[1m"),
            Self::Place => Some("\x1b[36m"),
            Self::Old => Some("\x1b[31m"),
            Self::New => Some("\x1b[32m"),
        }
    }
}

const END: &[u8] = b"\x1b[0m";

/// Writes `text` with a line feed after it, and says so where the last line of a file has none.
const NO_END: &[u8] = b"\n\\ No newline at end of file\n";

pub(in crate::commands::on_text) struct Pen {
    pub(super) is_coloured: bool,
    /// A tab after the sign, so that tabs of the line stay where they are.
    pub(super) has_initial_tab: bool,
    /// The width of tabs that become spaces.
    pub(super) expands: Option<usize>,
    /// An empty line has no sign.
    pub(super) hides_blank_sign: bool,
}

impl Pen {
    /// Lines as they are.
    pub(in crate::commands::on_text) const PLAIN: Self = Self {
        is_coloured: false,
        has_initial_tab: false,
        expands: None,
        hides_blank_sign: false,
    };

    /// Writes a part of a line.
    pub(super) fn tinted(&self, out: &mut Vec<u8>, tint: Tint, text: &[u8]) {
        match tint.code().filter(|_| self.is_coloured) {
            Some(code) => {
                out.extend_from_slice(code.as_bytes());
                out.extend_from_slice(text);
                out.extend_from_slice(END);
            }
            None => out.extend_from_slice(text),
        }
    }

    /// Writes a line after its sign.
    pub(super) fn row(&self, out: &mut Vec<u8>, sign: &str, tint: Tint, line: &[u8]) {
        let (content, has_end) = match line.strip_suffix(b"\n") {
            Some(content) => (content, true),
            None => (line, false),
        };
        let mut text = Vec::with_capacity(sign.len() + content.len() + 1);
        if self.hides_blank_sign && content.is_empty() {
            text.extend_from_slice(sign.trim_end().as_bytes());
        } else if self.has_initial_tab {
            text.extend_from_slice(sign.strip_suffix(' ').unwrap_or(sign).as_bytes());
            text.push(b'\t');
        } else {
            text.extend_from_slice(sign.as_bytes());
        }
        self.content(&mut text, content);
        self.tinted(out, tint, &text);
        out.extend_from_slice(if has_end { b"\n" } else { NO_END });
    }

    /// Writes a line without its end.
    pub(super) fn content(&self, out: &mut Vec<u8>, content: &[u8]) {
        let Some(width) = self.expands else {
            out.extend_from_slice(content);
            return;
        };
        let mut column = 0;
        for byte in content {
            match *byte {
                b'\t' => {
                    let spaces = width - column % width;
                    out.extend(std::iter::repeat_n(b' ', spaces));
                    column += spaces;
                }
                b'\r' => {
                    out.push(b'\r');
                    column = 0;
                }
                0x08 => {
                    if column > 0 {
                        out.push(0x08);
                        column -= 1;
                    }
                }
                byte => {
                    out.push(byte);
                    // Bytes that continue a character have no width.
                    column += usize::from(byte & 0xC0 != 0x80);
                }
            }
        }
    }
}
