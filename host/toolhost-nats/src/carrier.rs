//! The carrier: what toolhost asks of it, in terms of the modules beneath.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::de::IgnoredAny;
use tokio::sync::OnceCell;
use toolhost::fleet::{Carrier, CarrierError, Carrying, Claimed, Deliveries, Route, WorkerLease};
use toolhost_contract::WorkerCallId;

use crate::config::NatsConfig;
use crate::deliveries::{Queues, Subject};
use crate::layout::{self, ACK_WAIT, LEASE};
use crate::names::Names;
use crate::open::{NatsError, open};
use crate::own_runtime::OwnRuntime;
use crate::server::{Failure, LIMIT, Server, transient};
use crate::{blobs, claims};

/// Reports that wait here until a host takes them.
const REPORTS_AHEAD: usize = 256;

/// Carries calls over NATS JetStream. Its operations end within 5 s, but for messages over 900 KiB: 1 s longer for each MiB.
/// It connects again for ever. What it made on the server is made again if the server lost it.
pub struct NatsCarrier {
    config: NatsConfig,
    runtime: Arc<OwnRuntime>,
    connected: OnceCell<Arc<Server>>,
}

impl NatsCarrier {
    /// Makes a carrier that connects when it is first used. It has a thread of its own.
    ///
    /// # Errors
    /// [`NatsError::Config`], and [`NatsError::Thread`] where the system has no thread.
    pub fn new(config: NatsConfig) -> Result<Self, NatsError> {
        let invalid = |(key, reason)| NatsError::Config { key, reason };
        config.servers().map_err(invalid)?;
        Ok(Self {
            config,
            runtime: Arc::new(OwnRuntime::start().map_err(NatsError::Thread)?),
            connected: OnceCell::new(),
        })
    }

    /// Connects to a server, and makes the streams and buckets of the tenant, unless they exist.
    ///
    /// # Errors
    /// [`NatsError`].
    pub async fn connect(config: NatsConfig) -> Result<Self, NatsError> {
        let carrier = Self::new(config)?;
        carrier
            .runtime
            .boxed(carrier.try_server())
            .await
            .map(drop)?;
        Ok(carrier)
    }

    async fn try_server(&self) -> Result<&Arc<Server>, NatsError> {
        let connected = self.connected.get_or_try_init(|| async {
            let (client, link) = open(&self.config).await?;
            let names = Names::new(&self.config.tenant);
            let streams = layout::streams(&names, &self.config);
            let server = Server::new(client, link, names, streams, &self.runtime);
            let start = Instant::now();
            server.attempt(LIMIT, || server.make_streams(start)).await?;
            Ok::<_, NatsError>(server)
        });
        connected.await
    }

    /// Returns the server, once it is connected.
    async fn server(&self) -> Result<&Arc<Server>, CarrierError> {
        self.try_server().await.map_err(|error| match error {
            NatsError::Carrier(error) => error,
            NatsError::Unreachable { .. } => CarrierError::Unreachable(error.to_string()),
            NatsError::Config { .. } | NatsError::Credentials { .. } | NatsError::Thread(_) => {
                CarrierError::Refused(error.to_string())
            }
        })
    }

    fn on_runtime<'a, T: 'a>(
        &'a self,
        operation: impl Future<Output = Result<T, CarrierError>> + Send + 'a,
    ) -> Carrying<'a, T> {
        self.runtime.boxed(operation)
    }

    /// Sends what is still to be sent, and closes the connection. [`Deliveries`] end.
    pub async fn close(&self) {
        // It fails if it is closed already.
        if let Some(server) = self.connected.get() {
            let drained = self
                .runtime
                .boxed(async { tokio::time::timeout(LIMIT, server.client.drain()).await });
            drop(drained.await);
        }
    }

    /// Tells the consumer of a delivery what became of it, and waits for its confirmation.
    async fn answer(&self, receipt: &str, answer: String) -> Result<(), CarrierError> {
        let server = self.server().await?;
        let of = server.names.receipt(receipt)?;
        let ask = || async {
            let answered = server.request(receipt.to_owned(), answer.clone()).await;
            let Err(Failure::Missing) = answered else {
                return answered;
            };
            // Nobody listens: the consumer is gone, or has no leader yet.
            let info = format!("CONSUMER.INFO.{}.{}", of.stream, of.consumer);
            match server.ask(info, &()).await {
                Err(Failure::Missing) => Err(Failure::Final(CarrierError::Refused(
                    "the delivery does not exist any more".to_owned(),
                ))),
                Err(error) => Err(error),
                Ok(IgnoredAny) => Err(Failure::Transient("the consumer is away".to_owned())),
            }
        };
        server.attempt(LIMIT, ask).await
    }
}

impl fmt::Debug for NatsCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = &self.config.tenant;
        f.debug_struct("NatsCarrier")
            .field("tenant", tenant)
            .finish_non_exhaustive()
    }
}

