//! Requests to a server, each with a time limit, repeated while the server is away.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::client::Request;
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{DirectGetErrorKind, LastRawMessageErrorKind};
use async_nats::jetstream::{Context, Error, ErrorCode, stream};
use async_nats::{Client, RequestErrorKind};
use bytes::Bytes;
use futures_util::future::{ready, try_join_all};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};
use toolhost::fleet::CarrierError;

use crate::layout;
use crate::names::{Names, Queue};
use crate::open::{Link, LinkState};
use crate::own_runtime::OwnRuntime;

/// Longest time of an operation, with its repetitions.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// Longest time of one request of an operation.
const REQUEST: Duration = Duration::from_secs(2);

/// Pauses between repetitions: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Messages whose storage is not acknowledged yet. More wait.
const IN_FLIGHT: usize = 20_000;

/// Messages that are read at once.
const READS: usize = 32;

/// Code of an error of JetStream that passes.
const UNAVAILABLE: usize = 503;

/// A server with the streams of a tenant.
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) context: Context,
    pub(crate) names: Names,
    link: watch::Receiver<Link>,
    streams: Vec<stream::Config>,
    /// Lives as long as what receives messages.
    pub(crate) runtime: Arc<OwnRuntime>,
    /// Names of the blobs of calls that this process has stored or read, by the id of the call.
    pub(crate) blobs: std::sync::Mutex<HashMap<String, BTreeSet<String>>>,
    /// When the streams were made.
    made: Mutex<Option<Instant>>,
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may succeed soon.
    Transient(String),
    /// A stream is missing: the server lost it.
    Missing,
    /// It is not repeated.
    Final(CarrierError),
}

impl Server {
    pub(crate) fn new(
        client: Client,
        link: watch::Receiver<Link>,
        names: Names,
        streams: Vec<stream::Config>,
        runtime: &Arc<OwnRuntime>,
    ) -> Arc<Self> {
        let context = ContextBuilder::new()
            .timeout(REQUEST)
            .max_ack_inflight(IN_FLIGHT)
            .build(client.clone());
        Arc::new(Self {
            client,
            context,
            names,
            link,
            streams,
            runtime: Arc::clone(runtime),
            blobs: std::sync::Mutex::default(),
            made: Mutex::new(None),
        })
    }

    /// Waits until the connection stands, and returns how often it was made again. None once it is closed.
    pub(crate) async fn connected(&self) -> Option<u64> {
        let mut link = self.link.clone();
        let link = link.wait_for(|link| link.state != LinkState::Down).await;
        let link = link.ok()?;
        (link.state == LinkState::Up).then_some(link.epoch)
    }

    /// Waits until the connection was made again since, or is closed.
    pub(crate) async fn reconnected(&self, epoch: u64) {
        let mut link = self.link.clone();
        let again = |link: &Link| match link.state {
            LinkState::Up => link.epoch != epoch,
            LinkState::Closed => true,
            LinkState::Down => false,
        };
        drop(link.wait_for(again).await);
    }

