//! YAML values with their positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use toolhost_contract::json_pointer;

/// A range of the text, in the units of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// Offset in characters.
    pub offset: usize,
    /// Length in characters; 0 or 1 for lists and mappings.
    pub length: usize,
}

impl From<&Location> for Mark {
    fn from(location: &Location) -> Self {
        let span = location.span();
        Self {
            line: u32::try_from(location.line()).unwrap_or(u32::MAX),
            column: u32::try_from(location.column()).unwrap_or(u32::MAX),
            offset: usize::try_from(span.offset()).unwrap_or(usize::MAX),
            length: usize::try_from(span.len()).unwrap_or(0),
        }
    }
}

/// A value and its position. The position of an alias is where it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The position.
    pub mark: Mark,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, or no value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// A decimal number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order written.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// The position.
    pub mark: Mark,
}

impl Value {
    /// Returns the type in words, as in "expected a string but got a list".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a decimal number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// Returns the value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else {
            return None;
        };
        let entry = entries.iter().find(|(known, _)| known.name == key);
        entry.map(|(_, value)| value)
    }

    /// Returns the value at a JSON pointer, or the innermost one above it that exists.
    pub fn pointer(&self, pointer: &str) -> &Node {
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let name = json_pointer::unescape(segment);
            let next = if let Value::List(items) = &node.value {
                name.parse().ok().and_then(|at: usize| items.get(at))
            } else {
                node.get(&name)
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Returns the position of the key that a JSON pointer ends with, or that of the value if it is not a key.
    pub fn key(&self, pointer: &str) -> Mark {
        let value = self.pointer(pointer);
        let parent = pointer.rsplit_once('/');
        let key = parent.and_then(|(parent, name)| {
            let Value::Map(entries) = &self.pointer(parent).value else {
                return None;
            };
            let name = json_pointer::unescape(name);
            entries.iter().find(|(key, _)| key.name == name)
        });
        key.map_or(value.mark, |(key, _)| key.mark)
    }

    /// Converts the value to JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => serde_json::Number::from_i128(*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| (key.name.clone(), value.to_json()))
                .collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self {
            value: spanned.value,
            mark: Mark::from(&spanned.referenced),
        })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self {
            name: spanned.value,
            mark: Mark::from(&spanned.referenced),
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Value::Map(map))
    }
}
