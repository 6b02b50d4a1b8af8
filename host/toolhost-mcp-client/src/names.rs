//! The names that agents call the tools of a server by.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use toolhost::tool::{ExportName, NameError};
use toolhost::{ResourceName, ToolName};

/// Bytes of a digest in a name: eight hexadecimal digits.
const DIGEST_BYTES: usize = 4;

/// Longest tool name, in characters.
const NAME_MAX: usize = 64;

/// Returns the tool name of each name of a server, in the same order, or why it has none. The name depends on
/// the set of names alone, not on their order:
///
/// - a name that is legal is kept: `read_file`
/// - others are written in lower case, with `_` before the capitals of words and in place of other characters:
///   `getIssue` is `get_issue`, `files/read` is `files_read`, `API-get-page` is `api-get-page`
/// - a name that is too long is cut, and one with characters outside ASCII loses them; both end with a digest
///   of the server's name
/// - of names that become the same, the legal one has it; if none is legal, none has it.
pub(crate) fn tool_names(prefix: &ResourceName, names: &[&str]) -> Vec<Result<ToolName, String>> {
    let mut owners = BTreeMap::<ToolName, Owner<'_>>::new();
    let mapped: Vec<Result<Mapped, NameError>> =
        names.iter().map(|name| Mapped::of(prefix, name)).collect();
    for (name, mapped) in names.iter().zip(&mapped) {
        let Ok(mapped) = mapped else {
            continue;
        };
        let owner = owners.entry(mapped.name.clone()).or_insert(Owner {
            first: name,
            is_legal: mapped.is_legal,
            other: None,
        });
        if owner.first == *name {
            continue;
        }
        if mapped.is_legal {
            (owner.first, owner.is_legal) = (name, true);
        } else if !owner.is_legal && owner.other.is_none() {
            owner.other = Some(name);
        }
    }
    let owned = |(name, mapped): (&&str, Result<Mapped, NameError>)| {
        let tool = mapped.map_err(|error| error.to_string())?.name;
        let other = match owners.get(&tool) {
            Some(owner) if owner.first != *name => owner.first,
            Some(Owner {
                is_legal: false,
                other: Some(other),
                ..
            }) => other,
            _ => return Ok(tool),
        };
        Err(format!(
            "its name would be {tool}, and so would that of the tool '{}'",
            toolhost::text::shorten(other, 128)
        ))
    };
    names.iter().zip(mapped).map(owned).collect()
}

/// Who has a tool name.
struct Owner<'n> {
    first: &'n str,
    is_legal: bool,
    /// Another name of the server that becomes the same.
    other: Option<&'n str>,
}

struct Mapped {
    name: ToolName,
    /// Whether it is the server's own name.
    is_legal: bool,
}

impl Mapped {
    fn of(prefix: &ResourceName, name: &str) -> Result<Self, NameError> {
        let legal = ExportName::parse(name);
        if let Ok(name) = legal.and_then(|export| ToolName::new(prefix.clone(), export)) {
            return Ok(Self {
                name,
                is_legal: true,
            });
        }
        let space = NAME_MAX.saturating_sub(prefix.as_str().len() + 2);
        let export = ExportName::parse(&usable(name, space))?;
        Ok(Self {
            name: ToolName::new(prefix.clone(), export)?,
            is_legal: false,
        })
    }
}

/// Writes a name in the characters of tool names, with at most `space` of them.
fn usable(name: &str, space: usize) -> String {
    let mut text = String::new();
    let chars: Vec<char> = name.chars().take(4 * NAME_MAX).collect();
    for (at, char) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(at + 1);
        let begins_word = char.is_ascii_uppercase()
            && before.is_some_and(|before| {
                let ends_capitals =
                    before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase);
                before.is_ascii_lowercase() || before.is_ascii_digit() || ends_capitals
            });
        let char = match char.to_ascii_lowercase() {
            char @ ('a'..='z' | '0'..='9' | '-') => char,
            _ => '_',
        };
        if begins_word && !text.ends_with(['_', '-']) {
            text.push('_');
        }
        if char != '_' || !text.ends_with('_') {
            text.push(char);
        }
    }
    let text = text.trim_matches(['_', '-']);
    if name.is_ascii() && !text.is_empty() && text.len() <= space {
        return text.to_owned();
    }
    let digest = Sha256::digest(name.as_bytes());
    let digest = toolhost::text::hex(digest.iter().take(DIGEST_BYTES));
    let start: String = text
        .chars()
        .take(space.saturating_sub(digest.len() + 1))
        .collect();
    match start.trim_end_matches(['_', '-']) {
        "" => digest,
        start => format!("{start}_{digest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        let prefix = ResourceName::parse("s").unwrap();
        let name = |name: Result<ToolName, String>| match name {
            Ok(name) => name.to_string(),
            Err(reason) => format!("! {reason}"),
        };
        tool_names(&prefix, names).into_iter().map(name).collect()
    }

    #[test]
    fn every_name_has_a_usable_one() {
        let long = "x".repeat(70);
        for (name, expected) in [
            ("read_file", "s__read_file"),
            ("get-sum", "s__get-sum"),
            ("getIssue", "s__get_issue"),
            ("API-get-page", "s__api-get-page"),
            ("calendar.list", "s__calendar_list"),
            ("files/read", "s__files_read"),
            ("getURLOfPage2Now", "s__get_url_of_page2_now"),
            ("two__parts", "s__two_parts"),
            ("_private_", "s__private"),
            ("a b\tc", "s__a_b_c"),
            ("검색_page", "s__page_6df23553"),
            ("검색", "s__4b8d541e"),
            (&long, &format!("s__{}_c71bd109", "x".repeat(52))),
        ] {
            let mapped = names(&[name]).remove(0);
            assert_eq!(mapped, expected, "{name}");
            assert!(mapped.len() <= 64, "{mapped}");
        }
        assert_ne!(names(&["검색 a"]), names(&["찾기 a"]));
    }

    #[test]
    fn names_that_become_the_same_are_given_to_the_legal_one_or_to_none() {
        let taken = "! its name would be s__get_user, and so would that of the tool";
        for (given, expected) in [
            (
                &["getUser", "get_user"][..],
                vec![format!("{taken} 'get_user'"), "s__get_user".to_owned()],
            ),
            (
                &["get_user", "getUser", "get.user"],
                vec![
                    "s__get_user".to_owned(),
                    format!("{taken} 'get_user'"),
                    format!("{taken} 'get_user'"),
                ],
            ),
            (
                &["getUser", "get.user", "other"],
                vec![
                    format!("{taken} 'get.user'"),
                    format!("{taken} 'getUser'"),
                    "s__other".to_owned(),
                ],
            ),
            // The list has it twice: which one is used is not a question of names.
            (
                &["getUser", "getUser"],
                vec!["s__get_user".to_owned(), "s__get_user".to_owned()],
            ),
        ] {
            assert_eq!(names(given), expected, "{given:?}");
        }
    }
}
