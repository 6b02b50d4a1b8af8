//! One turn of one instance, from its event to what came of it.

use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use toolhost_contract::HandlerError;

use super::delivery::check_answer;
use super::dispatch::Phase;
use super::worker::{Turn, Worker};
use super::{Loss, wire};

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The agent ended it.
    Done(Result<Value, HandlerError>),
    /// The instance was lost in it.
    Lost(Loss),
    /// It took too long.
    TooLong(HandlerError),
    /// The orchestrator stopped.
    Stopped,
}

/// Waits for the end of a turn, of its time, or of the orchestrator.
pub(super) async fn take(
    worker: &Worker,
    turn: Turn,
    deadline: Duration,
    phase: watch::Receiver<Phase>,
) -> Ended {
    tokio::select! {
        biased;
        end = turn => match end {
            Ok(said) => Ended::Done(said.and_then(bounded)),
            Err(loss) => Ended::Lost(loss),
        },
        () = stopped(worker, phase) => Ended::Stopped,
        () = tokio::time::sleep(deadline) => {
            let message = format!("the turn took longer than {} s", deadline.as_secs_f32());
            Ended::TooLong(wire::host_ended_turn(message))
        }
    }
}

/// Holds an answer to the limits of a message.
fn bounded(answer: Value) -> Result<Value, HandlerError> {
    match check_answer(&answer) {
        Ok(()) => Ok(answer),
        Err(error) => {
            let message = format!("the answer cannot travel: {error}");
            Err(wire::host_ended_turn(message))
        }
    }
}

/// Waits until the orchestrator has stopped and the grace is over; tells the worker at once.
async fn stopped(worker: &Worker, mut phase: watch::Receiver<Phase>) {
    let until = draining(&mut phase).await;
    worker.announce_shutdown(until);
    tokio::time::sleep_until(until).await;
}

/// Waits until the orchestrator stops; says until when turns may go on.
pub(super) async fn draining(phase: &mut watch::Receiver<Phase>) -> tokio::time::Instant {
    loop {
        if let Phase::Draining(until) = *phase.borrow_and_update() {
            return until;
        }
        if phase.changed().await.is_err() {
            // Without an orchestrator nobody ends it but its tasks' owner.
            pending::<()>().await;
        }
    }
}
