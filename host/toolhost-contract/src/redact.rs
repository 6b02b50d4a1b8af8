//! Keeps secrets out of what leaves the host.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::text::{self, cuts};
use crate::{Denial, HandlerError, ToolError, ToolResult};
use serde_json::Value;

/// Shortest line of a secret that is looked for by itself, in characters: a shorter one would be taken
/// out of ordinary words.
const LINE_MIN: usize = 8;

/// Shortest piece of a secret that is taken out next to a cut, in characters.
const PIECE_MIN: usize = 4;

/// Replaces each secret by `[redacted:NAME]` wherever it stands in a result or an error: a
/// `toolCall` middleware, and what the host itself uses for the secrets of its policy, in logs too.
///
/// A secret is found as it is, without the blanks around it, and each of its lines of 8 characters or
/// more; as JSON text and as a log would escape it; and the piece that is left of it where what a tool
/// prints was cut. It is not found when a tool encodes it (base64, reversed): what a tool must not
/// tell, it must not be given.
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
            for form in forms(&secret) {
                by_text.entry(form).or_insert_with(|| shown.clone());
            }
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
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = self.whole_at_cuts(text);
        for (secret, shown) in self.secrets.iter() {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), shown));
            }
        }
        clean
    }

    /// The text without the pieces of secrets that a cut has left.
    fn whole_at_cuts<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for cut in cuts(text) {
            let (Some(before), Some(after)) = (clean.get(..cut.start), clean.get(cut.end..)) else {
                continue;
            };
            // Half a character is shown as this.
            let before = before.trim_end_matches('\u{fffd}');
            let after = after.trim_start_matches('\u{fffd}');
            let of = |piece: fn(&str, &str) -> usize, text: &str| {
                let each = self.secrets.iter();
                let each = each.map(|(secret, shown)| (piece(secret, text), shown.as_str()));
                each.max_by_key(|(length, _)| *length)
                    .filter(|(length, _)| *length > 0)
                    .unwrap_or_default()
            };
            let (begun, head) = of(beginning, before);
            let (ended, tail) = of(end, after);
            if begun + ended == 0 {
                continue;
            }
            let before = before.get(..before.len() - begun).unwrap_or_default();
            let after = after.get(ended..).unwrap_or_default();
            let mark = clean.get(cut).unwrap_or_default();
            clean = Cow::Owned(format!("{before}{head}{mark}{tail}{after}"));
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
    pub fn raised(&self, mut error: HandlerError) -> HandlerError {
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

    /// The denials without secrets: a request's words are the guest's.
    pub fn denials(&self, denials: &mut [Denial]) {
        for denial in denials {
            if let Denial::HttpRequest(rule) = denial {
                self.own(rule);
            }
        }
    }

    /// The error without secrets.
    pub fn error(&self, mut error: ToolError) -> ToolError {
        self.own(&mut error.message);
        let more = [&mut error.name, &mut error.suggestion, &mut error.help_url];
        more.into_iter().flatten().for_each(|text| self.own(text));
        error
    }

    /// Takes secrets out of a value's texts, keys and numbers.
    pub fn value(&self, value: &mut Value) {
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

/// The texts as which a secret is found.
fn forms(secret: &str) -> Vec<String> {
    let lines = secret.lines().map(str::trim);
    let lines = lines.filter(|line| line.chars().count() >= LINE_MIN);
    let plain = [secret, secret.trim()].into_iter().chain(lines);
    let mut forms = Vec::new();
    for form in plain.filter(|form| !form.is_empty()) {
        let json = Value::from(form).to_string();
        let json = json
            .strip_prefix('"')
            .and_then(|json| json.strip_suffix('"'));
        forms.extend(json.map(str::to_owned));
        forms.extend([form.to_owned(), text::escape(form)]);
    }
    forms
}

/// How many bytes of a secret's beginning a text ends with.
fn beginning(secret: &str, text: &str) -> usize {
    let ends = secret.char_indices().map(|(at, c)| at + c.len_utf8());
    let pieces = ends.skip(PIECE_MIN - 1).filter_map(|at| secret.get(..at));
    longest(pieces.filter(|piece| text.ends_with(piece)))
}

/// How many bytes of a secret's end a text begins with.
fn end(secret: &str, text: &str) -> usize {
    let begins = secret.char_indices().rev().map(|(at, _)| at);
    let pieces = begins.skip(PIECE_MIN - 1).filter_map(|at| secret.get(at..));
    longest(pieces.filter(|piece| text.starts_with(piece)))
}

fn longest<'s>(pieces: impl Iterator<Item = &'s str>) -> usize {
    pieces.map(str::len).max().unwrap_or_default()
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
    fn no_line_of_a_secret_is_left_however_it_is_printed_and_cut() {
        let lines = [
            "-----BEGIN KEY-----",
            "MIIEvQIBADANBg\"kq",
            "가나다라마바사아자",
            "q8/w==",
        ];
        let secret = format!("{}\n", lines.join("\n"));
        let redactor = Redactor::new([("KEY", secret.as_str()), ("T", "  sk-1234 \n")]);
        let clean = |text: &str| {
            let clean = redactor.text(text).into_owned();
            let pieces = ["BEGIN", "MIIE", "kq", "가나다라", "사아자", "sk-1", "1234"];
            assert!(!pieces.iter().any(|piece| clean.contains(piece)), "{clean}");
            clean
        };
        for said in [
            secret.as_str(),
            secret.trim(),
            "x sk-1234.",
            lines[1],
            &lines.join(" "),
        ] {
            clean(said);
            clean(&text::escape(&format!("a\n{said}\nb")));
            clean(&json!({"a": [said]}).to_string());
        }
        assert_eq!(clean("a sk-1234 b"), "a [redacted:T] b");
        let escaped = text::escape(&secret);
        for (at, _) in escaped.char_indices().filter(|(at, _)| *at > 30) {
            clean(&format!("x {}… (cut)", escaped.get(..at).unwrap()));
        }
        for from in 0..secret.len() {
            for to in from..secret.len() {
                let head = String::from_utf8_lossy(&secret.as_bytes()[..from]).into_owned();
                let tail = String::from_utf8_lossy(&secret.as_bytes()[to..]).into_owned();
                let kept = redactor
                    .text(&format!("{head}\n… {} bytes left out …\n{tail}", to - from))
                    .into_owned();
                // Fewer than four characters of a line on either side of the cut are nobody's secret.
                for piece in ["BEGIN", "MIIE", "vQIB", "가나다라", "사아자\n"] {
                    assert!(!kept.contains(piece), "{kept}");
                }
            }
        }
        let ordinary = "… 12 bytes left out … of q8, nothing more… (cut)";
        assert_eq!(redactor.text(ordinary), ordinary);
    }

    #[test]
    fn an_empty_secret_redacts_nothing() {
        let redactor = Redactor::new([("A", "")]);
        assert!(redactor.is_empty());
        assert_eq!(redactor.text("text"), "text");
    }
}
