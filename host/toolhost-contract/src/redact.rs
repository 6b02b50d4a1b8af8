//! Removes secrets from results, errors and logs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::Value;

use crate::text::{self, cuts};
use crate::{Denial, FileChangeKind, FileChanges, HandlerError, ToolError, ToolResult};

/// Shortest line of a secret that is redacted by itself, in characters. Shorter ones would match
/// ordinary words.
const LINE_MIN: usize = 8;

/// Shortest piece of a secret that is redacted next to a truncation mark, in characters.
const PIECE_MIN: usize = 4;

/// Replaces secrets in results, errors and logs with `[redacted:NAME]`.
///
/// The host redacts the secrets of its policy and of its credential provider. A runtime can redact
/// others with a redactor as `toolCall` middleware.
///
/// A redactor finds:
///
/// - the secret, with and without surrounding whitespace, and each of its lines of 8 characters or more;
/// - their escaped forms in JSON and logs;
/// - the start or end of a secret next to a truncation mark.
///
/// It does not find encoded secrets, such as base64 or reversed text. Do not give a tool secrets that
/// it must not disclose.
///
/// Cheap to clone. Clones share their secrets: all redact a secret that is [added](Self::add) to one.
/// Redacting takes no lock.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Arc<ArcSwap<Secrets>>,
}

#[derive(Clone, Default)]
struct Secrets {
    /// The secrets as they were given.
    known: BTreeSet<String>,
    /// Pairs of text to find and replacement, longest first, so that a secret within a longer one does
    /// not prevent its redaction.
    forms: Vec<(String, String)>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets = self.secrets.load();
        let names = secrets.forms.iter().map(|(_, replacement)| replacement);
        f.debug_set().entries(names).finish()
    }
}

impl Secrets {
    /// Returns these secrets and more pairs of replacement and secret. Of several replacements of one
    /// text, the first counts.
    fn with(&self, added: &[(String, String)]) -> Self {
        let mut known = self.known.clone();
        let mut by_text: BTreeMap<_, _> = self.forms.iter().cloned().collect();
        for (replacement, secret) in added {
            if known.insert(secret.clone()) {
                for form in forms(secret) {
                    by_text.entry(form).or_insert_with(|| replacement.clone());
                }
            }
        }
        let mut forms: Vec<(String, String)> = by_text.into_iter().collect();
        forms.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self { known, forms }
    }

    /// Redacts pieces of secrets next to truncation marks.
    fn redact_at_cuts<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for cut in cuts(text) {
            let (Some(before), Some(after)) = (clean.get(..cut.start), clean.get(cut.end..)) else {
                continue;
            };
            // Half of a character at the cut was replaced with U+FFFD.
            let before = before.trim_end_matches('\u{fffd}');
            let after = after.trim_start_matches('\u{fffd}');
            let longest = |piece: fn(&str, &str) -> usize, text: &str| {
                let forms = self.forms.iter();
                let pieces = forms.map(|(secret, name)| (piece(secret, text), name.as_str()));
                let longest = pieces.max_by_key(|(length, _)| *length);
                longest
                    .filter(|(length, _)| *length > 0)
                    .unwrap_or_default()
            };
            let (begun, head) = longest(beginning, before);
            let (ended, tail) = longest(end, after);
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
}

impl Redactor {
    /// Creates a redactor of pairs `(name, secret)`. Ignores empty secrets.
    pub fn new<N: AsRef<str>, S: AsRef<str>>(secrets: impl IntoIterator<Item = (N, S)>) -> Self {
        let redactor = Self::default();
        redactor.add(secrets);
        redactor
    }

    /// Adds pairs `(name, secret)`. Ignores empty secrets. A secret that was added before keeps its name.
    pub fn add<N: AsRef<str>, S: AsRef<str>>(&self, secrets: impl IntoIterator<Item = (N, S)>) {
        let mut secrets = secrets.into_iter().peekable();
        if secrets.peek().is_none() {
            return;
        }
        let current = self.secrets.load();
        let added = secrets.filter_map(|(name, secret)| {
            let (name, secret) = (name.as_ref(), secret.as_ref());
            let is_new = !secret.is_empty() && !current.known.contains(secret);
            is_new.then(|| (format!("[redacted:{name}]"), secret.to_owned()))
        });
        let added: Vec<(String, String)> = added.collect();
        if !added.is_empty() {
            // If another thread added secrets meanwhile, the closure runs again with them.
            self.secrets.rcu(|current| current.with(&added));
        }
    }

