//! Decides about the effects of one run.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_contract::{HeldEffect, Redactor};
use toolhost_manifest::policy::AskRules;
use toolhost_runtime::lock;
use toolhost_sandbox::{
    ClockKind, EffectsPort, InFlight, RequestVerdict, SentCount, WholeRequest, WholeResponse,
};

use super::digest::Digest;
use super::prefix::{Prefix, PrefixAnswer};
use crate::pending::record::NewHold;

/// The effects of one run.
pub(crate) struct Gate {
    rules: Arc<AskRules>,
    redactor: Redactor,
    state: Mutex<State>,
    is_held: Notify,
    /// What was sent and has no answer yet.
    sent: Arc<SentCount>,
    seed: [u8; 32],
}

struct State {
    /// What an earlier run received.
    earlier: Prefix,
    /// What this run has received.
    received: Prefix,
    /// What somebody has consented to, until it is done.
    granted: Option<(HeldEffect, String)>,
    /// What waits.
    held: Option<NewHold>,
    last_time: u64,
}

/// What becomes of a message or a call.
pub(super) enum Verdict {
    Send(InFlight),
    Answered(PrefixAnswer),
    Held,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Gate {
    pub(super) fn new(
        rules: Arc<AskRules>,
        redactor: Redactor,
        granted: Option<(HeldEffect, String)>,
        earlier: Option<Prefix>,
    ) -> Self {
        let seed = earlier.as_ref().map_or_else(random_seed, |it| it.seed);
        let received = Prefix::new(seed);
        Self {
            rules,
            redactor,
            state: Mutex::new(State {
                earlier: earlier.unwrap_or_default(),
                received,
                granted,
                held: None,
                last_time: 0,
            }),
            is_held: Notify::new(),
            sent: Arc::default(),
            seed,
        }
    }

    pub(super) fn rules(&self) -> &Arc<AskRules> {
        &self.rules
    }

    /// Waits until something has to wait, and what was sent before has an answer: a second run gets it, and sends nothing
    /// twice.
    pub(super) async fn held(&self) -> NewHold {
        loop {
            self.is_held.notified().await;
            self.sent.ended().await;
            if let Some(held) = self.take_held() {
                return held;
            }
        }
    }

    /// Takes what has to wait, with what the run has received by then.
    pub(super) fn take_held(&self) -> Option<NewHold> {
        let mut state = lock(&self.state);
        let held = state.held.take()?;
        let prefix = Some(state.received.to_bytes());
        Some(NewHold { prefix, ..held })
    }

    /// Decides about something with this digest, which waits if it `asks` and nobody has consented to it.
    pub(super) fn decide(
        &self,
        effect: HeldEffect,
        digest: &str,
        asks: bool,
        shown: impl FnOnce() -> Value,
    ) -> Verdict {
        let mut state = lock(&self.state);
        if let Some(answer) = state.earlier.take_answer(digest) {
            let again = answer.clone();
            state.received.add_answer(digest.to_owned(), again);
            return Verdict::Answered(answer);
        }
        if !asks {
            return Verdict::Send(self.sent.begin());
        }
        let is_it = |(of, granted): &mut (HeldEffect, String)| *of == effect && granted == digest;
        // Once.
        if state.granted.take_if(is_it).is_some() {
            return Verdict::Send(self.sent.begin());
        }
        if state.held.is_none() {
            let mut shown = shown();
            self.redactor.value(&mut shown);
            state.held = Some(NewHold {
                effect,
                shown,
                digest: digest.to_owned(),
                bound: String::new(),
                staging: None,
                answer: None,
                prefix: None,
                staged_bytes: 0,
                expires_at: SystemTime::now(),
            });
            self.is_held.notify_one();
        }
        Verdict::Held
    }

    pub(super) fn add_answer(&self, digest: String, answer: PrefixAnswer) {
        lock(&self.state).received.add_answer(digest, answer);
    }

    /// Returns the output of another tool that an earlier run got for the same call.
    pub(crate) fn output(&self, name: &str, arguments: &str) -> Option<String> {
        let digest = call_digest(name, arguments);
        match self.decide(HeldEffect::Call, &digest, false, || Value::Null) {
            Verdict::Answered(PrefixAnswer::Output(output)) => Some(output),
            Verdict::Answered(_) | Verdict::Send(_) | Verdict::Held => None,
        }
    }

    /// Keeps the output of another tool for a second run.
    pub(crate) fn keep_output(&self, name: &str, arguments: &str, output: &str) {
        let answer = PrefixAnswer::Output(output.to_owned());
        self.add_answer(call_digest(name, arguments), answer);
    }
}

fn call_digest(name: &str, arguments: &str) -> String {
    let parts = Digest::default().with("call").with(name);
    parts.with(arguments).finish()
}

/// Returns random bytes. Without any from the system, calls that wait have the numbers of each other.
fn random_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    if getrandom::fill(&mut seed).is_err() {
        tracing::error!("the operating system returned no random bytes");
    }
    seed
}

fn digest_of(request: &WholeRequest) -> String {
    let mut digest = Digest::default()
        .with("http")
        .with(&request.method)
        .with(&request.url);
    for (name, value) in &request.headers {
        digest = digest.with(name).with(value);
    }
    digest.with(&request.body).finish()
}

/// Returns a text, or the bytes as base64.
fn readable(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"base64": BASE64.encode(bytes)}),
    }
}

impl EffectsPort for Gate {
    fn request(&self, request: &WholeRequest) -> RequestVerdict {
        let digest = digest_of(request);
        // What cannot be read is asked for.
        let asks = request.origin.as_ref().is_none_or(|origin| {
            let effects = &self.rules.effects;
            effects.asks_for_request(&request.method, origin, &request.path)
        });
        let shown = || {
            let headers = request.headers.iter();
            let headers: Vec<Value> = headers
                .map(|(name, value)| json!([name, readable(value)]))
                .collect();
            json!({
                "method": request.method,
                "url": request.url,
                "headers": headers,
                "body": readable(&request.body),
            })
        };
        match self.decide(HeldEffect::Http, &digest, asks, shown) {
            Verdict::Send(in_flight) => RequestVerdict::Send(in_flight),
            Verdict::Held => RequestVerdict::Held,
            Verdict::Answered(answer) => match answer.to_response() {
                Some(response) => RequestVerdict::Answered(response),
                // It is asked for again.
                None => RequestVerdict::Held,
            },
        }
    }

    fn answered(&self, request: &WholeRequest, response: &WholeResponse) {
        let answer = PrefixAnswer::of_response(response);
        self.add_answer(digest_of(request), answer);
    }

    fn time(&self, clock: ClockKind, now: u64) -> u64 {
        let mut state = lock(&self.state);
        let time = state.earlier.take_time(clock).unwrap_or(now);
        let time = match clock {
            ClockKind::Wall => time,
            ClockKind::Monotonic => time.max(state.last_time),
        };
        if clock == ClockKind::Monotonic {
            state.last_time = time;
        }
        state.received.add_time(clock, time);
        time
    }

    fn seed(&self) -> [u8; 32] {
        self.seed
    }
}
