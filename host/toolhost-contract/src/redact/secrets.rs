//! The secrets of a redactor, and how long each is redacted.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::index::{Form, Index};
use crate::text;

/// Shortest line of a secret that is redacted by itself, in characters. Shorter ones would match
/// ordinary words.
const LINE_MIN: usize = 8;

/// How long a secret is redacted after it has expired and the last call with it has ended: the results,
/// recordings and events of such calls are still on their way.
pub(super) const GRACE: Duration = Duration::from_secs(600);

/// The lifetime of a secret after its last use, if none is stated.
pub(super) const UNSTATED_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A secret as it was given. Wiped when the last clone is dropped.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SecretText(Arc<Zeroizing<String>>);

impl Hash for SecretText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl Borrow<str> for SecretText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

struct SecretForms {
    /// Position among all that were added.
    position: u64,
    forms: Vec<Arc<Form>>,
    /// None: as long as the redactor.
    life: Option<Life>,
}

struct Life {
    expires: Instant,
    holders: usize,
}

impl Life {
    /// When the secret may be removed.
    fn end(&self, now: Instant) -> Instant {
        let last_use = if self.holders > 0 { now } else { self.expires };
        after(self.expires.max(last_use), GRACE)
    }
}

#[derive(Default)]
pub(super) struct Secrets {
    by_text: HashMap<SecretText, SecretForms>,
    added: u64,
}

impl Secrets {
    /// Adds a secret that is redacted as long as the redactor lives. Returns whether it is new.
    pub(super) fn add(&mut self, name: &str, secret: &str) -> bool {
        if let Some(entry) = self.by_text.get_mut(secret) {
            entry.life = None;
            return false;
        }
        self.insert(name, secret, None);
        true
    }

    /// Adds a secret with a holder. Returns it, and whether it is new. `None`: it needs no holder.
    pub(super) fn hold(
        &mut self,
        name: &str,
        secret: &str,
        expires: Instant,
    ) -> Option<(SecretText, bool)> {
        let Some(entry) = self.by_text.get_mut(secret) else {
            let life = Life {
                expires,
                holders: 1,
            };
            return Some((self.insert(name, secret, Some(life)), true));
        };
        let life = entry.life.as_mut()?;
        life.holders += 1;
        life.expires = life.expires.max(expires);
        let (text, _) = self.by_text.get_key_value(secret)?;
        Some((text.clone(), false))
    }

    /// Removes a holder.
    pub(super) fn release(&mut self, secret: &SecretText, now: Instant) {
        if let Some(life) = self.life(secret) {
            life.holders = life.holders.saturating_sub(1);
            life.expires = life.expires.max(now);
        }
    }

    /// Sets that a secret is of no use any more.
    pub(super) fn revoke(&mut self, secret: &SecretText, now: Instant) {
        if let Some(life) = self.life(secret) {
            life.expires = now;
        }
    }

    /// Removes secrets that have expired. Returns whether there were any, and when the next may expire.
    pub(super) fn remove_expired(&mut self, now: Instant) -> (bool, Option<Instant>) {
        let before = self.by_text.len();
        self.by_text.retain(|_, secret| {
            let life = secret.life.as_ref();
            life.is_none_or(|life| life.end(now) > now)
        });
        let lives = self.by_text.values().filter_map(|it| it.life.as_ref());
        let next = lives.map(|life| life.end(now)).min();
        (self.by_text.len() < before, next)
    }

    pub(super) fn index(&self) -> Index {
        let mut secrets: Vec<&SecretForms> = self.by_text.values().collect();
        secrets.sort_unstable_by_key(|secret| secret.position);
        Index::new(secrets.into_iter().flat_map(|it| it.forms.iter().cloned()))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_text.len()
    }

    fn insert(&mut self, name: &str, secret: &str, life: Option<Life>) -> SecretText {
        let text = SecretText(Arc::new(Zeroizing::new(secret.to_owned())));
        self.added += 1;
        let secret = SecretForms {
            position: self.added,
            forms: forms(secret, &format!("[redacted:{name}]").into()),
            life,
        };
        self.by_text.insert(text.clone(), secret);
        text
    }

    fn life(&mut self, secret: &SecretText) -> Option<&mut Life> {
        self.by_text.get_mut(secret)?.life.as_mut()
    }
}

/// Returns a time after another one; about a century if the clock has no such time.
pub(super) fn after(time: Instant, duration: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let sum = time.checked_add(duration);
    sum.or_else(|| time.checked_add(CENTURY)).unwrap_or(time)
}

/// Returns the texts of a secret that are redacted.
fn forms(secret: &str, replacement: &Arc<str>) -> Vec<Arc<Form>> {
    let lines = secret.lines().map(str::trim);
    let lines = lines.filter(|line| line.chars().count() >= LINE_MIN);
    let plain = [secret, secret.trim()].into_iter().chain(lines);
    let mut texts: Vec<Zeroizing<String>> = Vec::new();
    for form in plain.filter(|form| !form.is_empty()) {
        texts.push(Zeroizing::new(form.to_owned()));
        // What needs no escape has one form, and no copies in memory.
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if form.bytes().all(is_plain) {
            continue;
        }
        texts.push(Zeroizing::new(text::escape(form)));
        let json = Zeroizing::new(serde_json::to_string(form).unwrap_or_default());
        let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        texts.extend(json.map(|json| Zeroizing::new(json.to_owned())));
    }
    texts.sort_unstable_by(|a, b| a.as_str().cmp(b));
    texts.dedup();
    let form = |text| {
        let replacement = Arc::clone(replacement);
        Arc::new(Form { text, replacement })
    };
    texts.into_iter().map(form).collect()
}
