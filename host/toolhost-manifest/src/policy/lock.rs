//! Reads the key `lock`: which differences from `toolhost.lock` keep a bundle from loading.

use std::collections::BTreeSet;

use crate::lock::Grade;
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::suggest::closest;
use toolhost_contract::text::short;

/// What is done where a tool differs from the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRule {
    /// The differences that are errors; others are warnings. Default: all.
    pub stops: BTreeSet<Grade>,
    /// Whether a bundle without a lock is refused. Default: no.
    pub required: bool,
}

impl Default for LockRule {
    fn default() -> Self {
        Self {
            stops: Grade::ALL.into_iter().collect(),
            required: false,
        }
    }
}

/// Reads `all`, `none`, a list of grades, or `{stops, required}`.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<LockRule> {
    if !matches!(at.node.value, Value::Map(_)) {
        let stops = read_stops(at, findings)?;
        return Some(LockRule {
            stops,
            required: false,
        });
    }
    at.mapping(findings, |fields| {
        let default = LockRule::default();
        Some(LockRule {
            stops: fields.read("stops", read_stops).unwrap_or(default.stops),
            required: fields.read("required", Cursor::boolean).unwrap_or_default(),
        })
    })
}

fn read_stops(at: &Cursor<'_>, findings: &mut Findings) -> Option<BTreeSet<Grade>> {
    if let Value::Text(word) = &at.node.value {
        return match word.as_str() {
            "all" => Some(LockRule::default().stops),
            "none" => Some(BTreeSet::new()),
            _ => at.expected(
                "'all', 'none' or a list of grades such as [words]",
                findings,
            ),
        };
    }
    let grades = at.items(findings)?;
    let grade = |item: Cursor<'_>| {
        let text = item.text(findings)?;
        let grade = Grade::ALL.into_iter().find(|grade| grade.as_str() == text);
        grade.or_else(|| {
            let names = Grade::ALL.map(Grade::as_str);
            let close = match text {
                "schema-changed" | "schema-wider" | "schema-narrower" => {
                    Some(Grade::Schema.as_str())
                }
                _ => closest(text, &names),
            };
            let mut message = format!(
                "unknown grade '{}'; the grades are {}",
                short(text),
                names.join(", ")
            );
            if let Some(close) = close {
                message.push_str(&format!("; did you mean '{close}'?"));
            }
            item.refuse(message, findings)
        })
    };
    grades.into_iter().map(grade).collect()
}
