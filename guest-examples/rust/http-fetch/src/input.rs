//! The input of all exports.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use toolhost_guest::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    pub(crate) method: Option<Method>,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) query: Fields,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(flatten)]
    pub(crate) body: BodyInput,
    #[serde(default, rename = "as")]
    pub(crate) conversion: Conversion,
    pub(crate) save_to: Option<String>,
    #[serde(default)]
    pub(crate) overwrite: bool,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) max_bytes: Option<usize>,
    pub(crate) max_redirects: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl From<Method> for http_exchange::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::Get,
            Method::Head => Self::Head,
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
            Method::Options => Self::Options,
        }
    }
}

/// What becomes of an HTML page.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Conversion {
    #[default]
    Raw,
    Markdown,
    Text,
}

/// The body of a request: at most one of these, and `base64` beside `body`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BodyInput {
    /// `null` is a body, too.
    #[serde(default, deserialize_with = "present")]
    pub(crate) json: Option<Value>,
    pub(crate) form: Option<Fields>,
    pub(crate) multipart: Option<Vec<Part>>,
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) base64: bool,
    pub(crate) body_path: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) filename: Option<String>,
    #[serde(rename = "type")]
    pub(crate) content_type: Option<String>,
}

/// Names and values of a form or a query, an object; a name may have several values.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields(Value);

impl Fields {
    /// Returns the pairs in order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, String)> {
        self.0
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(name, value)| {
                let values = match value {
                    Value::Array(values) => values.as_slice(),
                    value => std::slice::from_ref(value),
                };
                values.iter().map(|value| (name.as_str(), text(value)))
            })
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