impl Carrier for NatsCarrier {
    fn send_call<'a>(
        &'a self,
        to: &'a Route,
        id: &'a WorkerCallId,
        attempt: u32,
        call: Bytes,
    ) -> Carrying<'a, String> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let queue = server.names.calls(to)?;
            let id = if attempt == 1 {
                id.to_string()
            } else {
                format!("{id}.{attempt}")
            };
            let message = blobs::pack(server, &id, call).await?;
            server
                .publish(&queue.subject, message)
                .await
                .map(|sequence| sequence.unwrap_or_default().to_string())
        })
    }

    fn is_stored<'a>(&'a self, place: &'a str) -> Carrying<'a, bool> {
        self.on_runtime(async move {
            let server = self.server().await?;
            server
                .has_message(&server.names.calls, sequence(place)?)
                .await
        })
    }

    fn withdraw<'a>(&'a self, place: &'a str) -> Carrying<'a, ()> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let calls = &server.names.calls;
            server.delete_message(calls, sequence(place)?).await
        })
    }

    fn clean<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()> {
        self.on_runtime(async move { blobs::remove(self.server().await?, id.as_str()).await })
    }

    fn calls<'a>(&'a self, from: &'a [Route], ahead: usize) -> Carrying<'a, Box<dyn Deliveries>> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let queues = from.iter().map(|route| server.names.calls(route));
            let queues = queues.collect::<Result<_, _>>()?;
            let queues = Queues::open(server, queues, ahead).await?;
            Ok(Box::new(queues) as Box<dyn Deliveries>)
        })
    }

    fn send_report<'a>(
        &'a self,
        origin: &'a str,
        id: &'a WorkerCallId,
        report: Bytes,
    ) -> Carrying<'a, ()> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let queue = server.names.reports(origin)?;
            // A call may have several reports. The same one is sent once.
            let digest = blobs::digest(&report).await;
            let id = format!("{id}.report.{}", digest.get(..32).unwrap_or(&digest));
            let message = blobs::pack(server, &id, report).await?;
            server.publish(&queue.subject, message).await.map(drop)
        })
    }

    fn reports<'a>(&'a self, origin: &'a str) -> Carrying<'a, Box<dyn Deliveries>> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let queue = server.names.reports(origin)?;
            let queues = Queues::open(server, vec![queue], REPORTS_AHEAD).await?;
            Ok(Box::new(queues) as Box<dyn Deliveries>)
        })
    }

    fn acknowledge<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        self.on_runtime(self.answer(receipt, "+ACK".to_owned()))
    }

    fn in_progress<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        self.on_runtime(self.answer(receipt, "+WPI".to_owned()))
    }

    fn give_back<'a>(&'a self, receipt: &'a str, after: Duration) -> Carrying<'a, ()> {
        let answer = if after.is_zero() {
            "-NAK".to_owned()
        } else {
            format!("-NAK {{\"delay\": {}}}", after.as_nanos())
        };
        self.on_runtime(self.answer(receipt, answer))
    }

    fn acknowledge_within(&self) -> Duration {
        ACK_WAIT
    }

    fn tell(&self, order: Bytes) -> Carrying<'_, ()> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let (client, subject) = (&server.client, &server.names.orders);
            let send = || async {
                let sent = client.publish(subject.clone(), order.clone()).await;
                sent.map_err(|error| transient(&error))?;
                server.wait_until_handled().await
            };
            server.attempt(LIMIT, send).await
        })
    }

    fn orders(&self) -> Carrying<'_, Box<dyn Deliveries>> {
        self.on_runtime(async move {
            let server = self.server().await?;
            let (client, subject) = (&server.client, &server.names.orders);
            let subscribe = || async {
                let subscribed = client.subscribe(subject.clone()).await;
                let subscribed = subscribed.map_err(|error| transient(&error))?;
                server.wait_until_handled().await?;
                Ok(subscribed)
            };
            let messages = server.attempt(LIMIT, subscribe).await?;
            let subject = Subject {
                messages,
                _server: server.clone(),
            };
            Ok(Box::new(subject) as Box<dyn Deliveries>)
        })
    }

    fn claim<'a>(&'a self, id: &'a WorkerCallId, holder: Bytes) -> Carrying<'a, Claimed> {
        self.on_runtime(
            async move { claims::claim(self.server().await?, id.as_str(), holder).await },
        )
    }

    fn take_over<'a>(
        &'a self,
        id: &'a WorkerCallId,
        revision: u64,
        holder: Bytes,
    ) -> Carrying<'a, bool> {
        self.on_runtime(async move {
            claims::take_over(self.server().await?, id.as_str(), revision, holder).await
        })
    }

    fn forget<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()> {
        self.on_runtime(async move {
            let server = self.server().await?;
            claims::remove(server, id.as_str()).await?;
            blobs::remove(server, id.as_str()).await
        })
    }

    fn keep_lease<'a>(&'a self, lease: &'a WorkerLease) -> Carrying<'a, ()> {
        self.on_runtime(async move { claims::keep_lease(self.server().await?, lease).await })
    }

    fn end_lease<'a>(&'a self, worker: &'a str) -> Carrying<'a, ()> {
        self.on_runtime(async move { claims::end_lease(self.server().await?, worker).await })
    }

    fn leases(&self) -> Carrying<'_, Vec<WorkerLease>> {
        self.on_runtime(async move { claims::leases(self.server().await?).await })
    }

    fn lease_time(&self) -> Duration {
        LEASE
    }
}

/// Reads the place of a message: its number in the stream.
fn sequence(place: &str) -> Result<u64, CarrierError> {
    let sequence = place.parse();
    sequence.map_err(|_| CarrierError::Refused("the place of a message is a number".to_owned()))
}
