//! Keeps secrets out of what leaves the host.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{HandlerError, ToolError, ToolResult};

use crate::middleware::ToolCallContext;
use crate::pipeline::{BoxFuture, Middleware, Next};

/// Replaces each secret by `[redacted:NAME]` wherever it stands in a result or an error: a
/// `toolCall` middleware, and what the host itself uses for the secrets of its policy, in logs too.
///
/// A secret is found as it is, and as JSON text would escape it. It is not found when a tool
/// encodes it (base64, reversed): what a tool must not tell, it must not be given.
///
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret within a secret leaves nothing of the longer one.
    secrets: Arc<[(String, String)]>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.secrets.iter().map(|(_, shown)| shown);
        f.debug_set().entries(names).finish()
    }
}

impl Redactor {
    /// Redacts these: `(name, secret)`. An empty secret is passed over.
    pub fn new<N: Into<String>, S: Into<String>>(
        secrets: impl IntoIterator<Item = (N, S)>,
    ) -> Self {
        let mut by_text = BTreeMap::new();
        for (name, secret) in secrets {
            let (shown, secret) = (format!("[redacted:{}]", name.into()), secret.into());
            if secret.is_empty() {
                continue;
            }
            let escaped = Value::from(secret.as_str()).to_string();
            let escaped = escaped.trim_matches('"');
            by_text.insert(escaped.to_owned(), shown.clone());
            by_text.insert(secret, shown);
        }
        let mut secrets: Vec<(String, String)> = by_text.into_iter().collect();
        secrets.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        Self {
            secrets: secrets.into(),
        }
    }

    /// Whether there is nothing to redact.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for (secret, shown) in self.secrets.iter() {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), shown));
            }
        }
        clean
    }

    /// The result without secrets: in its output's texts and keys, and in its error.
    #[must_use]
    pub fn result(&self, mut result: ToolResult) -> ToolResult {
        if self.is_empty() {
            return result;
        }
        if let Some(output) = result.output_mut() {
            self.value(output);
        }
        if let Some(error) = result.error_mut() {
            *error = self.error(error.clone());
        }
        result
    }

    /// What a handler raised, without secrets, before anything of it is cut.
    pub(crate) fn raised(&self, mut error: HandlerError) -> HandlerError {
        if self.is_empty() {
            return error;
        }
        self.own(&mut error.message);
        let more = [&mut error.name, &mut error.suggestion, &mut error.help_url];
        more.into_iter().flatten().for_each(|text| self.own(text));
        error.code = error
            .code
            .filter(|code| matches!(self.text(code), Cow::Borrowed(_)));
        error
    }

    fn own(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    /// The error without secrets.
    pub(crate) fn error(&self, mut error: ToolError) -> ToolError {
        self.own(&mut error.message);
        let more = [&mut error.name, &mut error.suggestion, &mut error.help_url];
        more.into_iter().flatten().for_each(|text| self.own(text));
        error
    }

    /// Takes secrets out of a value's texts, keys and numbers.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.own(text),
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.text(&number.to_string()) {
                    *value = Value::String(clean);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.value(member));
                if members
                    .keys()
                    .any(|key| matches!(self.text(key), Cow::Owned(_)))
                {
                    let clean = |(key, member): (String, Value)| (self.text(&key).into(), member);
                    *members = std::mem::take(members).into_iter().map(clean).collect();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl Middleware<ToolCallContext> for Redactor {
    fn handle(
        &self,
        context: ToolCallContext,
        next: Next<ToolCallContext>,
    ) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { self.result(next.run(context).await) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_is_left_in_texts_keys_or_errors() {
        let redactor = Redactor::new([("A", "sk-12345"), ("B", "sk-12345-long"), ("C", "li\"ne")]);
        let output = json!({
            "a": ["x sk-12345 y", {"sk-12345-long": 1}],
            "b": "{\"inner\": \"li\\\"ne\"} li\"ne",
        });
        let clean = redactor.result(ToolResult::ok("c", "t", output));
        let text = clean.output().unwrap().to_string();
        assert!(!text.contains("12345") && !text.contains("li"), "{text}");
        assert_eq!(
            clean.output().unwrap()["a"],
            json!(["x [redacted:A] y", {"[redacted:B]": 1}])
        );
        assert_eq!(redactor.text("nothing here"), "nothing here");
        assert!(!format!("{redactor:?}").contains("12345"));
    }

    #[test]
    fn no_secret_is_left_in_a_number_or_in_what_a_handler_raises() {
        let redactor = Redactor::new([("PIN", "48151623"), ("T", "sk-1")]);
        let clean = redactor.result(ToolResult::ok("c", "t", json!({"n": 48151623, "m": 7})));
        assert_eq!(
            clean.output(),
            Some(&json!({"n": "[redacted:PIN]", "m": 7}))
        );
        let raised = redactor.raised(HandlerError::new("at sk-1").with_code("sk-1"));
        assert_eq!(raised, HandlerError::new("at [redacted:T]"));
    }

    #[test]
    fn an_empty_secret_redacts_nothing() {
        let redactor = Redactor::new([("A", "")]);
        assert!(redactor.is_empty());
        assert_eq!(redactor.text("text"), "text");
    }
}
