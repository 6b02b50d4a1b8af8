//! Finds all secrets in one scan of a text.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use memchr::memmem;
use zeroize::Zeroizing;

use crate::text::cuts;

/// Shortest piece of a secret that is redacted next to a truncation mark, in characters.
const PIECE_MIN: usize = 4;

/// The automaton searches for the last bytes of a secret, and what precedes them is compared. So its
/// memory, which is not wiped, holds few bytes of each secret, and it is small. Secrets often begin
/// alike, and seldom end alike.
const ANCHOR_BYTES: usize = 8;

/// A text to replace.
pub(super) struct Form {
    pub(super) text: Zeroizing<String>,
    pub(super) replacement: Arc<str>,
}

/// The forms of all secrets.
#[derive(Default)]
pub(super) struct Index {
    /// Longest first, so that a secret within a longer one does not prevent its redaction.
    forms: Vec<Arc<Form>>,
    /// Positions in `forms`, sorted by text.
    by_start: Vec<usize>,
    /// Positions in `forms`, sorted by text that is read backwards.
    by_end: Vec<usize>,
    /// None if there are no forms, or more than it can number.
    automaton: Option<AhoCorasick>,
    /// Positions of the forms that end with each text of the automaton.
    ending: Vec<Vec<usize>>,
}

/// An occurrence of a form.
struct Hit {
    form: usize,
    start: usize,
    end: usize,
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.forms.iter().map(|form| &form.replacement);
        f.debug_set().entries(names).finish()
    }
}

impl Index {
    /// If two forms have the same text, the first counts.
    pub(super) fn new(forms: impl IntoIterator<Item = Arc<Form>>) -> Self {
        let mut forms: Vec<Arc<Form>> = forms.into_iter().collect();
        forms.sort_by(|a, b| a.text.cmp(&b.text));
        forms.dedup_by(|later, first| later.text == first.text);
        forms.sort_by_key(|form| Reverse(form.text.len()));
        let mut ending = BTreeMap::<&[u8], Vec<usize>>::new();
        for (at, form) in forms.iter().enumerate() {
            let bytes = form.text.as_bytes();
            let anchor = bytes.last_chunk::<ANCHOR_BYTES>();
            let anchor = anchor.map_or(bytes, |anchor| anchor.as_slice());
            ending.entry(anchor).or_default().push(at);
        }
        let automaton = AhoCorasick::new(ending.keys()).ok();
        let ending = ending.into_values().collect();
        let mut numbered: Vec<(usize, &str)> = forms
            .iter()
            .map(|form| form.text.as_str())
            .enumerate()
            .collect();
        let mut sorted = |order: fn(&str, &str) -> std::cmp::Ordering| -> Vec<usize> {
            numbered.sort_by(|(_, a), (_, b)| order(a, b));
            numbered.iter().map(|(at, _)| *at).collect()
        };
        let by_start = sorted(str::cmp);
        let by_end = sorted(|a, b| a.bytes().rev().cmp(b.bytes().rev()));
        Self {
            automaton: automaton.filter(|_| !forms.is_empty()),
            ending,
            by_start,
            by_end,
            forms,
        }
    }

    /// The index of more forms than an automaton can number.
    #[cfg(test)]
    pub(super) fn without_automaton(mut self) -> Self {
        self.automaton = None;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Replaces pieces of secrets next to truncation marks, and whole secrets.
    pub(super) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let clean = self.redact_at_cuts(text);
        let replacement = |form: &Form| form.replacement.as_bytes().to_vec();
        match self.replaced(clean.as_bytes(), replacement) {
            Some(bytes) => Cow::Owned(text_of(bytes)),
            None => clean,
        }
    }

    /// Replaces whole secrets with texts of the same length.
    pub(super) fn redact_same_length(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.replaced(text, filled)
    }

    fn replaced(&self, text: &[u8], replacement: impl Fn(&Form) -> Vec<u8>) -> Option<Vec<u8>> {
        let hits = self.find(text);
        if hits.is_empty() {
            return None;
        }
        let (mut clean, mut done) = (Vec::with_capacity(text.len()), 0);
        for hit in &hits {
            clean.extend_from_slice(text.get(done..hit.start).unwrap_or_default());
            if let Some(form) = self.forms.get(hit.form) {
                clean.extend(replacement(form));
            }
            done = hit.end;
        }
        clean.extend_from_slice(text.get(done..).unwrap_or_default());
        Some(clean)
    }

    /// Returns the occurrences to replace, by position. Where two overlap, the longer one is chosen.
    fn find(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = self.hits(text);
        hits.sort_unstable_by_key(|hit| (hit.form, hit.start));
        let mut chosen = BTreeMap::<usize, Hit>::new();
        for hit in hits {
            let before = chosen.range(..hit.end).next_back();
            if before.is_none_or(|(_, before)| before.end <= hit.start) {
                chosen.insert(hit.start, hit);
            }
        }
        chosen.into_values().collect()
    }

