//! Ranks the items of an index for a query: BM25 over weighted fields, and a rule for what does not fit.

use std::cmp::Ordering;

use super::index::SearchIndex;
use super::parts::SearchPart;
use super::query::{Query, QueryWord};

/// How soon more of the same word counts no more.
const SATURATION: f32 = 0.9;

/// What the score of a tool that a query names is above all others.
const NAMED: f32 = 1000.0;

/// The share of a query that a tool must have, for a query of up to [`SHORT`] words, and of [`LONG`] or more.
const SHARE_OF_SHORT: f32 = 0.45;
const SHARE_OF_LONG: f32 = 0.2;
const SHORT: f32 = 2.0;
const LONG: f32 = 6.0;

/// The part of that share that other tools must have, where one tool has all of it.
const LESS: f32 = 0.6;

impl SearchIndex {
    /// Returns at most `limit` items that fit a query, of those whose indexes are admitted: the best first, each with
    /// its index in the catalog and its score. Items with the same score are in the order of the catalog.
    pub(crate) fn search(
        &self,
        text: &str,
        limit: usize,
        admits: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let query = Query::new(text, self);
        let mut matches = Matches::new(self.items);
        let mut total = 0.0;
        for word in &query.words {
            total += matches.add(word, self);
        }
        let named = query.names.iter().flat_map(|name| self.named(name));
        named.for_each(|item| matches.name(*item));
        let fitting = matches.fitting(total, &query, self, admits);
        best(fitting, limit)
    }
}

/// What an item has of the query.
#[derive(Debug, Clone, Copy, Default)]
struct Match {
    score: f32,
    /// How much of the query the item has.
    credit: f32,
    /// Whether the query names the item.
    is_named: bool,
    /// Those of the word that is being added.
    word_score: f32,
    word_credit: f32,
}

struct Matches {
    items: Vec<Match>,
    /// The items that have the word that is being added.
    touched: Vec<u32>,
}

impl Matches {
    fn new(items: usize) -> Self {
        Self {
            items: vec![Match::default(); items],
            touched: Vec::new(),
        }
    }

    /// Adds a word to the items that have it, and returns how much of the query it is.
    fn add(&mut self, word: &QueryWord, index: &SearchIndex) -> f32 {
        for (term, factor) in &word.terms {
            let postings = index.postings(term);
            let rarity = rarity(index.items, postings.len());
            for posting in postings {
                let Some(item) = self.items.get_mut(posting.item as usize) else {
                    continue;
                };
                if item.word_score == 0.0 {
                    self.touched.push(posting.item);
                }
                let frequency = posting.frequency;
                let score = factor * rarity * frequency / (SATURATION + frequency);
                item.word_score = item.word_score.max(score);
                item.word_credit = item.word_credit.max(factor * posting.credit);
            }
        }
        if self.touched.is_empty() {
            return word.unknown;
        }
        for at in self.touched.drain(..) {
            if let Some(item) = self.items.get_mut(at as usize) {
                item.score += item.word_score;
                item.credit += word.weight * item.word_credit;
                (item.word_score, item.word_credit) = (0.0, 0.0);
            }
        }
        word.weight
    }

    /// Marks an item that the query names.
    fn name(&mut self, item: u32) {
        if let Some(item) = self.items.get_mut(item as usize) {
            item.is_named = true;
        }
    }

    /// Returns the admitted items that fit, and those that the query names. None fits where none has enough of the query;
    /// where one has, so do others that have less.
    fn fitting(
        &self,
        total: f32,
        query: &Query,
        index: &SearchIndex,
        admits: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let items = self.items.iter().enumerate();
        let has_any = |item: &Match| item.is_named || item.score > 0.0;
        let mut items: Vec<_> = items
            .filter(|(at, item)| has_any(item) && admits(*at))
            .collect();
        if index.parts.has(SearchPart::Rule) {
            let enough = total * share(query);
            let is_answered = items.iter().any(|(_, item)| item.credit >= enough);
            let least = if is_answered { enough * LESS } else { enough };
            items.retain(|(_, item)| item.is_named || item.credit >= least);
        }
        let with_score = items.into_iter().map(|(at, item)| {
            let share = (item.credit / total).min(1.0);
            let factor = if index.parts.has(SearchPart::Coverage) {
                share.sqrt()
            } else {
                1.0
            };
            let named = if item.is_named { NAMED } else { 0.0 };
            (at, named + item.score * factor)
        });
        with_score.collect()
    }
}

/// Returns how much a term says that `having` of `items` have.
fn rarity(items: usize, having: usize) -> f32 {
    let (items, having) = (items as f32, having as f32);
    (1.0 + (items - having + 0.5) / (having + 0.5)).ln()
}

/// Returns the share of a query that a tool must have: more of a short one, each of whose words is meant.
fn share(query: &Query) -> f32 {
    let words = query.words.iter().filter(|word| word.weight > 0.0).count() as f32;
    let long = ((words - SHORT) / (LONG - SHORT)).clamp(0.0, 1.0);
    SHARE_OF_SHORT + long * (SHARE_OF_LONG - SHARE_OF_SHORT)
}

/// Returns the `limit` best, in order.
fn best(mut ranked: Vec<(usize, f32)>, limit: usize) -> Vec<(usize, f32)> {
    let order = |(one, one_score): &(usize, f32),
                 (other, other_score): &(usize, f32)|
     -> Ordering { other_score.total_cmp(one_score).then(one.cmp(other)) };
    if ranked.len() > limit {
        ranked.select_nth_unstable_by(limit, order);
        ranked.truncate(limit);
    }
    ranked.sort_unstable_by(order);
    ranked
}
