//! The carrier: what toolhost asks of it, in terms of the modules beneath.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::de::IgnoredAny;
use toolhost::fleet::{Carrier, CarrierError, Carrying, Claim, Deliveries, Route, WorkerLease};
use toolhost_contract::WorkerCallId;

use crate::config::NatsConfig;
use crate::deliveries::{Queues, Subject};
use crate::layout::{self, ACK_WAIT, LEASE};
use crate::names::Names;
use crate::open::{NatsError, open};
use crate::server::{Failure, LIMIT, Server, transient};
use crate::{blobs, claims};

/// Reports that wait here until a host takes them.
const REPORTS_AHEAD: usize = 256;

/// Carries calls over NATS JetStream. Its operations end within 5 s, but for messages over 900 KiB: 1 s longer for each MiB.
/// It connects again for ever. What it made on the server is made again if the server lost it.
pub struct NatsCarrier {
    server: Arc<Server>,
}

impl NatsCarrier {
    /// Connects to a server, and makes the streams and buckets of the tenant, unless they exist.
    ///
    /// # Errors
    /// [`NatsError`].
    pub async fn connect(config: NatsConfig) -> Result<Self, NatsError> {
        let (client, link) = open(&config).await?;
        let names = Names::new(&config.tenant);
        let streams = layout::streams(&names, &config);
        let server = Server::new(client, link, names, streams);
        let start = Instant::now();
        server.attempt(LIMIT, || server.make_streams(start)).await?;
        Ok(Self { server })
    }

    /// Sends what is still to be sent, and closes the connection. [`Deliveries`] end.
    pub async fn close(&self) {
        // It fails if it is closed already.
        drop(tokio::time::timeout(LIMIT, self.server.client.drain()).await);
    }

    /// Tells the consumer of a delivery what became of it, and waits for its confirmation.
    async fn answer(&self, receipt: &str, answer: String) -> Result<(), CarrierError> {
        let server = &self.server;
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
        let tenant = &self.server.names.tenant;
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
    ) -> Carrying<'a, ()> {
        Box::pin(async move {
            let queue = self.server.names.calls(to)?;
            let id = if attempt == 1 {
                id.to_string()
            } else {
                format!("{id}.{attempt}")
            };
            let message = blobs::pack(&self.server, &id, call).await?;
            self.server.publish(&queue.subject, message).await.map(drop)
        })
    }

    fn calls<'a>(&'a self, from: &'a [Route], ahead: usize) -> Carrying<'a, Box<dyn Deliveries>> {
        Box::pin(async move {
            let queues = from.iter().map(|route| self.server.names.calls(route));
            let queues = queues.collect::<Result<_, _>>()?;
            let queues = Queues::open(&self.server, queues, ahead).await?;
            Ok(Box::new(queues) as Box<dyn Deliveries>)
        })
    }

    fn send_report<'a>(
        &'a self,
        origin: &'a str,
        id: &'a WorkerCallId,
        report: Bytes,
    ) -> Carrying<'a, ()> {
        Box::pin(async move {
            let queue = self.server.names.reports(origin)?;
            // A call may have several reports. The same one is sent once.
            let digest = blobs::digest(&report).await;
            let id = format!("{id}.report.{}", digest.get(..32).unwrap_or(&digest));
            let message = blobs::pack(&self.server, &id, report).await?;
            self.server.publish(&queue.subject, message).await.map(drop)
        })
    }

    fn reports<'a>(&'a self, origin: &'a str) -> Carrying<'a, Box<dyn Deliveries>> {
        Box::pin(async move {
            let queue = self.server.names.reports(origin)?;
            let queues = Queues::open(&self.server, vec![queue], REPORTS_AHEAD).await?;
            Ok(Box::new(queues) as Box<dyn Deliveries>)
        })
    }

    fn acknowledge<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        Box::pin(self.answer(receipt, "+ACK".to_owned()))
    }

    fn in_progress<'a>(&'a self, receipt: &'a str) -> Carrying<'a, ()> {
        Box::pin(self.answer(receipt, "+WPI".to_owned()))
    }

    fn give_back<'a>(&'a self, receipt: &'a str, after: Duration) -> Carrying<'a, ()> {
        let answer = if after.is_zero() {
            "-NAK".to_owned()
        } else {
            format!("-NAK {{\"delay\": {}}}", after.as_nanos())
        };
        Box::pin(self.answer(receipt, answer))
    }

    fn acknowledge_within(&self) -> Duration {
        ACK_WAIT
    }

    fn cancel<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()> {
        Box::pin(async move {
            let (client, subject) = (&self.server.client, &self.server.names.cancel);
            let send = || async {
                let id = Bytes::from(id.to_string());
                let sent = client.publish(subject.clone(), id).await;
                sent.map_err(|error| transient(&error))
            };
            self.server.attempt(LIMIT, send).await
        })
    }

    fn cancellations(&self) -> Carrying<'_, Box<dyn Deliveries>> {
        Box::pin(async move {
            let (client, subject) = (&self.server.client, &self.server.names.cancel);
            let subscribe = || async {
                let subscribed = client.subscribe(subject.clone()).await;
                let subscribed = subscribed.map_err(|error| transient(&error))?;
                // Once the server has answered this, it knows the subscription.
                let flushed = client.flush().await;
                flushed.map_err(|error| transient(&error))?;
                Ok(subscribed)
            };
            let messages = self.server.attempt(LIMIT, subscribe).await?;
            Ok(Box::new(Subject(messages)) as Box<dyn Deliveries>)
        })
    }

    fn claim<'a>(&'a self, id: &'a WorkerCallId, holder: Bytes) -> Carrying<'a, Option<Claim>> {
        Box::pin(claims::claim(&self.server, id.as_str(), holder))
    }

    fn take_over<'a>(
        &'a self,
        id: &'a WorkerCallId,
        revision: u64,
        holder: Bytes,
    ) -> Carrying<'a, bool> {
        Box::pin(claims::take_over(
            &self.server,
            id.as_str(),
            revision,
            holder,
        ))
    }

    fn forget<'a>(&'a self, id: &'a WorkerCallId) -> Carrying<'a, ()> {
        Box::pin(async move {
            claims::remove(&self.server, id.as_str()).await?;
            blobs::remove(&self.server, id.as_str()).await
        })
    }

    fn keep_lease<'a>(&'a self, lease: &'a WorkerLease) -> Carrying<'a, ()> {
        Box::pin(claims::keep_lease(&self.server, lease))
    }

    fn end_lease<'a>(&'a self, worker: &'a str) -> Carrying<'a, ()> {
        Box::pin(claims::end_lease(&self.server, worker))
    }

    fn leases(&self) -> Carrying<'_, Vec<WorkerLease>> {
        Box::pin(claims::leases(&self.server))
    }

    fn lease_time(&self) -> Duration {
        LEASE
    }
}
