//! The word probably meant.

/// Longest word for which one is looked up, in bytes.
const WORD_MAX: usize = 40;

/// Returns the known word that a word was probably meant to be: at most two letters away, and at
/// most half of the word.
pub fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    if word.len() > WORD_MAX {
        return None;
    }
    let lower = word.to_lowercase();
    let near = known
        .iter()
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), *candidate));
    let (steps, best) = near.min_by_key(|(steps, _)| *steps)?;
    (steps <= 2 && steps * 2 <= word.chars().count()).then_some(best)
}

/// Counts the letters to insert, remove or replace between two words (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (above, a) in from.chars().enumerate() {
        let mut corner = above;
        let mut left = above + 1;
        for (b, cell) in to.chars().zip(row.iter_mut().skip(1)) {
            let replaced = corner + usize::from(a != b);
            corner = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = above + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_word_that_was_probably_meant() {
        let known = ["entry", "exports", "errorMessageLimit", "Tool", "Agent"];
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(closest(word, &known), expected, "{word}");
        };
        check("entyr", Some("entry"));
        check("export", Some("exports"));
        check("errorMesageLimit", Some("errorMessageLimit"));
        check("error_message_limit", Some("errorMessageLimit"));
        check("tool", Some("Tool"));
        check("Tol", Some("Tool"));
        check("xyz", None);
        check("", None);
        check(&"entry".repeat(100), None);
    }

    #[test]
    fn counts_the_letters_between_words() {
        for (from, to, steps) in [
            ("", "", 0),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("가나", "가다", 1),
        ] {
            assert_eq!(distance(from, to), steps, "{from} {to}");
        }
    }
}
