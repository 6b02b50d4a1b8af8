//! Messages of queues and of a subject, as they arrive.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use toolhost::fleet::{CarrierError, Deliveries, Delivery};

use crate::blobs;
use crate::layout::ACK_WAIT;
use crate::names::Queue;
use crate::server::{LIMIT, Server};

/// How long the server keeps a request for messages.
const EXPIRES: Duration = Duration::from_secs(30);

/// How often it says that a request waits.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Silence after which the requests are taken for lost.
const SILENCE: Duration = Duration::from_secs(12);

/// Pauses before messages are asked for again: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A message that waits longer is given to another receiver, or to this one once more.
const FRESH: Duration = ACK_WAIT.saturating_sub(Duration::from_secs(1));

/// If reading a large message takes longer than this, the server is told that it is worked on.
const SLOW: Duration = Duration::from_secs(1);

/// Deliveries after which a large message that cannot be read is given up.
const READ_TRIES: u64 = 5;

/// Header of the end of a request: the messages that it did not get.
const UNUSED: &str = "Nats-Pending-Messages";

/// Messages of some queues. Those that wait when it is dropped are given back.
pub(crate) struct Queues {
    server: Arc<Server>,
    waiting: mpsc::Receiver<Waiting>,
    /// One task for each queue.
    _tasks: JoinSet<()>,
}

/// A message that nobody has taken yet, and its place.
struct Waiting {
    delivery: Delivery,
    since: Instant,
    _place: OwnedSemaphorePermit,
}

/// Messages of a subject.
pub(crate) struct Subject {
    pub(crate) messages: Subscriber,
    /// The connection ends with the last of these.
    pub(crate) _server: Arc<Server>,
}

impl Queues {
    /// Receives the messages of queues. At most `ahead` wait, and at least one of each queue may.
    pub(crate) async fn open(
        server: &Arc<Server>,
        queues: Vec<Queue>,
        ahead: usize,
    ) -> Result<Self, CarrierError> {
        if queues.is_empty() {
            return Err(CarrierError::Refused("no route is named".to_owned()));
        }
        for queue in &queues {
            server.make_consumer(queue).await?;
        }
        let places = |index: usize| {
            let more = usize::from(index < ahead % queues.len());
            (ahead / queues.len() + more).clamp(1, Semaphore::MAX_PERMITS >> 1)
        };
        let all: usize = (0..queues.len()).map(places).sum();
        let (sender, waiting) = mpsc::channel(all);
        let mut tasks = JoinSet::new();
        let places: Vec<usize> = (0..queues.len()).map(places).collect();
        for (queue, places) in queues.into_iter().zip(places) {
            let puller = Puller {
                server: server.clone(),
                queue,
                places: Arc::new(Semaphore::new(places)),
                refill: places.div_ceil(2),
                waiting: sender.clone(),
            };
            tasks.spawn(puller.run());
        }
        Ok(Self {
            server: server.clone(),
            waiting,
            _tasks: tasks,
        })
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.waiting.close();
        let mut receipts = Vec::new();
        while let Ok(waiting) = self.waiting.try_recv() {
            if waiting.is_fresh() {
                receipts.push(waiting.delivery.receipt);
            }
        }
        if !receipts.is_empty() {
            let server = self.server.clone();
            self.server.runtime.spawn(async move {
                for receipt in receipts {
                    tell(&server, &receipt, "-NAK").await;
                }
            });
        }
    }
}

impl Waiting {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < FRESH
    }
}

impl Deliveries for Queues {
    fn next(&mut self) -> BoxFuture<'_, Option<Delivery>> {
        Box::pin(async {
            loop {
                let waiting = self.waiting.recv().await?;
                if waiting.is_fresh() {
                    return Some(waiting.delivery);
                }
            }
        })
    }
}

impl Deliveries for Subject {
    fn next(&mut self) -> BoxFuture<'_, Option<Delivery>> {
        Box::pin(async {
            let message = self.messages.next().await?;
            Some(Delivery {
                message: message.payload,
                deliveries: 1,
                sent: SystemTime::UNIX_EPOCH,
                receipt: String::new(),
            })
        })
    }
}

