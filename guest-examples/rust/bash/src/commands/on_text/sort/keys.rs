//! The part of a line that is compared: `-k 2,3n`.

use super::order::Order;

#[derive(Clone, Copy)]
pub(super) enum Separator {
    /// A field begins with the blanks before it.
    Blanks,
    Byte(u8),
}

/// A place in a line: a field, and a byte in it (0 is its end).
#[derive(Clone, Copy)]
struct Place {
    field: usize,
    byte: usize,
    skips_blanks: bool,
}

pub(super) struct Key {
    from: Place,
    to: Option<Place>,
    pub(super) order: Order,
}

impl Key {
    /// The whole line.
    pub(super) fn whole(order: Order) -> Self {
        let from = Place {
            field: 0,
            byte: 1,
            skips_blanks: order.skips_blanks,
        };
        Self {
            from,
            to: None,
            order,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.from.field == 0 && self.from.byte <= 1 && !self.from.skips_blanks && self.to.is_none()
    }

    pub(super) fn read(text: &str, usual: Order) -> Result<Self, &'static str> {
        let (from, to) = match text.split_once(',') {
            Some((from, to)) => (from, Some(to)),
            None => (text, None),
        };
        let mut order = Order::default();
        let mut from = place(from, &mut order)?;
        if from.field == 0 {
            return Err("field number is zero");
        }
        if from.byte == 0 && text.contains(".0") {
            return Err("character offset is zero");
        }
        from.field -= 1;
        from.byte = from.byte.max(1);
        let to = to.map(|to| place(to, &mut order)).transpose()?;
        if to.is_some_and(|to| to.field == 0) {
            return Err("field number is zero");
        }
        if order.is_default() && !from.skips_blanks && !to.is_some_and(|to| to.skips_blanks) {
            order = usual;
            from.skips_blanks = usual.skips_blanks;
        }
        Ok(Self { from, to, order })
    }

    /// The key of a line.
    pub(super) fn of<'a>(&self, line: &'a [u8], separator: Separator) -> &'a [u8] {
        if self.is_whole() {
            return line;
        }
        let start = begin_of(line, self.from.field, separator);
        let start = if self.from.skips_blanks {
            skip_blanks(line, start)
        } else {
            start
        };
        let start = (start + self.from.byte - 1).min(line.len());
        let end = match self.to {
            None => line.len(),
            Some(to) if to.byte == 0 => end_of(line, to.field - 1, separator),
            Some(to) => {
                let begin = begin_of(line, to.field - 1, separator);
                let begin = if to.skips_blanks {
                    skip_blanks(line, begin)
                } else {
                    begin
                };
                (begin + to.byte).min(line.len())
            }
        };
        line.get(start..end.max(start)).unwrap_or_default()
    }
}

fn place(text: &str, order: &mut Order) -> Result<Place, &'static str> {
    let letters = text.find(|char: char| char.is_ascii_alphabetic());
    let (numbers, letters) = text.split_at(letters.unwrap_or(text.len()));
    let (field, byte) = match numbers.split_once('.') {
        Some((field, byte)) => (field, byte.parse().map_err(|_| "invalid number after '.'")?),
        None => (numbers, 0),
    };
    let field = field.parse().map_err(|_| "invalid number at field start")?;
    let mut skips_blanks = false;
    for letter in letters.chars() {
        match letter {
            'b' => skips_blanks = true,
            letter => {
                if !order.set(letter) {
                    return Err("stray character in field spec");
                }
            }
        }
    }
    Ok(Place {
        field,
        byte,
        skips_blanks,
    })
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

fn skip_blanks(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_blank(**byte)).count()
}

fn skip_others(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !is_blank(**byte)).count()
}

/// Where a field begins, counted from 0.
fn begin_of(line: &[u8], field: usize, separator: Separator) -> usize {
    let mut at = 0;
    for _ in 0..field {
        if at >= line.len() {
            break;
        }
        at = match separator {
            Separator::Blanks => skip_others(line, skip_blanks(line, at)),
            Separator::Byte(byte) => {
                let rest = line.get(at..).unwrap_or_default();
                memchr::memchr(byte, rest).map_or(line.len(), |length| at + length + 1)
            }
        };
    }
    at
}

fn end_of(line: &[u8], field: usize, separator: Separator) -> usize {
    let begin = begin_of(line, field, separator);
    match separator {
        Separator::Blanks => skip_others(line, skip_blanks(line, begin)),
        Separator::Byte(byte) => {
            let rest = line.get(begin..).unwrap_or_default();
            memchr::memchr(byte, rest).map_or(line.len(), |length| begin + length)
        }
    }
}
