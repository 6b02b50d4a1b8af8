//! The index of a catalog: which items have a term, and how much it counts there.

use std::collections::HashMap;
use std::ops::Range;

use toolhost_contract::ToolCatalogItem;

use super::fields::{Field, each_text};
use super::parts::{SearchPart, SearchParts};
use super::vocabulary::term;
use super::words::{WordKind, each_word, folded};

/// Words read of an item.
const ITEM_WORDS: usize = 1024;

/// How much a field that is longer than others counts less: 0 not at all, 1 in full.
const LENGTH_NORMALIZATION: f32 = 0.3;

/// Number of fields.
const FIELDS: usize = Field::ALL.len();

/// An item that has a term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    /// Index of the item in the catalog.
    pub(super) item: u32,
    /// How often the item has the term, by the weight and the length of each field.
    pub(super) frequency: f32,
    /// How much the term counts for whether the item fits: 0 to 1.
    pub(super) credit: f32,
}

/// The index of a catalog.
#[derive(Debug)]
pub(crate) struct SearchIndex {
    pub(super) items: usize,
    pub(super) parts: SearchParts,
    postings: Vec<Posting>,
    terms: HashMap<Box<str>, Range<usize>>,
    /// Items by the letters and digits of their names, and of the names of their handlers.
    names: HashMap<Box<str>, Vec<u32>>,
}

impl SearchIndex {
    /// Reads the items. What it takes is bounded for each: about 12 KiB of text and 1,024 words.
    pub(crate) fn new(items: &[ToolCatalogItem], parts: SearchParts) -> Self {
        let mut builder = Builder {
            parts,
            ..Builder::default()
        };
        let mut names: HashMap<Box<str>, Vec<u32>> = HashMap::new();
        for (at, item) in (0..).zip(items) {
            builder.add(at, item);
            for name in [item.name.as_str(), item.name.export().as_str()] {
                names.entry(folded(name).into()).or_default().push(at);
            }
        }
        let (terms, postings) = builder.finish();
        Self {
            items: items.len(),
            parts,
            postings,
            terms,
            names,
        }
    }

    /// Number of pairs of an item and a term.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.postings.len()
    }

    /// Returns its parts without one of them.
    pub(crate) fn parts_without(&self, part: SearchPart) -> SearchParts {
        self.parts.without(part)
    }

    /// Returns the items that have a term.
    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        let range = self.terms.get(term).cloned();
        let postings = range.and_then(|range| self.postings.get(range));
        postings.unwrap_or_default()
    }

    /// Returns the items whose name, or whose handler's name, has these letters and digits.
    pub(super) fn named(&self, folded: &str) -> &[u32] {
        self.names.get(folded).map_or(&[], Vec::as_slice)
    }
}

/// How often an item has a term, by field.
struct Counts {
    item: u32,
    fields: [u16; FIELDS],
}

#[derive(Default)]
struct Builder {
    parts: SearchParts,
    /// Indexes in `counts` by term.
    terms: HashMap<Box<str>, usize>,
    /// Indexes in `counts` by word; none for a stop word.
    words: HashMap<Box<str>, Option<usize>>,
    /// For each term the items that have it.
    counts: Vec<Vec<Counts>>,
    /// For each item the number of its words, by field.
    lengths: Vec<[u16; FIELDS]>,
}

impl Builder {
    fn add(&mut self, at: u32, item: &ToolCatalogItem) {
        let mut lengths = [0_u16; FIELDS];
        let mut left = ITEM_WORDS;
        each_text(item, |field, text| {
            if field.is_of_parameters() && !self.parts.has(SearchPart::Parameters) {
                return;
            }
            let is_text = field == Field::ParameterValues && !self.parts.has(SearchPart::Values);
            let field = if is_text {
                Field::ParameterTexts
            } else {
                field
            };
            each_word(text, |word| {
                // A whole identifier and a word may be spelt the same, and have other terms.
                let index = self.words.get(word.text).copied();
                let index = index.filter(|_| word.kind == WordKind::Plain);
                let index = index.unwrap_or_else(|| {
                    let index = term(word, self.parts).map(|term| self.index(&term));
                    if word.kind == WordKind::Plain {
                        self.words.insert(word.text.into(), index);
                    }
                    index
                });
                let Some(index) = index.filter(|_| left > 0) else {
                    return;
                };
                left -= 1;
                self.count(index, at, field);
                if let Some(length) = lengths.get_mut(field as usize) {
                    *length += 1;
                }
            });
        });
        self.lengths.push(lengths);
    }

    fn index(&mut self, term: &str) -> usize {
        if let Some(index) = self.terms.get(term) {
            return *index;
        }
        let index = self.counts.len();
        self.terms.insert(term.into(), index);
        self.counts.push(Vec::new());
        index
    }

    fn count(&mut self, index: usize, item: u32, field: Field) {
        let Some(counts) = self.counts.get_mut(index) else {
            return;
        };
        if counts.last().is_none_or(|last| last.item != item) {
            let fields = [0; FIELDS];
            counts.push(Counts { item, fields });
        }
        let last = counts.last_mut();
        if let Some(count) = last.and_then(|last| last.fields.get_mut(field as usize)) {
            *count += 1;
        }
    }

    /// Weighs the counts, now that the average lengths of the fields are known.
    fn finish(self) -> (HashMap<Box<str>, Range<usize>>, Vec<Posting>) {
        let items = self.lengths.len().max(1) as f32;
        let average = Field::ALL.map(|field| {
            let lengths = self.lengths.iter();
            let lengths = lengths.filter_map(|lengths| lengths.get(field as usize));
            let sum: f32 = lengths.map(|length| f32::from(*length)).sum();
            (sum / items).max(1.0)
        });
        let mut postings = Vec::with_capacity(self.counts.iter().map(Vec::len).sum());
        let mut ranges = Vec::with_capacity(self.counts.len());
        for counts in &self.counts {
            let start = postings.len();
            postings.extend(counts.iter().map(|counts| {
                let lengths = self.lengths.get(counts.item as usize);
                posting(
                    counts,
                    lengths.unwrap_or(&[0; FIELDS]),
                    &average,
                    self.parts,
                )
            }));
            ranges.push(start..postings.len());
        }
        let terms = self.terms.into_iter();
        let terms = terms.filter_map(|(term, index)| Some((term, ranges.get(index)?.clone())));
        (terms.collect(), postings)
    }
}

fn posting(
    counts: &Counts,
    lengths: &[u16; FIELDS],
    average: &[f32; FIELDS],
    parts: SearchParts,
) -> Posting {
    let (mut frequency, mut credit) = (0.0, 0.0_f32);
    let fields = Field::ALL
        .iter()
        .zip(counts.fields)
        .zip(lengths)
        .zip(average);
    for (((field, count), length), average) in fields.filter(|(((_, count), _), _)| *count > 0) {
        let relative = f32::from(*length) / average;
        let norm = 1.0 - LENGTH_NORMALIZATION + LENGTH_NORMALIZATION * relative;
        let weight = if parts.has(SearchPart::Weights) {
            field.weight()
        } else {
            1.0
        };
        frequency += weight * f32::from(count) / norm;
        credit = credit.max(field.credit());
    }
    Posting {
        item: counts.item,
        frequency,
        credit,
    }
}
