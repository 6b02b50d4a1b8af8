//! Decides about the effects of one run.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_contract::{HandlerError, HeldEffect, Redactor};
use toolhost_manifest::policy::AskRules;
use toolhost_runtime::lock;
use toolhost_sandbox::{
    ClockKind, EffectsPort, InFlight, RequestVerdict, SentCount, WholeRequest, WholeResponse,
    random_seed,
};

use super::digest::Digest;
use super::prefix::{Prefix, PrefixAnswer};
use crate::pending::record::NewHold;

/// Most bytes of what the runs of a waiting call have received.
const PREFIX_MAX: usize = 16 << 20;

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
    /// Why the run cannot be repeated.
    unrepeatable: Option<String>,
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
        let seed = earlier.as_ref().map(|earlier| earlier.seed);
        let seed = seed.unwrap_or_else(random_seed);
        let received = Prefix::new(seed);
        Self {
            rules,
            redactor,
            state: Mutex::new(State {
                earlier: earlier.unwrap_or_default(),
                received,
                granted,
                held: None,
                unrepeatable: None,
                last_time: 0,
            }),
            is_held: Notify::new(),
            sent: Arc::default(),
            seed,
        }
    }

    pub(crate) fn rules(&self) -> &Arc<AskRules> {
        &self.rules
    }

    /// Runs the component, until it comes to something that has to wait.
    ///
    /// # Errors
    /// What has to wait, and why it cannot, if so. The run was stopped.
    pub(crate) async fn until_held<T>(
        &self,
        running: impl Future<Output = T>,
    ) -> Result<T, (NewHold, Option<String>)> {
        let held = tokio::select! {
            biased;
            held = self.held() => held,
            // It may have ended without the answer that it cannot get.
            ended = running => match self.take_held() {
                Some(held) => held,
                None => return Ok(ended),
            },
        };
        Err((held, self.unrepeatable()))
    }

    /// Waits until something has to wait, and what was sent before has an answer: a second run gets it, and sends nothing
    /// twice.
    async fn held(&self) -> NewHold {
        loop {
            self.is_held.notified().await;
            self.sent.ended().await;
            if let Some(held) = self.take_held() {
                return held;
            }
        }
    }

    /// Takes what has to wait, with what the run has received by then.
    fn take_held(&self) -> Option<NewHold> {
        let mut state = lock(&self.state);
        let held = state.held.take()?;
        let prefix = Some(state.received.with_answers_of(&state.earlier));
        Some(NewHold { prefix, ..held })
    }

    /// Why the run cannot be repeated, if so: it would send something again, or has received too much.
    fn unrepeatable(&self) -> Option<String> {
        let state = lock(&self.state);
        if state.received.bytes() > PREFIX_MAX {
            let most = PREFIX_MAX >> 20;
            return Some(format!("it received more than {most} MiB before that"));
        }
        state.unrepeatable.clone()
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
            state.held = Some(NewHold::new(effect, shown, digest.to_owned()));
            self.is_held.notify_one();
        }
        Verdict::Held
    }

    pub(super) fn add_answer(&self, digest: String, answer: PrefixAnswer) {
        let mut state = lock(&self.state);
        // Beyond it, the run cannot wait any more.
        if state.received.bytes() <= PREFIX_MAX {
            state.received.add_answer(digest, answer);
        }
    }

    /// Counts a call of another tool that runs.
    pub(crate) fn begin_call(&self) -> InFlight {
        self.sent.begin()
    }

    /// Returns what an earlier run got from another tool for the same call.
    pub(crate) fn answer_of_call(
        &self,
        name: &str,
        arguments: &str,
    ) -> Option<Result<String, HandlerError>> {
        let digest = call_digest(name, arguments);
        let mut state = lock(&self.state);
        let answer = state.earlier.take_answer(&digest)?;
        state.received.add_answer(digest, answer.clone());
        match answer {
            PrefixAnswer::Output(output) => Some(Ok(output)),
            PrefixAnswer::Failure(error) => Some(Err(error)),
            PrefixAnswer::Response { .. } | PrefixAnswer::Message(_) | PrefixAnswer::None => None,
        }
    }

    /// Keeps what another tool answered for a second run.
    pub(crate) fn keep_answer_of_call(
        &self,
        name: &str,
        arguments: &str,
        answer: Result<&str, &HandlerError>,
    ) {
        let answer = match answer {
            Ok(output) => PrefixAnswer::Output(output.to_owned()),
            Err(error) => PrefixAnswer::Failure(error.clone()),
        };
        self.add_answer(call_digest(name, arguments), answer);
    }

    /// Notes a call of another tool that a second run would have to make again, although it sent something.
    pub(crate) fn note_unrepeatable(&self, name: &str) {
        let why = format!("its call of tool '{name}' changed files and sent something");
        lock(&self.state).unrepeatable.get_or_insert(why);
    }
}

fn call_digest(name: &str, arguments: &str) -> String {
    let parts = Digest::default().with("call").with(name);
    parts.with(arguments).finish()
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

/// Returns a text; of bytes that are none, `{"escaped": …}`, in which `\xNN` stands for a byte and `\\` for a backslash, so
/// that the secrets in it are found.
fn readable(bytes: &[u8]) -> Value {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return json!(text);
    }
    let mut escaped = String::new();
    for chunk in bytes.utf8_chunks() {
        escaped.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            escaped.push_str(&format!("\\x{byte:02x}"));
        }
    }
    json!({ "escaped": escaped })
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
                "secretHeaders": request.secret_headers,
                "body": readable(&request.body),
            })
        };
        match self.decide(HeldEffect::Http, &digest, asks, shown) {
            Verdict::Send(in_flight) => RequestVerdict::Send(in_flight),
            Verdict::Held => RequestVerdict::Held,
            Verdict::Answered(answer) => match answer.to_response() {
                Some(response) => RequestVerdict::Answered(response),
                None => RequestVerdict::Failed,
            },
        }
    }

    fn answered(&self, request: &WholeRequest, response: &WholeResponse) {
        let answer = PrefixAnswer::of_response(response);
        self.add_answer(digest_of(request), answer);
    }

    fn failed(&self, request: &WholeRequest) {
        self.add_answer(digest_of(request), PrefixAnswer::None);
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