/// Asks for the messages of a queue.
struct Puller {
    server: Arc<Server>,
    queue: Queue,
    /// Places of messages that may be asked for.
    places: Arc<Semaphore>,
    /// Places for which it is worth while to ask.
    refill: usize,
    waiting: mpsc::Sender<Waiting>,
}

/// Why a subscription of a puller ended.
enum End {
    /// The carrier is closed.
    Closed,
    /// The connection was made again.
    Reconnected,
    /// Another way.
    Lost(String),
}

impl Puller {
    async fn run(self) {
        let mut pause = PAUSE;
        loop {
            let start = Instant::now();
            match self.receive().await {
                End::Closed => return,
                End::Reconnected => pause = PAUSE,
                End::Lost(reason) => {
                    if start.elapsed() > PAUSE_MAX {
                        pause = PAUSE;
                    }
                    tracing::debug!(
                        queue = self.queue.subject,
                        reason,
                        "asks for messages again"
                    );
                    sleep(pause).await;
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
            }
        }
    }

    /// Receives messages until the requests for them may be lost.
    async fn receive(&self) -> End {
        let Some(epoch) = self.server.connected().await else {
            return End::Closed;
        };
        if let Err(error) = self.server.make_consumer(&self.queue).await {
            return End::Lost(error.to_string());
        }
        let inbox = self.server.client.new_inbox();
        let subscribed = self.server.client.subscribe(inbox.clone()).await;
        let mut messages = match subscribed {
            Ok(messages) => messages,
            Err(error) => return End::Lost(error.to_string()),
        };
        // Places of messages that the server was asked for.
        let mut asked: Option<OwnedSemaphorePermit> = None;
        let end = self
            .receive_from(&mut messages, &inbox, &mut asked, epoch)
            .await;
        // Those that have arrived meanwhile.
        drop(messages.unsubscribe().await);
        while let Some(message) = messages.next().await {
            let place = asked.as_mut().and_then(|asked| asked.split(1));
            if let (Status::Message, Some(place)) = (status(&message), place) {
                self.hold(message, place).await;
            }
        }
        end
    }

    async fn receive_from(
        &self,
        messages: &mut Subscriber,
        inbox: &str,
        asked: &mut Option<OwnedSemaphorePermit>,
        epoch: u64,
    ) -> End {
        let mut reconnected = std::pin::pin!(self.server.reconnected(epoch));
        loop {
            let waits = asked.as_ref().is_some_and(|asked| asked.num_permits() > 0);
            tokio::select! {
                // Messages that have arrived first.
                biased;
                message = messages.next() => {
                    let Some(message) = message else {
                        return End::Closed;
                    };
                    match status(&message) {
                        Status::Message => {
                            let place = asked.as_mut().and_then(|asked| asked.split(1));
                            let Some(place) = place else {
                                return End::Lost("a message was not asked for".to_owned());
                            };
                            self.hold(message, place).await;
                        }
                        Status::Waits => {}
                        Status::Unused(count) => {
                            if let Err(reason) = self.ask(inbox, count).await {
                                return End::Lost(reason);
                            }
                        }
                        Status::End(reason) => return End::Lost(reason),
                    }
                }
                () = &mut reconnected => return End::Reconnected,
                places = self.free_places() => {
                    let count = places.num_permits();
                    match asked {
                        Some(asked) => asked.merge(places),
                        None => *asked = Some(places),
                    }
                    if let Err(reason) = self.ask(inbox, count).await {
                        return End::Lost(reason);
                    }
                }
                () = sleep(SILENCE), if waits => return End::Lost("the server is silent".to_owned()),
            }
        }
    }

    /// Waits until enough places are free, and takes all that are.
    async fn free_places(&self) -> OwnedSemaphorePermit {
        let many = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let places = self.places.clone();
        let taken = places.acquire_many_owned(many(self.refill)).await;
        let Ok(mut taken) = taken else {
            // It is never closed.
            return std::future::pending().await;
        };
        let rest = many(self.places.available_permits());
        if let Ok(rest) = self.places.clone().try_acquire_many_owned(rest) {
            taken.merge(rest);
        }
        taken
    }

    /// Asks for messages.
    async fn ask(&self, inbox: &str, count: usize) -> Result<(), String> {
        let request = BatchConfig {
            batch: count,
            expires: Some(EXPIRES),
            idle_heartbeat: HEARTBEAT,
            ..BatchConfig::default()
        };
        let request = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
        let (stream, consumer) = (&self.queue.stream, &self.queue.consumer);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        let (client, inbox) = (&self.server.client, inbox.to_owned());
        let asked = client.publish_with_reply(subject, inbox, request.into());
        match timeout(LIMIT, asked).await {
            Ok(asked) => asked.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Hands a message to who waits for it. One that cannot be read is not acknowledged, or given up if it never can be.
    async fn hold(&self, message: Message, place: OwnedSemaphorePermit) {
        let start = Instant::now();
        let Some(receipt) = message.reply.as_ref().map(ToString::to_string) else {
            return;
        };
        let (deliveries, sent) = (deliveries(&receipt), sent(&receipt));
        let headers = message.headers.as_ref();
        let unpacked = tokio::select! {
            unpacked = blobs::unpack(&self.server, headers, message.payload) => unpacked,
            never = self.keep(&receipt) => match never {},
        };
        if start.elapsed() > SLOW {
            tell(&self.server, &receipt, "+WPI").await;
        }
        match unpacked {
            Ok(message) => {
                let delivery = Delivery {
                    message,
                    deliveries,
                    sent,
                    receipt,
                };
                let waiting = Waiting {
                    delivery,
                    since: Instant::now(),
                    _place: place,
                };
                // Fails if nobody receives any more.
                drop(self.waiting.send(waiting).await);
            }
            Err(error) if matches!(error, CarrierError::Refused(_)) || deliveries >= READ_TRIES => {
                tracing::error!(queue = self.queue.subject, %error, "a message is given up");
                tell(&self.server, &receipt, "+TERM").await;
            }
            Err(error) => {
                tracing::warn!(queue = self.queue.subject, %error, "a message cannot be read now");
            }
        }
    }

    /// Says that a message is worked on, for ever.
    async fn keep(&self, receipt: &str) -> std::convert::Infallible {
        loop {
            sleep(ACK_WAIT / 3).await;
            tell(&self.server, receipt, "+WPI").await;
        }
    }
}

/// Says something of a delivery, without waiting for a confirmation.
async fn tell(server: &Server, receipt: &str, text: &'static str) {
    let text = Bytes::from_static(text.as_bytes());
    let told = server.client.publish(receipt.to_owned(), text);
    drop(timeout(LIMIT, told).await);
}

enum Status {
    Message,
    /// A request waits.
    Waits,
    /// A request ended, and so many messages were missing.
    Unused(usize),
    /// The consumer hands out no more messages.
    End(String),
}

fn status(message: &Message) -> Status {
    match message.status {
        None | Some(StatusCode::OK) => Status::Message,
        Some(StatusCode::IDLE_HEARTBEAT) => Status::Waits,
        Some(StatusCode::TIMEOUT) => {
            let headers = message.headers.as_ref();
            let unused = headers.and_then(|headers| headers.get(UNUSED)?.as_str().parse().ok());
            unused.map_or_else(|| Status::End("a request ended".to_owned()), Status::Unused)
        }
        Some(status) => {
            let description = message.description.as_deref().unwrap_or_default();
            Status::End(format!("{status} {description}"))
        }
    }
}

/// Returns how often a message was delivered, which its receipt says.
fn deliveries(receipt: &str) -> u64 {
    number(receipt, 4).unwrap_or(1)
}

/// Returns when a message was stored, by the clock of the server, which its receipt says.
fn sent(receipt: &str) -> SystemTime {
    let nanoseconds = number(receipt, 7).map(Duration::from_nanos);
    nanoseconds.map_or_else(SystemTime::now, |time| SystemTime::UNIX_EPOCH + time)
}

/// Returns a number of a receipt: `$JS.ACK.{stream}.{consumer}.{deliveries}.{sequences}.{time}.{messages left}`.
fn number(receipt: &str, index: usize) -> Option<u64> {
    let parts: Vec<&str> = receipt.split('.').collect();
    // The domain and the account stand before the stream.
    let index = if parts.len() > 9 { index + 2 } else { index };
    parts.get(index)?.parse().ok()
}
