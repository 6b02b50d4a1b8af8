//! Removes secrets from results, errors and logs.

mod index;
mod secrets;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use serde_json::Value;

use self::index::{Index, text_of};
use self::secrets::{SecretText, Secrets, UNSTATED_LIFETIME, after};
use crate::{Denial, FileChangeKind, FileChanges, HandlerError, ToolError, ToolResult};

/// Replaces secrets in results, errors and logs with `[redacted:NAME]`.
///
/// The host redacts the secrets of its policy and of its credential provider, and the access tokens of
/// users. A runtime can redact others with a redactor as `toolCall` middleware.
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
/// A secret that is [added](Self::add) is redacted as long as the redactor lives. One that is
/// [held](Self::hold) is forgotten, and wiped from memory, ten minutes after it has expired and the last
/// call with it has ended.
///
/// Cheap to clone. Clones share their secrets. A text is scanned once, however many secrets there are.
/// Redacting takes a lock only after a change of the secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    shared: Arc<RedactorState>,
}

#[derive(Default)]
struct RedactorState {
    secrets: Mutex<Secrets>,
    /// Made of the secrets by the first redaction after a change. None: not made yet.
    snapshot: ArcSwapOption<Snapshot>,
}

struct Snapshot {
    index: Arc<Index>,
    /// When a secret may have expired.
    check_at: Option<Instant>,
}

impl Snapshot {
    /// Returns whether no secret has expired. The clock is read only if one may have.
    fn is_current(&self, now: impl FnOnce() -> Instant) -> bool {
        self.check_at.is_none_or(|at| now() < at)
    }
}

/// Keeps a secret in a [`Redactor`], as long as a call uses it.
#[must_use]
pub struct HeldSecret {
    /// None if the redactor has the secret anyway.
    held: Option<(Redactor, SecretText)>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|index| index.fmt(f))
    }
}

impl fmt::Debug for HeldSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldSecret").finish_non_exhaustive()
    }
}

impl Drop for HeldSecret {
    fn drop(&mut self) {
        if let Some((redactor, secret)) = &self.held {
            redactor.secrets().release(secret, Instant::now());
        }
    }
}

impl HeldSecret {
    /// Notes that the secret is of no use any more: it was refused or revoked. It is forgotten ten minutes
    /// after its last holder is dropped.
    pub fn revoke(&self) {
        if let Some((redactor, secret)) = &self.held {
            let mut secrets = redactor.secrets();
            secrets.revoke(secret, Instant::now());
            redactor.shared.snapshot.store(None);
        }
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
    pub fn add<N: AsRef<str>, S: AsRef<str>>(&self, added: impl IntoIterator<Item = (N, S)>) {
        let mut secrets = self.secrets();
        for (name, secret) in added {
            let (name, secret) = (name.as_ref(), secret.as_ref());
            if !secret.is_empty() && secrets.add(name, secret) {
                self.shared.snapshot.store(None);
            }
        }
    }

    /// Adds a secret that expires: until ten minutes after the later of its lifetime, from now on, and the
    /// drop of the returned value. Default lifetime: a day. A secret that is held again lives as long as
    /// the last one.
    pub fn hold(&self, name: &str, secret: &str, lifetime: Option<Duration>) -> HeldSecret {
        let expires = after(Instant::now(), lifetime.unwrap_or(UNSTATED_LIFETIME));
        let entry = if secret.is_empty() {
            None
        } else {
            let mut secrets = self.secrets();
            let entry = secrets.hold(name, secret, expires);
            entry.map(|(text, is_new)| {
                if is_new {
                    self.shared.snapshot.store(None);
                }
                (self.clone(), text)
            })
        };
        HeldSecret { held: entry }
    }

    /// Returns whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.with(Index::is_empty)
    }

    /// Redacts a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with(|index| index.redact(text))
    }

    /// Redacts a text, and keeps its length in bytes: a secret is replaced with `[redacted:NAME]` and
    /// asterisks, with asterisks alone if it is shorter, and with ones if it consists of digits.
    pub fn same_length<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.with(|index| same_length(index, text))
    }

    /// Redacts bytes as [`same_length`](Self::same_length) redacts a text.
    pub fn same_length_bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let clean = self.with(|index| index.redact_same_length(bytes));
        clean.map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// Redacts the texts, keys and numbers of a value as [`same_length`](Self::same_length) redacts a text.
    pub fn same_length_value(&self, value: &mut Value) {
        let number = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.with(|index| redact_value(value, &|text| same_length(index, text), &number));
    }

    /// Redacts the texts, keys and numbers of a value.
    pub fn value(&self, value: &mut Value) {
        self.with(|index| redact_value(value, &|text| index.redact(text), &Value::String));
    }

    /// Redacts the output and the error of a result.
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
        let has_secret = |code: &str| matches!(self.text(code), Cow::Owned(_));
        error.code = error.code.filter(|code| !has_secret(code));
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
            if let Some(diff) = &mut file.diff {
                self.redact(diff);
            }
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

    /// Runs `work` with the index of the secrets, which is made first if they have changed.
    fn with<T>(&self, work: impl FnOnce(&Index) -> T) -> T {
        let snapshot = self.shared.snapshot.load();
        if let Some(snapshot) = &*snapshot
            && snapshot.is_current(Instant::now)
        {
            return work(&snapshot.index);
        }
        drop(snapshot);
        let index = self.remake(Instant::now());
        work(&index)
    }

    /// Removes the secrets that have expired, and makes the index if anything has changed.
    fn remake(&self, now: Instant) -> Arc<Index> {
        let mut secrets = self.secrets();
        let (has_removed, check_at) = secrets.remove_expired(now);
        let earlier = self.shared.snapshot.load();
        let index = match &*earlier {
            Some(earlier) if !has_removed => Arc::clone(&earlier.index),
            Some(_) | None => Arc::new(secrets.index()),
        };
        let snapshot = Snapshot {
            index: Arc::clone(&index),
            check_at,
        };
        self.shared.snapshot.store(Some(Arc::new(snapshot)));
        index
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        let secrets = self.shared.secrets.lock();
        secrets.unwrap_or_else(PoisonError::into_inner)
    }
}

fn same_length<'t>(index: &Index, text: &'t str) -> Cow<'t, str> {
    let clean = index.redact_same_length(text.as_bytes());
    clean.map_or(Cow::Borrowed(text), |clean| Cow::Owned(text_of(clean)))
}

/// Redacts texts and keys with `redact`. `number` makes a value of a number in which a secret was.
fn redact_value(
    value: &mut Value,
    redact: &dyn Fn(&str) -> Cow<'_, str>,
    number: &dyn Fn(String) -> Value,
) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Number(it) => {
            if let Cow::Owned(clean) = redact(&it.to_string()) {
                *value = number(clean);
            }
        }
        Value::Array(items) => {
            for item in items {
                redact_value(item, redact, number);
            }
        }
        Value::Object(members) => {
            for member in members.values_mut() {
                redact_value(member, redact, number);
            }
            let has_secret = |key: &String| matches!(redact(key), Cow::Owned(_));
            if members.keys().any(has_secret) {
                let clean = |(key, member): (String, Value)| (redact(&key).into_owned(), member);
                *members = std::mem::take(members).into_iter().map(clean).collect();
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;
