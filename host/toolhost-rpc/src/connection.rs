//! Serves one connection: reads requests, runs them, and ends them with the connection.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};
use toolhost_runtime::lines::{Line, Lines};

use crate::error::{RpcError, RpcErrorCode};
use crate::in_flight::InFlight;
use crate::limits::RpcLimits;
use crate::memory::Memory;
use crate::message::{self, Incoming, RequestId, cancelled_id, quoted, response};
use crate::methods;
use crate::session::Session;

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client closed it.
    Closed,
    /// The server was drained, and every request was answered.
    Drained,
    /// The client began a line and did not end it in time.
    LineTimeout,
    /// The client did not read its answers.
    NotReading,
    /// There were too many connections.
    Refused,
}

/// A request that was read.
struct Request {
    id: RequestId,
    method: String,
    params: Value,
    bytes: usize,
}

pub(crate) struct RpcConnection {
    session: Arc<Session>,
    in_flight: Arc<InFlight>,
    memory: Memory,
    /// Dropping it ends the requests.
    requests: JoinSet<()>,
    is_draining: bool,
}

impl RpcConnection {
    pub(crate) fn new(session: Session, memory: Memory) -> Self {
        Self {
            session: Arc::new(session),
            in_flight: Arc::default(),
            memory,
            requests: JoinSet::new(),
            is_draining: false,
        }
    }

    /// Serves the connection to its end. Then all its requests have ended.
    pub(crate) async fn serve<R: AsyncRead + Unpin>(
        mut self,
        mut lines: Lines<R>,
        mut drain: watch::Receiver<bool>,
    ) -> ConnectionEnd {
        let mut stall = Stall::new(self.limits());
        let end = loop {
            self.is_draining = *drain.borrow_and_update();
            if self.is_draining && self.requests.is_empty() {
                break ConnectionEnd::Drained;
            }
            let answers = &self.session.answers;
            let next = async {
                // Nothing is read while nothing can be answered.
                answers.room().await;
                lines.next().await
            };
            tokio::select! {
                biased;
                () = answers.stuck() => break ConnectionEnd::NotReading,
                Ok(()) = drain.changed() => {}
                Some(_) = self.requests.join_next() => {}
                () = stall.tick() => {
                    if stall.is_stalled(lines.is_within_line()) {
                        break ConnectionEnd::LineTimeout;
                    }
                    self.drop_idle_turns();
                }
                line = next => match line {
                    Some(line) => {
                        stall.count += 1;
                        self.receive(line).await;
                    }
                    None => break ConnectionEnd::Closed,
                },
            }
        };
        self.requests.shutdown().await;
        end
    }

    fn limits(&self) -> &RpcLimits {
        &self.session.config.limits
    }

    fn drop_idle_turns(&self) {
        let dropped = self.session.turns.drop_idle(self.limits().idle_turn);
        if dropped > 0 {
            tracing::info!(
                target: "toolhost::rpc", dropped,
                "turns that were not used were dropped"
            );
        }
    }

    async fn receive(&mut self, line: Line) {
        let limits = self.limits();
        let incoming = match line.text() {
            Ok(text) => message::parse(text, limits.line_values),
            Err(_) => {
                let message = format!("the line has more than {} bytes", limits.line_bytes);
                let error = RpcError::new(RpcErrorCode::Limit, message);
                Err((RequestId::UNKNOWN, error))
            }
        };
        // The request takes its memory next.
        drop(line);
        let refusal = match incoming {
            Ok(Incoming::Request {
                id,
                method,
                params,
                bytes,
            }) => {
                let request = Request {
                    id,
                    method,
                    params,
                    bytes,
                };
                self.begin(request).err()
            }
            Ok(Incoming::Notification { method, params }) => {
                self.notified(&method, &params);
                None
            }
            Ok(Incoming::Response) => None,
            Err(refusal) => Some(refusal),
        };
        if let Some((id, error)) = refusal {
            self.session.answers.answer(response(&id, Err(error))).await;
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        match (method, cancelled_id(params)) {
            (methods::CANCEL, Some(id)) => self.in_flight.cancel(&id),
            _ => tracing::debug!(
                target: "toolhost::rpc", method = quoted(method),
                "a notification was ignored"
            ),
        }
    }

    /// Starts a request, unless it is refused.
    fn begin(&mut self, request: Request) -> Result<(), message::Unreadable> {
        let refuse =
            |code, message: String| Err((request.id.clone(), RpcError::new(code, message)));
        if self.is_draining {
            let message = "the server is shutting down".to_owned();
            return refuse(RpcErrorCode::Shutdown, message);
        }
        let most = self.limits().requests;
        if self.requests.len() >= most {
            let message = format!("{most} requests of this connection run already");
            return refuse(RpcErrorCode::Limit, message);
        }
        let Some(charge) = self.memory.take(request.bytes) else {
            let message = "the requests that run take all the memory for requests".to_owned();
            return refuse(RpcErrorCode::Limit, message);
        };
        let Some(running) = self.in_flight.begin(&request.id) else {
            // The answer with this id is that of the earlier request.
            let message = format!(
                "a request with the id {} runs already",
                quoted(&request.id.key())
            );
            let error = RpcError::new(RpcErrorCode::Request, message);
            return Err((RequestId::UNKNOWN, error));
        };
        let session = Arc::clone(&self.session);
        self.requests.spawn(async move {
            let Request {
                id, method, params, ..
            } = request;
            let answer = {
                let call = methods::call(&session, &method, params);
                tokio::select! {
                    biased;
                    () = running.cancelled() => {
                        let message = "the request was cancelled";
                        Err(RpcError::new(RpcErrorCode::Cancelled, message))
                    }
                    answer = AssertUnwindSafe(call).catch_unwind() => {
                        answer.unwrap_or_else(|_| Err(panicked(&method)))
                    }
                }
            };
            drop((running, charge));
            session.answers.answer(response(&id, answer)).await;
        });
        Ok(())
    }
}

fn panicked(method: &str) -> RpcError {
    tracing::error!(target: "toolhost::rpc", method, "a method panicked");
    let message = format!("the method `{}` failed", quoted(method));
    RpcError::new(RpcErrorCode::Internal, message)
}

/// Notices a line that was begun and does not end.
struct Stall {
    tick: Interval,
    /// Lines that were read.
    count: u64,
    /// The count at which the line was begun, if one was begun at the last tick.
    begun_at: Option<u64>,
}

impl Stall {
    fn new(limits: &RpcLimits) -> Self {
        let mut tick = interval(limits.line_timeout);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            tick,
            count: 0,
            begun_at: None,
        }
    }

    async fn tick(&mut self) {
        self.tick.tick().await;
    }

    fn is_stalled(&mut self, is_within_line: bool) -> bool {
        let begun_at = is_within_line.then_some(self.count);
        let is_stalled = begun_at.is_some() && begun_at == self.begun_at;
        self.begun_at = begun_at;
        is_stalled
    }
}
