//! Turns words into the terms that are compared: stems without stop words, and their synonyms.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
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
    "although",
    "am",
    "among",
    "an",
    "and",
    "any",
    "anyone",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "being",
    "both",
    "but",
    "by",
    "can",
    "cannot",
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
    "even",
    "ever",
    "every",
    "everyone",
    "everything",
    "except",
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
    "hence",
    "her",
    "here",
    "hers",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "however",
    "if",
    "im",
    "in",
    "instead",
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
    "many",
    "may",
    "maybe",
    "me",
    "might",
    "mine",
    "more",
    "most",
    "much",
    "must",
    "my",
    "myself",
    "need",
    "needed",
    "needs",
    "no",
    "nor",
    "not",
    "nothing",
    "now",
    "of",
    "off",
    "ok",
    "okay",
    "on",
    "one",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "out",
    "over",
    "perhaps",
    "please",
    "provided",
    "quite",
    "rather",
    "re",
    "really",
    "same",
    "several",
    "shall",
    "she",
    "should",
    "since",
    "so",
    "some",
    "somebody",
    "somehow",
    "someone",
    "something",
    "somewhere",
    "still",
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
    "though",
    "thus",
    "to",
    "together",
    "too",
    "toward",
    "towards",
    "under",
    "unless",
    "until",
    "up",
    "upon",
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
    "whatever",
    "whats",
    "when",
    "where",
    "whether",
    "which",
    "whichever",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "won",
    "would",
    "yes",
    "yet",
    "you",
    "your",
    "yours",
    "yourself",
];

/// Words that many tools and many requests have: they count less for whether a tool fits.
const WEAK_WORDS: &str = "available check create detail find info information list look looking provide retrieve search see set show";

/// How much a weak word counts for whether a tool fits.
const WEAK: f32 = 0.4;

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
    "song music track tune",
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
    "weather forecast temperature rain snow",
    "hotel accommodation lodging stay",
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
    "flight fly plane airline",
    "trip travel journey itinerary",
    "recipe cook bake",
    "reminder remind alarm alert notify notification",
    "event concert festival show",
    "rent rental lease hire",
    "therapist psychologist counselor",
    "parcel package shipment delivery",
    "news article headline",
    "funny comedy",
    "rotate turn",
    "volume loud sound audio",
    "largest maximum highest biggest",
    "smallest minimum lowest",
    "increase raise",
    "decrease reduce",
    "copy duplicate clone",
    "compare difference",
    "validate verify",
    "lawyer attorney",
    "drug medicine medication",
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

static WEAK_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let words = WEAK_WORDS.split(' ');
    words.map(|word| stem(word).into_owned()).collect()
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

/// Returns how much a term counts for whether a tool fits.
pub(super) fn weight(term: &str, parts: SearchParts) -> f32 {
    let is_weak = parts.has(SearchPart::WeakWords) && WEAK_STEMS.contains(term);
    if is_weak { WEAK } else { 1.0 }
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
