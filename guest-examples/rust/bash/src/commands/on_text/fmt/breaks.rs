//! Where the lines of a paragraph end: the choice with the least cost.

/// Columns that a line should have, and that it cannot have.
pub(super) struct Measure {
    pub(super) goal: usize,
    pub(super) width: usize,
}

pub(super) struct Word<'a> {
    pub(super) text: &'a [u8],
    /// Blanks after it.
    pub(super) space: usize,
    has_paren: bool,
    has_punctuation: bool,
    /// Whether it ends in a period, before closing quotes and brackets.
    pub(super) period: bool,
    /// Whether a sentence ends with it.
    pub(super) is_final: bool,
}

impl<'a> Word<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        let is_closing = |byte: &u8| b")]'\"".contains(byte);
        let mut end = text.len();
        while end > 1 && text.get(end - 1).is_some_and(is_closing) {
            end -= 1;
        }
        let last = end.checked_sub(1).and_then(|at| text.get(at));
        Self {
            text,
            space: 0,
            has_paren: text.first().is_some_and(|first| b"(['`\"".contains(first)),
            has_punctuation: text.last().is_some_and(u8::is_ascii_punctuation),
            period: last.is_some_and(|last| b".?!".contains(last)),
            is_final: false,
        }
    }

    fn length(&self) -> i64 {
        signed(self.text.len())
    }
}

fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

const fn square(value: i64) -> i64 {
    value.saturating_mul(value)
}

/// Of a line, whatever is on it.
const LINE: i64 = square(70);
const SENTENCE_BONUS: i64 = square(50);
/// Of a break after a period that ends no sentence.
const NO_BREAK: i64 = square(600);
const PAREN_BONUS: i64 = square(40);
const PUNCTUATION_BONUS: i64 = square(40);

/// Of a line that is so much longer or shorter than the goal.
const fn short(columns: i64) -> i64 {
    square(columns.saturating_mul(10))
}

/// Of two lines whose lengths differ so much.
const fn ragged(columns: i64) -> i64 {
    short(columns) / 2
}

/// The best lines from a word on.
#[derive(Clone, Copy, Default)]
struct Best {
    cost: i64,
    next: usize,
    length: i64,
}

/// Returns the place after the last word of each line.
pub(super) fn breaks(
    words: &[Word],
    first_indent: usize,
    other_indent: usize,
    measure: &Measure,
) -> Vec<usize> {
    let (goal, width) = (signed(measure.goal), signed(measure.width));
    let mut best = vec![Best::default(); words.len() + 1];
    for start in (0..words.len()).rev() {
        let indent = if start == 0 {
            first_indent
        } else {
            other_indent
        };
        let mut length = signed(indent) + words.get(start).map_or(0, Word::length);
        let mut chosen = Best {
            cost: i64::MAX,
            next: start + 1,
            length,
        };
        let mut next = start + 1;
        loop {
            let after = best.get(next).copied().unwrap_or_default();
            let cost = if next == words.len() {
                0
            } else if after.next == words.len() {
                short(goal - length)
            } else {
                short(goal - length).saturating_add(ragged(length - after.length))
            };
            let cost = cost.saturating_add(after.cost);
            if cost < chosen.cost {
                chosen = Best { cost, next, length };
            }
            let (Some(before), Some(word)) = (words.get(next - 1), words.get(next)) else {
                break;
            };
            length += signed(before.space) + word.length();
            next += 1;
            if length >= width {
                break;
            }
        }
        chosen.cost = chosen.cost.saturating_add(base(words, start));
        if let Some(place) = best.get_mut(start) {
            *place = chosen;
        }
    }
    let mut lines = Vec::new();
    let mut at = 0;
    while at < words.len() {
        at = best.get(at).map_or(words.len(), |best| best.next);
        lines.push(at);
    }
    lines
}

/// What a break before a word costs by itself.
fn base(words: &[Word], at: usize) -> i64 {
    let mut cost = LINE;
    let before = |distance: usize| at.checked_sub(distance).and_then(|at| words.get(at));
    if let Some(last) = before(1) {
        if last.period {
            cost += if last.is_final {
                -SENTENCE_BONUS
            } else {
                NO_BREAK
            };
        } else if last.has_punctuation {
            cost -= PUNCTUATION_BONUS;
        } else if before(2).is_some_and(|word| word.is_final) {
            // The first word of a sentence would be alone.
            cost += square(200) / (last.length() + 2);
        }
    }
    match words.get(at) {
        Some(word) if word.has_paren => cost - PAREN_BONUS,
        // The last word of a sentence would be alone.
        Some(word) if word.is_final => cost + square(150) / (word.length() + 2),
        _ => cost,
    }
}
