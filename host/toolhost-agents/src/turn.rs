//! One turn of an instance: runs it until it ends, takes too long, or the orchestrator stops.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use toolhost_contract::HandlerError;

use super::delivery::bounded;
use super::phase::{Phase, draining};
use super::worker::{TurnFuture, Worker};
use super::{Loss, wire};

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The agent ended it.
    Done(Result<Value, HandlerError>),
    /// The instance was lost.
    Lost(Loss),
    /// It exceeded the deadline.
    TooLong(HandlerError),
    /// The orchestrator stopped.
    Stopped,
}

/// Runs a turn to its end.
pub(super) async fn run(
    worker: &Worker,
    turn: TurnFuture,
    deadline: Duration,
    phase: watch::Receiver<Phase>,
) -> Ended {
    tokio::select! {
        biased;
        end = turn => match end {
            Ok(end) => Ended::Done(end.and_then(bounded)),
            Err(loss) => Ended::Lost(loss),
        },
        () = stopped(worker, phase) => Ended::Stopped,
        () = tokio::time::sleep(deadline) => {
            let message = format!("the turn took longer than {} s", deadline.as_secs_f32());
            Ended::TooLong(wire::host_ended_turn(message))
        }
    }
}

/// Waits until the orchestrator has stopped and the grace period is over; announces the end at once.
async fn stopped(worker: &Worker, mut phase: watch::Receiver<Phase>) {
    let until = draining(&mut phase).await;
    worker.announce_shutdown(until);
    tokio::time::sleep_until(until).await;
}
