//! Reads a query: the words that a tool should have.

use super::index::SearchIndex;
use super::parts::SearchPart;
use super::vocabulary::{SYNONYM, synonyms, term, weight};
use super::words::{Word, WordKind, each_word, folded};

/// Different words read of a query.
const QUERY_WORDS: usize = 64;

/// How much a word counts for whether a tool fits that no tool has. A name of a person or a place, and a pair of a
/// script whose words change at their ends, say less.
const UNKNOWN: f32 = 0.8;
const UNKNOWN_NAME: f32 = 0.2;

/// How much a name of a person or a place counts for whether a tool fits.
const NAME: f32 = 0.7;

/// A query.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) words: Vec<QueryWord>,
    /// The query, and its words that look like the whole name of a tool, folded.
    pub(super) names: Vec<String>,
}

/// A word of a query.
#[derive(Debug)]
pub(super) struct QueryWord {
    /// The terms that it finds, and how much each counts.
    pub(super) terms: Vec<(String, f32)>,
    /// How much it counts for whether a tool fits.
    pub(super) weight: f32,
    /// How much it counts where no tool has it.
    pub(super) unknown: f32,
}

impl Query {
    pub(super) fn new(text: &str, index: &SearchIndex) -> Self {
        let mut query = Self::default();
        query.names.push(folded(text));
        let separates = |c: char| c.is_whitespace() || "'\"`,;:()[]{}?!".contains(c);
        let whole = text.split(separates).filter(|word| word.contains("__"));
        query.names.extend(whole.take(QUERY_WORDS).map(folded));
        each_word(text, |word| query.add(word, index));
        query
    }

    fn add(&mut self, word: Word<'_>, index: &SearchIndex) {
        let Some(term) = term(word, index.parts) else {
            return;
        };
        let mut words = self.words.iter();
        let is_repeated = words.any(|other| other.terms.first().is_some_and(|(it, _)| *it == term));
        if is_repeated || self.words.len() == QUERY_WORDS {
            return;
        }
        let (weight, unknown) = match word.kind {
            // Its parts count.
            WordKind::Whole => (0.0, 0.0),
            WordKind::Pair => (NAME, UNKNOWN_NAME),
            WordKind::Plain if word.is_capital => (NAME, UNKNOWN_NAME),
            WordKind::Plain => {
                let weight = weight(&term, index.parts);
                (weight, weight * UNKNOWN)
            }
        };
        let mut terms = vec![(term.into_owned(), 1.0)];
        if word.kind == WordKind::Plain {
            // `createedge` is spelt as the whole of `createEdge`, which has no stem.
            terms.push((word.text.to_owned(), 1.0));
            if index.parts.has(SearchPart::Synonyms)
                && let Some((term, _)) = terms.first()
            {
                let others = synonyms(term).iter();
                terms.extend(others.map(|other| (other.clone(), SYNONYM)));
            }
        }
        self.words.push(QueryWord {
            terms,
            weight,
            unknown,
        });
    }
}
