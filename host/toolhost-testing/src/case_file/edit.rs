//! Changes expectations in the text of a case file. Comments and formatting stay, as only the text of the
//! values changes.
//!
//! The new text is parsed again: if more than the values has changed, the edit fails.

mod extent;

use serde_json::Value as Json;

use toolhost_manifest::YamlSource;
use toolhost_manifest::yaml::{self, Key, Node, Value, write};

use crate::mismatch::Change;

/// The new text of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The text.
    pub text: String,
    /// How many values changed.
    pub changed: usize,
}

/// Why a case file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} cannot be changed without changing more: change it by hand")]
pub struct EditError {
    /// The value: `'expect.output' of case 1`.
    pub place: String,
}

/// Makes one change after another, each in the text that the previous one left.
pub(super) fn edited(
    source: &YamlSource,
    node: &Node,
    changes: &[Change],
) -> Result<Edited, EditError> {
    let (mut source, mut node) = (source.clone(), node.clone());
    for change in changes {
        let change = &keeping_rest(change, &node);
        let failed = || EditError {
            place: format!("'{}' of case {}", change.path.join("."), change.case + 1),
        };
        let text = replaced(&source, &node, change).ok_or_else(failed)?;
        let intended = intended(node.to_json(), change).ok_or_else(failed)?;
        source = YamlSource::new(source.name(), &text);
        let again = parse(&source).filter(|again| again.to_json() == intended);
        node = again.ok_or_else(failed)?;
    }
    Ok(Edited {
        text: source.text().to_owned(),
        changed: changes.len(),
    })
}

/// The keys about the result. The others stay if another result is accepted.
const RESULT_KEYS: [&str; 6] = [
    "status",
    "output",
    "outputContains",
    "outputAt",
    "outputMatches",
    "error",
];

/// Adds to a change of all of `expect` the keys that are not about the result.
fn keeping_rest(change: &Change, document: &Node) -> Change {
    let mut change = change.clone();
    if let ([only], Json::Object(value), Value::List(cases)) =
        (change.path.as_slice(), &mut change.value, &document.value)
    {
        let known = cases.get(change.case).and_then(|case| case.get(only));
        if let Some(Json::Object(mut known)) = known.map(Node::to_json) {
            known.retain(|key, _| !RESULT_KEYS.contains(&key.as_str()));
            value.extend(known);
        }
    }
    change
}

fn parse(source: &YamlSource) -> Option<Node> {
    let mut documents = yaml::documents(source, 2).into_iter();
    let first = documents.next()?.ok()?;
    documents.next().is_none().then_some(first)
}

/// Returns the document as JSON, with the change made.
fn intended(mut document: Json, change: &Change) -> Option<Json> {
    let mut at = document.get_mut(change.case)?;
    if let [only] = change.path.as_slice() {
        let case = at.as_object_mut()?;
        case.insert(only.clone(), change.value.clone());
        return Some(document);
    }
    for key in &change.path {
        at = at.as_object_mut()?.get_mut(key)?;
    }
    *at = change.value.clone();
    Some(document)
}

/// Finds the changed key and its value. Returns also whether they are in braces.
fn find<'n>(
    source: &YamlSource,
    document: &'n Node,
    change: &Change,
) -> Option<(&'n Key, &'n Node, bool)> {
    let Value::List(cases) = &document.value else {
        return None;
    };
    let mut node = cases.get(change.case)?;
    let mut braced = is_braced(source, document) || is_braced(source, node);
    let mut place = None;
    for name in &change.path {
        let Value::Map(entries) = &node.value else {
            return None;
        };
        let (key, value) = entries.iter().find(|(key, _)| key.name == *name)?;
        place = Some((key, value, braced));
        braced = braced || is_braced(source, value);
        node = value;
    }
    place
}

fn is_braced(source: &YamlSource, node: &Node) -> bool {
    let start = source.place(node.mark, "").position;
    let text = start.and_then(|at| source.text().get(at.span.offset..));
    text.is_some_and(|text| text.starts_with(['{', '[']))
}

/// Returns the text with the value of a key replaced, or with a key of the case added.
fn replaced(source: &YamlSource, document: &Node, change: &Change) -> Option<String> {
    let Some((key, value, braced)) = find(source, document, change) else {
        return added(source, document, change);
    };
    let (start, end) = extent::of_value(source, key, value, braced)?;
    let text_of_value = written(&change.value, key, braced)?;
    let (before, after) = (source.text().get(..start)?, source.text().get(end..)?);
    Some(format!("{before}{text_of_value}{after}"))
}

/// Returns the text with a key added after the last one of the case.
fn added(source: &YamlSource, document: &Node, change: &Change) -> Option<String> {
    let ([name], Value::List(cases)) = (change.path.as_slice(), &document.value) else {
        return None;
    };
    let case = cases.get(change.case)?;
    let Value::Map(entries) = &case.value else {
        return None;
    };
    let (key, value) = entries.last()?;
    let braced = is_braced(source, document) || is_braced(source, case);
    let (_, end) = extent::of_value(source, key, value, braced)?;
    let text_of_value = written(&change.value, key, braced)?;
    let text = source.text();
    if braced {
        let (before, after) = (text.get(..end)?, text.get(end..)?);
        return Some(format!("{before}, {name}:{text_of_value}{after}"));
    }
    // Behind a comment on the last line of the value.
    let line = text.get(end..)?.find('\n').unwrap_or(text.len() - end);
    let (before, after) = (text.get(..end + line)?, text.get(end + line..)?);
    let indent = column(key)?;
    Some(format!(
        "{before}\n{:indent$}{name}:{text_of_value}{after}",
        ""
    ))
}

/// Formats a value, to stand behind the colon of a key that is indented as `key` is.
fn written(value: &Json, key: &Key, braced: bool) -> Option<String> {
    if braced {
        Some(format!(" {}", write::inline(value)))
    } else {
        Some(write::value(value, column(key)?))
    }
}

/// Returns how many columns a key is indented.
fn column(key: &Key) -> Option<usize> {
    usize::try_from(key.mark.column).ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests;