    /// Runs an operation, and repeats it after a failure that passes, after a loss of the connection, and once the streams
    /// are made that it misses.
    pub(crate) async fn attempt<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        limit: Duration,
        mut operation: impl FnMut() -> F,
    ) -> Result<T, CarrierError> {
        let mut last = None;
        let repeated = async {
            let mut pause = PAUSE;
            loop {
                let Some(epoch) = self.connected().await else {
                    return Err(CarrierError::Unreachable("it is closed".to_owned()));
                };
                let start = Instant::now();
                let done = tokio::select! {
                    done = operation() => done,
                    // Nothing answers a request that was sent on a connection that is lost.
                    () = self.reconnected(epoch) => continue,
                };
                let failure = match done {
                    Ok(done) => return Ok(done),
                    Err(Failure::Missing) => self.make_streams(start).await.err(),
                    Err(failure) => Some(failure),
                };
                last = match failure {
                    Some(Failure::Final(error)) => return Err(error),
                    Some(Failure::Transient(reason)) => Some(reason),
                    Some(Failure::Missing) | None => Some("a stream is missing".to_owned()),
                };
                sleep(pause).await;
                pause = pause.saturating_mul(2).min(PAUSE_MAX);
            }
        };
        match timeout(limit, repeated).await {
            Ok(done) => done,
            Err(_) => {
                let seconds = limit.as_secs();
                let reason = last.unwrap_or_else(|| format!("no answer within {seconds} s"));
                Err(CarrierError::Unreachable(reason))
            }
        }
    }

    /// Stores a message, and returns its number in the stream. None if the subject has another message than the one that
    /// the message expects.
    pub(crate) async fn publish(
        &self,
        subject: &str,
        message: PublishMessage,
    ) -> Result<Option<u64>, CarrierError> {
        let send = || async {
            let sent = self
                .context
                .send_publish(subject.to_owned(), message.clone());
            let stored = match sent.await {
                Ok(stored) => stored.await,
                Err(error) => Err(error),
            };
            match stored {
                Ok(stored) => Ok(Some(stored.sequence)),
                Err(error) if is_other_version(&error) => Ok(None),
                Err(error) => Err(publish_failure(&error)),
            }
        };
        self.attempt(LIMIT, send).await
    }

    /// Asks JetStream for something.
    pub(crate) async fn ask<V: DeserializeOwned>(
        &self,
        what: String,
        with: &impl Serialize,
    ) -> Result<V, Failure> {
        let answer = self.context.request(what, with).await;
        match answer {
            Ok(Response::Ok(answer)) => Ok(answer),
            Ok(Response::Err { error }) => Err(failure(&error)),
            Err(error) => Err(Failure::Transient(format!("JetStream: {error}"))),
        }
    }

    /// Waits until the server has handled what this connection has sent: it handles one thing after another, and nothing
    /// else tells that it has a subscription, or a message that is not stored.
    pub(crate) async fn wait_until_handled(&self) -> Result<(), Failure> {
        let IgnoredAny = self.ask("INFO".to_owned(), &()).await?;
        Ok(())
    }

    /// Asks something on a subject, and waits for the answer.
    pub(crate) async fn request(&self, subject: String, text: String) -> Result<(), Failure> {
        let request = Request::new().payload(Bytes::from(text));
        let request = request.timeout(Some(REQUEST));
        let answer = self.client.send_request(subject, request).await;
        answer.map(drop).map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => Failure::Missing,
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                Failure::Final(CarrierError::Refused(error.to_string()))
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => {
                Failure::Transient(error.to_string())
            }
        })
    }

    /// Makes the streams that are missing, unless that was done since.
    pub(crate) async fn make_streams(&self, since: Instant) -> Result<(), Failure> {
        let mut made = self.made.lock().await;
        if made.is_some_and(|made| made > since) {
            return Ok(());
        }
        let make = self.streams.iter().map(|needed| self.make_stream(needed));
        try_join_all(make).await?;
        *made = Some(Instant::now());
        Ok(())
    }

    async fn make_stream(&self, needed: &stream::Config) -> Result<(), Failure> {
        let name = &needed.name;
        let info = match self.ask(format!("STREAM.INFO.{name}"), &()).await {
            Ok(info) => info,
            Err(Failure::Missing) => {
                // Another process may make the same one now.
                let IgnoredAny = self.ask(format!("STREAM.CREATE.{name}"), needed).await?;
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let stream::Info { config, .. } = info;
        if let Some((setting, existing, needed)) = layout::conflict(&config, needed) {
            return Err(Failure::Final(CarrierError::Refused(format!(
                "the stream `{name}` exists with '{setting}' {existing} instead of {needed}: remove it, or choose another \
                 tenant"
            ))));
        }
        let update = layout::update(&config, needed);
        if update != config {
            let IgnoredAny = self.ask(format!("STREAM.UPDATE.{name}"), &update).await?;
        }
        Ok(())
    }

    /// Makes the consumer of a queue. Succeeds too for one that exists.
    pub(crate) async fn make_consumer(&self, queue: &Queue) -> Result<(), CarrierError> {
        let (stream, consumer, subject) = (&queue.stream, &queue.consumer, &queue.subject);
        let needed = json!({"stream_name": stream, "config": layout::consumer(queue)});
        let make = || async {
            let make = format!("CONSUMER.CREATE.{stream}.{consumer}.{subject}");
            let IgnoredAny = self.ask(make, &needed).await?;
            Ok(())
        };
        self.attempt(LIMIT, make).await
    }

    /// Removes the messages of a subject from a stream.
    pub(crate) async fn purge(&self, stream: &str, subject: &str) -> Result<(), CarrierError> {
        let purge = || async {
            let purge = format!("STREAM.PURGE.{stream}");
            let IgnoredAny = self.ask(purge, &json!({"filter": subject})).await?;
            Ok(())
        };
        self.attempt(LIMIT, purge).await
    }

    /// Returns whether a stream has the message with this number.
    pub(crate) async fn has_message(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<bool, CarrierError> {
        let get = || async {
            let get = format!("STREAM.MSG.GET.{stream}");
            match self.ask(get, &json!({"seq": sequence})).await {
                Ok(IgnoredAny) => Ok(true),
                Err(Failure::Final(CarrierError::Refused(reason)))
                    if reason.contains("no message found") =>
                {
                    Ok(false)
                }
                Err(error) => Err(error),
            }
        };
        self.attempt(LIMIT, get).await
    }

    /// Removes the message with this number from a stream.
    pub(crate) async fn delete_message(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<(), CarrierError> {
        let delete = || async {
            let delete = format!("STREAM.MSG.DELETE.{stream}");
            match self
                .ask(delete, &json!({"seq": sequence, "no_erase": true}))
                .await
            {
                Ok(IgnoredAny) | Err(Failure::Final(CarrierError::Refused(_))) => Ok(()),
                Err(error) => Err(error),
            }
        };
        self.attempt(LIMIT, delete).await
    }

    /// Returns the last message of a subject, as the leader of the stream has it.
    pub(crate) async fn last_message(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, CarrierError> {
        let get = || async {
            let stream = self.context.get_stream_no_info(stream).await;
            let stream = stream.map_err(|error| refused(&error))?;
            match stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Ok(Some(message)),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::InvalidSubject => Err(refused(&error)),
                    LastRawMessageErrorKind::JetStream(error) => Err(failure(&error)),
                    LastRawMessageErrorKind::Other => Err(Failure::Transient(error.to_string())),
                },
            }
        };
        self.attempt(LIMIT, get).await
    }

    /// Returns the last messages of all subjects of a stream beneath a prefix.
    pub(crate) async fn last_messages(
        &self,
        stream: &str,
        subjects: &str,
    ) -> Result<Vec<StreamMessage>, CarrierError> {
        let list = || async {
            let stream = self.context.get_stream_no_info(stream).await;
            let stream = stream.map_err(|error| refused(&error))?;
            let listed = stream.info_with_subjects(subjects).await;
            let subjects = listed.map_err(|error| other_failure(&error))?;
            let stream = &stream;
            let get = subjects.map(|subject| async move {
                let (subject, _) = subject.map_err(|error| transient(&error))?;
                match stream.direct_get_last_for_subject(subject).await {
                    Ok(message) => Ok(Some(message)),
                    // It is too old since it was listed.
                    Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
                    Err(error) => Err(transient(&error)),
                }
            });
            let messages = get.buffer_unordered(READS);
            let messages = messages.try_filter_map(|message| ready(Ok(message)));
            messages.try_collect().await
        };
        self.attempt(LIMIT, list).await
    }
}

/// Returns what an error of JetStream means.
pub(crate) fn failure(error: &Error) -> Failure {
    let reason = error.to_string();
    match error.error_code() {
        ErrorCode::STREAM_NOT_FOUND | ErrorCode::CONSUMER_NOT_FOUND => Failure::Missing,
        ErrorCode::STREAM_STORE_FAILED if reason.contains("maximum") => {
            Failure::Final(CarrierError::Full)
        }
        ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::MEMORY_RESOURCES_EXCEEDED => Failure::Final(CarrierError::Full),
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
            let reason = format!("{reason}: start the server with `--jetstream`");
            Failure::Final(CarrierError::Refused(reason))
        }
        // Another process has made it with other settings.
        ErrorCode::STREAM_NAME_EXIST => Failure::Transient(reason),
        // Such as a stream without a leader.
        _ if error.code() == UNAVAILABLE => Failure::Transient(reason),
        _ => Failure::Final(CarrierError::Refused(reason)),
    }
}

fn publish_failure(error: &PublishError) -> Failure {
    match error.kind() {
        PublishErrorKind::StreamNotFound => Failure::Missing,
        PublishErrorKind::TimedOut
        | PublishErrorKind::BrokenPipe
        | PublishErrorKind::MaxAckPending => transient(error),
        PublishErrorKind::WrongLastMessageId
        | PublishErrorKind::WrongLastSequence
        | PublishErrorKind::MaxPayloadExceeded => refused(error),
        PublishErrorKind::Other => other_failure(error),
    }
}

/// Returns what an error means that may have one of JetStream as its source.
fn other_failure(error: &dyn std::error::Error) -> Failure {
    jetstream_error(error).map_or_else(|| transient(error), failure)
}

/// Returns whether a message was not stored because its subject has another message than it expects.
fn is_other_version(error: &PublishError) -> bool {
    let code = jetstream_error(error).map(Error::error_code);
    let codes = [
        ErrorCode::STREAM_WRONG_LAST_SEQUENCE,
        ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT,
    ];
    code.is_some_and(|code| codes.contains(&code))
}

fn jetstream_error(error: &dyn std::error::Error) -> Option<&Error> {
    error.source()?.downcast_ref()
}

pub(crate) fn transient(error: &dyn std::error::Error) -> Failure {
    Failure::Transient(error.to_string())
}

pub(crate) fn refused(error: &dyn std::error::Error) -> Failure {
    Failure::Final(CarrierError::Refused(error.to_string()))
}
