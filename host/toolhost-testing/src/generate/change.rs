//! A change of arguments that fit, by which they become another case.

use serde_json::{Value, json};
use toolhost_contract::JsonObject;

use super::budget::Size;
use super::label::label;

/// A change of arguments.
#[derive(Debug)]
pub(super) struct Change {
    /// What is special about the case.
    pub(super) name: String,
    /// What changes.
    at: At,
    /// The new value; none removes the argument.
    value: Option<Value>,
}

#[derive(Debug)]
enum At {
    /// An argument, by its name.
    Argument(String),
    /// A value, by its JSON pointer.
    Pointer(String),
}

impl Change {
    /// Removes an argument.
    pub(super) fn without(name: &str) -> Self {
        Self {
            name: format!("without {name}"),
            at: At::Argument(name.to_owned()),
            value: None,
        }
    }

    /// Adds an argument.
    pub(super) fn with(name: &str) -> Self {
        Self {
            name: format!("with {name}"),
            at: At::Argument(name.to_owned()),
            value: Some(json!(1)),
        }
    }

    /// Replaces an argument.
    pub(super) fn set(name: &str, value: Value) -> Self {
        Self {
            name: label(name, &value),
            at: At::Argument(name.to_owned()),
            value: Some(value),
        }
    }

    /// Replaces a value by its JSON pointer.
    pub(super) fn replace(pointer: &str, value: Value) -> Self {
        Self {
            name: label(pointer.trim_start_matches('/'), &value),
            at: At::Pointer(pointer.to_owned()),
            value: Some(value),
        }
    }

    /// Returns the most that the changed arguments add to those before.
    pub(super) fn size(&self) -> Size {
        self.value.as_ref().map(Size::of).unwrap_or_default()
    }

    /// Returns the changed arguments.
    pub(super) fn apply(self, base: &JsonObject) -> JsonObject {
        let mut args = base.clone();
        match (self.at, self.value) {
            (At::Argument(name), Some(value)) => {
                args.insert(name, value);
            }
            (At::Argument(name), None) => {
                args.shift_remove(&name);
            }
            (At::Pointer(pointer), value) => return replaced(args, &pointer, value),
        }
        args
    }
}

fn replaced(args: JsonObject, pointer: &str, value: Option<Value>) -> JsonObject {
    let mut whole = Value::Object(args);
    if let (Some(target), Some(value)) = (whole.pointer_mut(pointer), value) {
        *target = value;
    }
    let Value::Object(args) = whole else {
        return JsonObject::new();
    };
    args
}