    /// Returns whether there are no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.load().forms.is_empty()
    }

    /// Redacts a text.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.secrets.load();
        if secrets.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = secrets.redact_at_cuts(text);
        for (secret, replacement) in &secrets.forms {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), replacement));
            }
        }
        clean
    }

    /// Redacts a text, and keeps its length in bytes: a secret is replaced with `[redacted:NAME]` and
    /// asterisks, with asterisks alone if it is shorter, and with ones if it consists of digits.
    #[must_use]
    pub fn same_length<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.secrets.load();
        let mut clean = Cow::Borrowed(text);
        for (secret, replacement) in &secrets.forms {
            if clean.contains(secret.as_str()) {
                clean = Cow::Owned(clean.replace(secret.as_str(), &filled(secret, replacement)));
            }
        }
        clean
    }

    /// Redacts bytes as [`same_length`](Self::same_length) redacts a text.
    #[must_use]
    pub fn same_length_bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let secrets = self.secrets.load();
        let mut clean = Cow::Borrowed(bytes);
        for (secret, replacement) in &secrets.forms {
            let found: Vec<usize> = memchr::memmem::find_iter(&clean, secret).collect();
            for at in found {
                if let Some(piece) = clean.to_mut().get_mut(at..at + secret.len()) {
                    piece.copy_from_slice(filled(secret, replacement).as_bytes());
                }
            }
        }
        clean
    }

    /// Redacts the texts, keys and numbers of a value as [`same_length`](Self::same_length) redacts a text.
    pub fn same_length_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.same_length(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.same_length(&number.to_string()) {
                    *value = serde_json::from_str(&clean).unwrap_or(Value::String(clean));
                }
            }
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.same_length_value(item)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| self.same_length_value(member));
                let is_found = |key: &String| matches!(self.same_length(key), Cow::Owned(_));
                if members.keys().any(is_found) {
                    let clean = |(key, member): (String, Value)| {
                        (self.same_length(&key).into_owned(), member)
                    };
                    *members = std::mem::take(members).into_iter().map(clean).collect();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Redacts the output and the error of a result.
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

    /// Redacts the error of a handler. Drops a code that contains a secret. Must run before truncation.
    pub fn handler_error(&self, mut error: HandlerError) -> HandlerError {
        let more = [&mut error.name, &mut error.suggestion, &mut error.help_url];
        self.redact_all(&mut error.message, more);
        error.code = error.code.filter(|code| !self.finds_in(code));
        error
    }

    /// Redacts an error.
    pub fn error(&self, mut error: ToolError) -> ToolError {
        let more = [&mut error.name, &mut error.suggestion, &mut error.help_url];
        self.redact_all(&mut error.message, more);
        error
    }

    /// Redacts denials. A guest chooses the text of a request, and a host that a rule with `*` allows.
    pub fn denials(&self, denials: &mut [Denial]) {
        for denial in denials {
            if let Denial::HttpRequest(text) | Denial::HttpNetwork { host: text, .. } = denial {
                self.redact(text);
            }
        }
    }

    /// Redacts the paths of changed files, which a guest chooses.
    pub fn changes(&self, changes: &mut FileChanges) {
        for file in &mut changes.files {
            self.redact(&mut file.path);
            if let FileChangeKind::Renamed { from } = &mut file.kind {
                self.redact(from);
            }
        }
    }

    fn redact_all(&self, message: &mut String, more: [&mut Option<String>; 3]) {
        self.redact(message);
        more.into_iter()
            .flatten()
            .for_each(|text| self.redact(text));
    }

    fn redact(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    fn finds_in(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Redacts the texts, keys and numbers of a value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact(text),
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.text(&number.to_string()) {
                    *value = Value::String(clean);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.value(member));
                if members.keys().any(|key| self.finds_in(key)) {
                    let clean = |(key, member): (String, Value)| (self.text(&key).into(), member);
                    *members = std::mem::take(members).into_iter().map(clean).collect();
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Returns the forms of a secret that are redacted.
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

/// Returns a text as long as the secret.
fn filled(secret: &str, replacement: &str) -> String {
    let bytes = secret.len();
    if secret.bytes().all(|byte| byte.is_ascii_digit()) {
        return "1".repeat(bytes);
    }
    match bytes.checked_sub(replacement.len()) {
        Some(more) => format!("{replacement}{}", "*".repeat(more)),
        None => "*".repeat(bytes),
    }
}

/// Returns the length of the longest prefix of a secret that the text ends with, in bytes.
fn beginning(secret: &str, text: &str) -> usize {
    let ends = secret.char_indices().map(|(at, c)| at + c.len_utf8());
    let pieces = ends.skip(PIECE_MIN - 1).filter_map(|at| secret.get(..at));
    longest(pieces.filter(|piece| text.ends_with(piece)))
}

/// Returns the length of the longest suffix of a secret that the text begins with, in bytes.
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
    fn no_secret_is_left_in_a_number_or_in_the_error_of_a_handler() {
        let redactor = Redactor::new([("PIN", "48151623"), ("T", "sk-1")]);
        let clean = redactor.result(ToolResult::ok("c", "t", json!({"n": 48151623, "m": 7})));
        assert_eq!(
            clean.output(),
            Some(&json!({"n": "[redacted:PIN]", "m": 7}))
        );
        let raised = redactor.handler_error(HandlerError::new("at sk-1").with_code("sk-1"));
        assert_eq!(raised, HandlerError::new("at [redacted:T]"));
    }

    #[test]
    fn a_text_that_is_redacted_for_a_recording_keeps_its_length() {
        let redactor = Redactor::new([
            ("KEY", "0123456789abcdef"),
            ("T", "sk\"1"),
            ("PIN", "48151623"),
        ]);
        let text = "a 0123456789abcdef b sk\"1 c 48151623";
        let clean = redactor.same_length(text);
        assert_eq!(clean, "a [redacted:KEY]** b **** c 11111111");
        assert_eq!(clean.len(), text.len());
        assert_eq!(
            &*redactor.same_length_bytes(text.as_bytes()),
            clean.as_bytes()
        );
        let mut value = json!({"k": ["0123456789abcdef", "sk\"1"], "n": 48151623});
        redactor.same_length_value(&mut value);
        assert_eq!(
            value,
            json!({"k": ["[redacted:KEY]**", "****"], "n": 11111111})
        );
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
    fn an_added_secret_is_redacted_by_every_clone() {
        let redactor = Redactor::new([("A", "sk-1")]);
        let clone = redactor.clone();
        assert_eq!(clone.text("sk-1 sk-12345"), "[redacted:A] [redacted:A]2345");
        // One that contains a known one, and a known one with another name.
        redactor.add([("B", "sk-12345"), ("C", "sk-1")]);
        assert_eq!(clone.text("sk-1 sk-12345"), "[redacted:A] [redacted:B]");
        std::thread::scope(|scope| {
            for at in 0..8 {
                let redactor = &redactor;
                scope.spawn(move || redactor.add([("D", format!("token-{at}"))]));
            }
        });
        for at in 0..8 {
            assert_eq!(clone.text(&format!("token-{at}")), "[redacted:D]");
        }
    }

    #[test]
    fn no_secret_is_left_in_a_denied_request_or_host() {
        let redactor = Redactor::new([("A", "sk-1234")]);
        let mut denials = [
            Denial::HttpRequest("GET https://a.example/sk-1234".to_owned()),
            Denial::HttpNetwork {
                host: "sk-1234.a.example".to_owned(),
                network: "10.0.0.0/8".to_owned(),
            },
        ];
        redactor.denials(&mut denials);
        assert_eq!(
            denials.map(|denial| denial.to_string()),
            [
                "http: GET https://a.example/[redacted:A]",
                "http: connect [redacted:A].a.example in 10.0.0.0/8",
            ]
        );
    }

    #[test]
    fn an_empty_secret_redacts_nothing() {
        let redactor = Redactor::new([("A", "")]);
        assert!(redactor.is_empty());
        assert_eq!(redactor.text("text"), "text");
    }
}
