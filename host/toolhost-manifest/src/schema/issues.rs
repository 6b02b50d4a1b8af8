//! What does not fit, each with its place: `args.n: expected string but got integer`.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value};

use super::{path, problem};

/// Most issues listed; the rest is counted.
const SHOWN: usize = 5;

/// Most issues counted, so that a list of a million wrong items does not take a second.
const COUNTED: usize = 1_000;

/// The issues of one value.
#[derive(Debug)]
pub(super) struct Issues {
    shown: Vec<String>,
    more: usize,
}

impl Issues {
    /// An issue by itself.
    pub(super) fn one(issue: &str) -> Self {
        Self {
            shown: vec![issue.to_owned()],
            more: 0,
        }
    }

    /// Reads the validator's errors about `args`.
    pub(super) fn of<'e>(args: &Value, errors: impl Iterator<Item = ValidationError<'e>>) -> Self {
        let mut issues = Self {
            shown: Vec::new(),
            more: 0,
        };
        for error in errors {
            for issue in lines(args, &error) {
                issues.add(issue);
            }
            if issues.more >= COUNTED {
                break;
            }
        }
        issues
    }

    fn add(&mut self, issue: String) {
        // Two branches of an `allOf` may say the same.
        if self.shown.contains(&issue) {
            return;
        }
        if self.shown.len() < SHOWN {
            self.shown.push(issue);
        } else {
            self.more += 1;
        }
    }

    /// The issues in one line, at most 5, then `; +N more issues`.
    pub(super) fn line(&self) -> String {
        let shown = self.shown.join("; ");
        match self.more {
            0 => shown,
            1 => format!("{shown}; +1 more issue"),
            more if more < COUNTED => format!("{shown}; +{more} more issues"),
            _ => format!("{shown}; +{COUNTED} or more issues"),
        }
    }
}

fn lines(args: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let place = path::dotted("args", error.instance_path());
    let unexpected = |name: &String| format!("{}: unexpected property", path::member(&place, name));
    if let Kind::Required {
        property: Value::String(name),
    } = error.kind()
    {
        return vec![format!(
            "{}: required property is missing",
            path::member(&place, name)
        )];
    }
    if let Kind::AdditionalProperties { unexpected: names }
    | Kind::UnevaluatedProperties { unexpected: names } = error.kind()
    {
        return names.iter().take(SHOWN + COUNTED).map(unexpected).collect();
    }
    if problem::forbids_members(error) {
        let object = args.pointer(error.instance_path().as_str());
        let members = object.and_then(Value::as_object).into_iter();
        let names = members.flat_map(Map::keys);
        return names.take(SHOWN + COUNTED).map(unexpected).collect();
    }
    vec![format!("{place}: {}", problem::of(error))]
}