    /// Returns all occurrences, also those that overlap.
    fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let Some(automaton) = &self.automaton else {
            for (form, it) in self.forms.iter().enumerate() {
                let finder = memmem::Finder::new(it.text.as_bytes());
                let mut from = 0;
                while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
                    let start = from + at;
                    let end = start + it.text.len();
                    hits.push(Hit { form, start, end });
                    from = start + 1;
                }
            }
            return hits;
        };
        // The search for the first one is the fastest.
        if !automaton.is_match(text) {
            return hits;
        }
        for hit in automaton.find_overlapping_iter(text) {
            let (end, ending) = (hit.end(), self.ending.get(hit.pattern().as_usize()));
            let before = text.get(..end).unwrap_or_default();
            for form in ending.into_iter().flatten().copied() {
                let secret = self.forms.get(form).map(|it| it.text.as_bytes());
                if let Some(secret) = secret.filter(|secret| before.ends_with(secret)) {
                    let start = end - secret.len();
                    hits.push(Hit { form, start, end });
                }
            }
        }
        hits
    }

    fn redact_at_cuts<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for cut in cuts(text) {
            let (Some(before), Some(after)) = (clean.get(..cut.start), clean.get(cut.end..)) else {
                continue;
            };
            // Half of a character at the cut was replaced with U+FFFD.
            let before = before.trim_end_matches('\u{fffd}');
            let after = after.trim_start_matches('\u{fffd}');
            let (head, tail) = (self.start_piece(before), self.end_piece(after));
            if head.is_none() && tail.is_none() {
                continue;
            }
            let (head_bytes, head) = head.unwrap_or_default();
            let (tail_bytes, tail) = tail.unwrap_or_default();
            let before = before.get(..before.len() - head_bytes).unwrap_or_default();
            let after = after.get(tail_bytes..).unwrap_or_default();
            let mark = clean.get(cut).unwrap_or_default();
            clean = Cow::Owned(format!("{before}{head}{mark}{tail}{after}"));
        }
        clean
    }

    /// Returns the longest start of a secret that the text ends with: its length and its replacement.
    fn start_piece(&self, text: &str) -> Option<(usize, &str)> {
        let starts = text.char_indices().rev().skip(PIECE_MIN - 1);
        let pieces = starts.filter_map(|(at, _)| text.get(at..));
        self.longest(pieces, |piece| {
            let is_less = |form: &Form| form.text.as_str() < piece;
            let form = self.first_not(&self.by_start, is_less)?;
            form.text.starts_with(piece).then_some(form)
        })
    }

    /// Returns the longest end of a secret that the text begins with.
    fn end_piece(&self, text: &str) -> Option<(usize, &str)> {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let pieces = ends.skip(PIECE_MIN - 1).filter_map(|end| text.get(..end));
        self.longest(pieces, |piece| {
            let is_less = |form: &Form| form.text.bytes().rev().lt(piece.bytes().rev());
            let form = self.first_not(&self.by_end, is_less)?;
            form.text.ends_with(piece).then_some(form)
        })
    }

    fn longest<'s, 't>(
        &'s self,
        pieces: impl Iterator<Item = &'t str>,
        form_of: impl Fn(&'t str) -> Option<&'s Form>,
    ) -> Option<(usize, &'s str)> {
        let max = self.forms.first().map_or(0, |form| form.text.len());
        let pieces = pieces.take_while(|piece| piece.len() <= max);
        let matching = pieces.filter_map(|piece| Some((piece.len(), form_of(piece)?)));
        matching
            .last()
            .map(|(length, form)| (length, &*form.replacement))
    }

    /// Returns the first form in this order that is not less.
    fn first_not(&self, order: &[usize], is_less: impl Fn(&Form) -> bool) -> Option<&Form> {
        let form = |at: &usize| self.forms.get(*at);
        let at = order.partition_point(|at| form(at).is_some_and(|form| is_less(form)));
        order.get(at).and_then(form).map(|form| &**form)
    }
}

/// Returns a text as long as the secret: `[redacted:NAME]` and asterisks, asterisks alone if it is
/// shorter, and ones if it consists of digits.
fn filled(form: &Form) -> Vec<u8> {
    let bytes = form.text.len();
    if form.text.bytes().all(|byte| byte.is_ascii_digit()) {
        return vec![b'1'; bytes];
    }
    let mut text = Vec::with_capacity(bytes);
    if form.replacement.len() <= bytes {
        text.extend_from_slice(form.replacement.as_bytes());
    }
    text.resize(bytes, b'*');
    text
}

/// Returns the text of bytes in which texts were replaced with texts.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
