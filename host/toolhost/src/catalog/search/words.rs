//! Splits a text into words: identifiers into their parts and as a whole, scripts without spaces into pairs.

/// Longest word, in bytes. A longer one is skipped.
const WORD_BYTES_MAX: usize = 64;

/// What a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A word, or a part of an identifier.
    Plain,
    /// An identifier of several parts, without what joins them: `createedge` of `createEdge` and `create_edge`.
    Whole,
    /// Two neighbours of a script without spaces, such as `파일`.
    Pair,
}

/// A word in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) kind: WordKind,
    /// Whether it begins with a capital and does not begin a sentence, as names of people and places do.
    pub(super) is_capital: bool,
}

/// Calls `each` with the words of a text, in order. Numbers and single letters are no words.
pub(super) fn each_word(text: &str, mut each: impl FnMut(Word<'_>)) {
    let mut splitter = Splitter::default();
    let (mut start, mut begins_sentence) = (None, true);
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        if c.is_alphanumeric() || matches!(c, '_' | '-') {
            start.get_or_insert(at);
            continue;
        }
        if let Some(token) = start.take().and_then(|start| text.get(start..at)) {
            let is_capital = !begins_sentence && token.starts_with(char::is_uppercase);
            splitter.split(token, is_capital, &mut each);
            begins_sentence = false;
        }
        begins_sentence |= matches!(c, '.' | '!' | '?' | ':' | '\n');
    }
}

/// Returns the letters and digits of a name in lower case, so that `createEdge` and `create_edge` are the same.
pub(super) fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a character belongs to a script whose words are not separated, or change at their ends: Hangul, Han, Kana,
/// Thai, Lao, Khmer, Burmese.
fn is_paired(c: char) -> bool {
    matches!(c,
        '\u{ac00}'..='\u{d7a3}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}'
        | '\u{20000}'..='\u{3ffff}' | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

/// Splits tokens. Its buffers are used again for each.
#[derive(Default)]
struct Splitter {
    part: String,
    whole: String,
    parts: usize,
    pair: String,
}

impl Splitter {
    fn split(&mut self, token: &str, is_capital: bool, each: &mut impl FnMut(Word<'_>)) {
        self.whole.clear();
        self.parts = 0;
        let (mut before, mut chars) = (None, token.chars().peekable());
        while let Some(c) = chars.next() {
            if is_paired(c) {
                self.end_part(is_capital, each);
                if let Some(first) = before.filter(|before| is_paired(*before)) {
                    self.end_pair(&[first, c], each);
                } else if !chars.peek().copied().is_some_and(is_paired) {
                    self.end_pair(&[c], each);
                }
            } else if matches!(c, '_' | '-') {
                self.end_part(is_capital, each);
            } else {
                if before.is_some_and(|before| begins_part(before, c, chars.peek().copied())) {
                    self.end_part(is_capital, each);
                }
                self.part.extend(c.to_lowercase());
            }
            before = Some(c);
        }
        self.end_part(is_capital, each);
        if self.parts > 1 && !is_number(&self.whole) {
            let kind = WordKind::Whole;
            pass(&self.whole, kind, is_capital, each);
        }
    }

    fn end_part(&mut self, is_capital: bool, each: &mut impl FnMut(Word<'_>)) {
        if self.part.is_empty() {
            return;
        }
        if self.part.chars().nth(1).is_some() && !is_number(&self.part) {
            pass(&self.part, WordKind::Plain, is_capital, each);
        }
        self.whole.push_str(&self.part);
        self.parts += 1;
        self.part.clear();
    }

    fn end_pair(&mut self, pair: &[char], each: &mut impl FnMut(Word<'_>)) {
        self.pair.clear();
        self.pair.extend(pair);
        pass(&self.pair, WordKind::Pair, false, each);
    }
}

fn pass(text: &str, kind: WordKind, is_capital: bool, each: &mut impl FnMut(Word<'_>)) {
    if text.len() <= WORD_BYTES_MAX {
        each(Word {
            text,
            kind,
            is_capital,
        });
    }
}

/// Whether a part of an identifier begins at `c`: `createEdge`, `HTTPServer`, `base64`.
fn begins_part(before: char, c: char, after: Option<char>) -> bool {
    let ends_capitals =
        before.is_uppercase() && c.is_uppercase() && after.is_some_and(char::is_lowercase);
    (before.is_lowercase() && c.is_uppercase())
        || before.is_numeric() != c.is_numeric()
        || ends_capitals
}

fn is_number(word: &str) -> bool {
    word.chars().all(char::is_numeric)
}
