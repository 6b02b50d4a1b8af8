//! Suggests the known name that is most similar to a misspelt one.

use strsim::osa_distance;

/// Maximum length of a name to compare, in bytes: that of a tool's name.
const NAME_MAX: usize = 64;

/// Separates the name of a Tool and that of its export in the name of a tool.
const SEPARATOR: &str = "__";

/// Returns the known name that was probably meant, ignoring case.
///
/// It is the one with the smallest number of edits, at most 2 and at most half of the name's length. An
/// edit inserts, removes or replaces a character, or swaps two neighbours. If there is none, the name is
/// compared with the parts of tools' names: `json` is similar to `csv__json`. The first of
/// equally similar names is returned.
pub fn closest<'k>(name: &str, candidates: &[&'k str]) -> Option<&'k str> {
    let word = Word::new(name)?;
    let whole = |candidate: &&'k str| word.edits_to(candidate);
    least(candidates, whole)
        .or_else(|| least(candidates, |candidate| word.edits_to_a_part(candidate)))
}

/// Returns a help text with the known name that was probably meant: `Did you mean 'read'?`
pub fn did_you_mean(name: &str, candidates: &[&str]) -> Option<String> {
    Some(format!("Did you mean '{}'?", closest(name, candidates)?))
}

/// Returns the known name that is one edit away, or equal but for case.
pub fn one_edit_away<'k>(name: &str, candidates: &[&'k str]) -> Option<&'k str> {
    let word = Word::new(name)?;
    least(candidates, |candidate| {
        word.edits_to(candidate).filter(|edits| *edits <= 1)
    })
}

/// Returns the candidate with the fewest edits.
fn least<'k>(candidates: &[&'k str], edits: impl Fn(&&'k str) -> Option<usize>) -> Option<&'k str> {
    let similar = candidates.iter().filter_map(|it| Some((edits(it)?, *it)));
    let (_, best) = similar.min_by_key(|(edits, _)| *edits)?;
    Some(best)
}

/// A misspelt name.
struct Word {
    lower: String,
    length: usize,
}

impl Word {
    /// Prepares a name for comparisons; `None` if it is empty or too long.
    fn new(name: &str) -> Option<Self> {
        if name.is_empty() || name.len() > NAME_MAX {
            return None;
        }
        let lower = name.to_lowercase();
        let length = lower.chars().count();
        Some(Self { lower, length })
    }

    /// Returns the number of edits that make the name a known one; `None` if they are too many.
    fn edits_to(&self, candidate: &str) -> Option<usize> {
        // Most names differ in length by more than the edits that are allowed.
        let length = candidate.chars().count();
        if length.abs_diff(self.length) > 2 {
            return None;
        }
        let edits = osa_distance(&self.lower, &candidate.to_lowercase());
        (edits <= 2 && edits * 2 <= self.length).then_some(edits)
    }

    fn edits_to_a_part(&self, tool: &str) -> Option<usize> {
        let (resource, export) = tool.split_once(SEPARATOR)?;
        let parts = [export, resource].into_iter();
        parts.filter_map(|part| self.edits_to(part)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_name_that_was_probably_meant() {
        let names = [
            "entry",
            "exports",
            "errorMessageLimit",
            "Tool",
            "Agent",
            "가다",
            "ls",
        ];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(closest(name, &names), expected, "{name}");
        };
        check("entyr", Some("entry"));
        check("export", Some("exports"));
        check("errorMesageLimit", Some("errorMessageLimit"));
        check("error_message_limit", Some("errorMessageLimit"));
        check("tool", Some("Tool"));
        check("Tol", Some("Tool"));
        check("가나", Some("가다"));
        // Swapped neighbours are one edit.
        check("sl", Some("ls"));
        check("xyz", None);
        check("", None);
        check(&"entry".repeat(100), None);
    }

    #[test]
    fn finds_a_tool_by_a_part_of_its_name() {
        let known = ["csv__json", "csv__stats", "json", "notes__count"];
        let check = |name: &str, known: &[&str], expected: Option<&str>| {
            assert_eq!(closest(name, known), expected, "{name}");
        };
        check("json", &known[..2], Some("csv__json"));
        check("json", &known, Some("json"));
        check("cuont", &known, Some("notes__count"));
        check("notes", &known, Some("notes__count"));
        check("stats__csv", &known, None);
        check("s", &known, None);
        check("", &["__"], None);
    }

    #[test]
    fn a_name_one_edit_away_is_more_certain() {
        let names = ["required", "format", "items"];
        for (name, expected) in [
            ("requird", Some("required")),
            ("Required", Some("required")),
            ("form", None),
            ("item", Some("items")),
        ] {
            assert_eq!(one_edit_away(name, &names), expected, "{name}");
        }
    }
}
