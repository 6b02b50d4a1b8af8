//! Measures how long calls take over a NATS server: `cargo run --release --example speed -- nats://127.0.0.1:4222`.
//!
//! Run it on a server whose streams may be used up; it takes the tenant `speed`.
#![expect(clippy::print_stdout, reason = "it reports to a terminal")]

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::oneshot;
use toolhost::fleet::{Carrier, CarrierError, Destination, Route};
use toolhost_contract::WorkerCallId;
use toolhost_nats::{NatsCarrier, NatsConfig};

/// Calls of each measurement.
const CALLS: usize = 20_000;

/// Bytes of a call and of a report.
const BYTES: usize = 1024;

/// The host that gets the reports.
const ORIGIN: &str = "speed";

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let url = std::env::args().nth(1).ok_or("name the URL of a server")?;
    let mut config = NatsConfig::new(&url);
    config.tenant = "speed".to_owned();
    let host = Arc::new(NatsCarrier::connect(config.clone()).await?);
    let worker = Arc::new(NatsCarrier::connect(config).await?);
    let route = |to: &str| Route {
        terms: "0".repeat(64),
        to: Destination::Label(to.to_owned()),
    };

    let (mut ids, unread) = (Ids::new(), route("unread"));
    for flight in [1, 64, 1024] {
        let ids = ids.next(CALLS);
        let send = |id| {
            let (host, route) = (&host, &unread);
            async move { host.send_call(route, &id, 1, payload()).await.map(drop) }
        };
        measure("send_call", flight, ids, send).await?;
    }

    let served = route("served");
    let serve = tokio::spawn(serve(worker, served.clone()));
    let waiting = Arc::new(tokio::sync::Mutex::new(std::collections::HashMap::new()));
    let receive = tokio::spawn(receive(host.clone(), waiting.clone()));
    for flight in [1, 64] {
        let ids = ids.next(CALLS / 4);
        let call = |id: WorkerCallId| {
            let (host, waiting, route) = (&host, &waiting, &served);
            async move {
                let (sender, answer) = oneshot::channel();
                waiting.lock().await.insert(id.to_string(), sender);
                host.send_call(route, &id, 1, Bytes::from(id.to_string()))
                    .await?;
                answer.await.map_err(|_| CarrierError::Full)
            }
        };
        measure("call, report, both acknowledged", flight, ids, call).await?;
    }
    serve.abort();
    receive.abort();

    for flight in [1, 64] {
        let ids = ids.next(CALLS / 4);
        let claim = |id| {
            let host = &host;
            async move {
                host.claim(&id, payload()).await?;
                host.forget(&id).await
            }
        };
        measure("claim, forget", flight, ids, claim).await?;
    }
    Ok(())
}

/// Answers each call with a report that is its text.
async fn serve(worker: Arc<NatsCarrier>, route: Route) -> Result<(), Failed> {
    let mut calls = worker.calls(&[route], 128).await?;
    while let Some(call) = calls.next().await {
        let worker = worker.clone();
        tokio::spawn(async move {
            let id = WorkerCallId::parse(&String::from_utf8_lossy(&call.message))?;
            worker.send_report(ORIGIN, &id, call.message).await?;
            worker.acknowledge(&call.receipt).await?;
            Ok::<_, Failed>(())
        });
    }
    Ok(())
}

type Answers = Arc<tokio::sync::Mutex<std::collections::HashMap<String, oneshot::Sender<()>>>>;

/// Ends the calls whose reports arrive.
async fn receive(host: Arc<NatsCarrier>, waiting: Answers) -> Result<(), Failed> {
    let mut reports = host.reports(ORIGIN).await?;
    while let Some(report) = reports.next().await {
        let (host, waiting) = (host.clone(), waiting.clone());
        tokio::spawn(async move {
            host.acknowledge(&report.receipt).await?;
            let id = String::from_utf8_lossy(&report.message).into_owned();
            if let Some(answer) = waiting.lock().await.remove(&id) {
                let _ = answer.send(());
            }
            Ok::<_, Failed>(())
        });
    }
    Ok(())
}

async fn measure<F: Future<Output = Result<(), CarrierError>>>(
    what: &str,
    flight: usize,
    ids: Vec<WorkerCallId>,
    run: impl Fn(WorkerCallId) -> F,
) -> Result<(), Failed> {
    let (start, count) = (Instant::now(), ids.len());
    let mut runs = stream::iter(ids.into_iter().map(run)).buffer_unordered(flight);
    while let Some(run) = runs.next().await {
        run?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1000.0 * flight as f64 / count as f64;
    let rate = count as f64 / seconds;
    println!("{what}, {flight} at once: {each:.2} ms each, {rate:.0}/s");
    Ok(())
}

fn payload() -> Bytes {
    Bytes::from_static(&[b'x'; BYTES])
}

/// Ids that were not used before.
struct Ids(u128);

impl Ids {
    fn new() -> Self {
        let since = std::time::UNIX_EPOCH.elapsed();
        Self(since.map_or(0, |since| since.as_nanos()))
    }

    fn next(&mut self, count: usize) -> Vec<WorkerCallId> {
        let letters = b"abcdefghijklmnopqrstuvwxyz234567";
        let ids = std::iter::repeat_with(|| {
            self.0 += 1;
            let letter = |index: u32| {
                let index = (self.0 >> (5 * index)) & 31;
                letters.get(index as usize).copied().map_or('a', char::from)
            };
            let text: String = (0..25).chain(0..7).map(letter).collect();
            WorkerCallId::parse(&text).ok()
        });
        ids.flatten().take(count).collect()
    }
}
