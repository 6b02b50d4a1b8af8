//! Suggests the known word that is most similar to a misspelt word.

use strsim::levenshtein;

/// Maximum length of a word to compare, in bytes.
const WORD_MAX: usize = 40;

/// Returns the known word with the smallest edit distance to a word, ignoring case: at most 2, and at most
/// half of the word's length.
pub fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let lower = word.to_lowercase();
    let near = known
        .iter()
        .map(|candidate| (levenshtein(&lower, &candidate.to_lowercase()), *candidate));
    let (steps, best) = near.min_by_key(|(steps, _)| *steps)?;
    (steps <= 2 && steps * 2 <= word.chars().count()).then_some(best)
}

/// Returns a help text with the known word that is most similar to a misspelt one.
pub(crate) fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    Some(format!("Did you mean '{}'?", closest(word, known)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_probably_meant() {
        let known = [
            "entry",
            "exports",
            "errorMessageLimit",
            "Tool",
            "Agent",
            "가다",
        ];
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(closest(word, &known), expected, "{word}");
        };
        check("entyr", Some("entry"));
        check("export", Some("exports"));
        check("errorMesageLimit", Some("errorMessageLimit"));
        check("error_message_limit", Some("errorMessageLimit"));
        check("tool", Some("Tool"));
        check("Tol", Some("Tool"));
        check("가나", Some("가다"));
        check("xyz", None);
        check("", None);
        check(&"entry".repeat(100), None);
    }
}
