//! What the runs of a call have received up to the point at which it waits.
//!
//! Requests, messages and calls are found by what they are, not by their order, so that a second run may make them in
//! another one, as runs with several at once do. Each answer is given once.

use std::collections::VecDeque;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_contract::HandlerError;
use toolhost_sandbox::{ClockKind, WholeResponse};

/// Most times that are kept of each clock.
const TIMES_MAX: usize = 100_000;

/// What a run received.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Prefix {
    pub(super) seed: [u8; 32],
    wall: VecDeque<u64>,
    monotonic: VecDeque<u64>,
    answers: VecDeque<(String, PrefixAnswer)>,
    #[serde(skip)]
    bytes: usize,
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PrefixAnswer {
    /// Of a request.
    Response {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Of another agent.
    Message(Value),
    /// Of another tool.
    Output(String),
    /// Of another tool: its error.
    Failure(HandlerError),
    /// Of a request or a message that was sent and got no answer.
    None,
}

impl PrefixAnswer {
    fn bytes(&self) -> usize {
        match self {
            Self::Response { headers, body, .. } => {
                let headers = headers.iter().map(|(name, value)| name.len() + value.len());
                body.len() + headers.sum::<usize>()
            }
            Self::Message(value) => value.to_string().len(),
            Self::Output(output) => output.len(),
            Self::Failure(error) => error.message.len(),
            Self::None => 0,
        }
    }

    pub(super) fn of_response(response: &WholeResponse) -> Self {
        let text = |(name, value): &(String, Vec<u8>)| (name.clone(), BASE64.encode(value));
        Self::Response {
            status: response.status,
            headers: response.headers.iter().map(text).collect(),
            body: BASE64.encode(&response.body),
        }
    }

    pub(super) fn to_response(&self) -> Option<WholeResponse> {
        let Self::Response {
            status,
            headers,
            body,
        } = self
        else {
            return None;
        };
        let bytes = |(name, value): &(String, String)| {
            Some((name.clone(), BASE64.decode(value.as_bytes()).ok()?))
        };
        Some(WholeResponse {
            status: *status,
            headers: headers.iter().map(bytes).collect::<Option<_>>()?,
            body: BASE64.decode(body.as_bytes()).ok()?.into(),
        })
    }
}

impl Prefix {
    /// Nothing but the seed of the random numbers.
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Reads what [`with_answers_of`](Self::with_answers_of) returned. None for anything else.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Takes the next time of a clock.
    pub(super) fn take_time(&mut self, clock: ClockKind) -> Option<u64> {
        self.times(clock).pop_front()
    }

    /// Adds a time. A call that reads very many gets the live ones in a second run.
    pub(super) fn add_time(&mut self, clock: ClockKind, time: u64) {
        let times = self.times(clock);
        if times.len() < TIMES_MAX {
            times.push_back(time);
        }
    }

    fn times(&mut self, clock: ClockKind) -> &mut VecDeque<u64> {
        match clock {
            ClockKind::Wall => &mut self.wall,
            ClockKind::Monotonic => &mut self.monotonic,
        }
    }

    /// Takes the first answer for this digest.
    pub(super) fn take_answer(&mut self, digest: &str) -> Option<PrefixAnswer> {
        let at = self.answers.iter().position(|(of, _)| of == digest)?;
        self.answers.remove(at).map(|(_, answer)| answer)
    }

    pub(super) fn add_answer(&mut self, digest: String, answer: PrefixAnswer) {
        self.bytes = self.bytes.saturating_add(digest.len() + answer.bytes());
        self.answers.push_back((digest, answer));
    }

    /// About how many bytes the answers have.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the answers that an earlier run got and this one has not asked for again.
    pub(super) fn with_answers_of(&self, earlier: &Self) -> Vec<u8> {
        let answers = self.answers.iter().chain(&earlier.answers).cloned();
        let all = Self {
            seed: self.seed,
            wall: self.wall.clone(),
            monotonic: self.monotonic.clone(),
            answers: answers.collect(),
            bytes: 0,
        };
        // Texts and numbers are always written.
        serde_json::to_vec(&all).unwrap_or_default()
    }
}
