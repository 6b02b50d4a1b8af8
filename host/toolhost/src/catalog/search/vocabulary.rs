//! Turns words into the terms that are compared: stems without stop words, and their synonyms.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::parts::{SearchPart, SearchParts};
use super::words::{Word, WordKind};

/// Words that say nothing of what a tool does, sorted.
const STOP_WORDS: &[&str] = &[
    "about",
    "again",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "being",
    "both",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doesn",
    "doing",
    "don",
    "done",
    "down",
    "each",
    "else",
    "ever",
    "few",
    "for",
    "from",
    "get",
    "getting",
    "give",
    "given",
    "gives",
    "go",
    "going",
    "gonna",
    "got",
    "had",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hers",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "if",
    "im",
    "in",
    "into",
    "is",
    "isn",
    "it",
    "its",
    "just",
    "kindly",
    "know",
    "let",
    "lets",
    "like",
    "ll",
    "make",
    "makes",
    "making",
    "may",
    "me",
    "might",
    "mine",
    "more",
    "most",
    "must",
    "my",
    "need",
    "needed",
    "needs",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "or",
    "other",
    "our",
    "ours",
    "out",
    "over",
    "please",
    "provided",
    "re",
    "same",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "something",
    "such",
    "sure",
    "tell",
    "than",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "to",
    "too",
    "under",
    "up",
    "us",
    "use",
    "used",
    "uses",
    "using",
    "ve",
    "very",
    "via",
    "wanna",
    "want",
    "wants",
    "was",
    "we",
    "were",
    "what",
    "whats",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "won",
    "would",
    "yes",
    "you",
    "your",
    "yours",
];

/// Words that many tools and many requests have: they count less for whether a tool fits.
const WEAK_WORDS: &[&str] = &[
    "available",
    "check",
    "create",
    "detail",
    "find",
    "info",
    "information",
    "list",
    "look",
    "looking",
    "provide",
    "retrieve",
    "search",
    "see",
    "set",
    "show",
];

/// Words that mean the same to a person who looks for a tool. They also find the tools of each other.
const SYNONYMS: &[&str] = &[
    "fetch retrieve obtain read load view download",
    "find search look lookup query locate discover",
    "list enumerate show display",
    "create add new insert register generate",
    "delete remove erase clear drop",
    "cancel abort stop terminate",
    "update modify change edit set adjust alter",
    "send post submit publish",
    "upload put store save write",
    "calculate compute evaluate",
    "convert transform translate",
    "start launch run execute invoke",
    "begin start",
    "buy purchase order",
    "book reserve reservation booking schedule",
    "movie film",
    "song music track",
    "watch see",
    "play listen",
    "image picture photo",
    "price cost fare",
    "house home",
    "shop store",
    "taxi cab ride",
    "car vehicle",
    "email mail",
    "directory folder",
    "file document",
    "doctor physician",
    "weather forecast temperature",
    "hotel accommodation lodging",
    "restaurant dining cuisine food eat",
    "nearby near close nearest closest",
    "job employment",
    "info information detail",
    "sum add total plus",
    "multiply product times",
    "subtract minus difference",
    "divide quotient",
    "average mean",
    "merge combine join concatenate",
    "shell command terminal bash",
    "message text chat",
];

/// Words of dates and times: tools say `date` and `time`.
const CALENDAR: [(&str, &str); 2] = [
    (
        "date",
        "january february march april june july august september october november december monday tuesday \
         wednesday thursday friday saturday sunday today tomorrow yesterday tonight weekend",
    ),
    ("time", "pm oclock noon midnight morning afternoon evening"),
];

/// How much a synonym counts, of what the word itself counts.
pub(super) const SYNONYM: f32 = 0.5;

/// Synonyms by stem.
static SYNONYMS_BY_STEM: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut by_stem: HashMap<String, Vec<String>> = HashMap::new();
    let mut add = |from: &str, to: &str| {
        let (from, to) = (stem(from).into_owned(), stem(to).into_owned());
        let synonyms = by_stem.entry(from.clone()).or_default();
        if from != to && !synonyms.contains(&to) {
            synonyms.push(to);
        }
    };
    for group in SYNONYMS {
        for from in group.split(' ') {
            group.split(' ').for_each(|to| add(from, to));
        }
    }
    for (concept, words) in CALENDAR {
        words.split_whitespace().for_each(|word| add(word, concept));
    }
    by_stem
});

static WEAK_STEMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let stems = WEAK_WORDS.iter().map(|word| stem(word).into_owned());
    stems.collect()
});

/// Returns the term of a word; none for a stop word.
pub(super) fn term<'w>(word: Word<'w>, parts: SearchParts) -> Option<Cow<'w, str>> {
    match word.kind {
        WordKind::Pair => Some(word.text.into()),
        WordKind::Whole => parts.has(SearchPart::Wholes).then(|| word.text.into()),
        WordKind::Plain if STOP_WORDS.binary_search(&word.text).is_ok() => None,
        WordKind::Plain if parts.has(SearchPart::Stems) => Some(stem(word.text)),
        WordKind::Plain => Some(word.text.into()),
    }
}

/// Returns the synonyms of a term.
pub(super) fn synonyms(term: &str) -> &'static [String] {
    SYNONYMS_BY_STEM.get(term).map_or(&[], Vec::as_slice)
}

/// Whether a term counts less for whether a tool fits.
pub(super) fn is_weak(term: &str) -> bool {
    WEAK_STEMS.iter().any(|weak| weak == term)
}

fn stem(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        Stemmer::create(Algorithm::English).stem(word)
    } else {
        word.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
