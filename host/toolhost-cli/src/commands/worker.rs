//! `toolhost worker`: runs the calls of hosts.

use std::sync::Arc;

use toolhost::fleet::{Worker, WorkerConfig};

use crate::args::WorkerArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::fleet;
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::text;

pub(crate) async fn worker(
    args: &WorkerArgs,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    let policy = PolicyChoice::new(args.policy.as_deref(), Some(&args.bundle));
    let policy = policy.read().await?;
    let carrier = fleet::carrier_with(&policy.policy, args.nats.as_deref())?;
    let context = HostContext::open_worker(settings, policy, StateRoot::Needed)?;
    let bundle = context.load_with_notes(&args.bundle, settings).await?;
    let mut config = WorkerConfig::default();
    config.labels.clone_from(&args.labels);
    config.slots = usize::try_from(args.slots).unwrap_or(usize::MAX);
    config.machine = args.machine.clone().unwrap_or_else(fleet::machine);
    let starting = Worker::start(bundle, Arc::clone(&carrier), config);
    let worker = tokio::select! {
        worker = starting => worker.hint("Look at the server that carries calls, and at `workers` in the policy.")?,
        () = stop.received() => return Ok(Exit::Done),
    };
    let info = worker.info();
    let labels = if info.labels.is_empty() {
        String::new()
    } else {
        format!(", labels {}", info.labels.join(", "))
    };
    settings.note(&format!(
        "worker {} takes calls of {} ({}){labels}",
        info.worker,
        text::line(&info.bundle),
        info.terms.get(..12).unwrap_or_default(),
    ));
    tokio::select! {
        () = stop.received() => {}
        () = worker.told_to_drain() => {}
    }
    let running = worker.info().running;
    if running > 0 {
        settings.note(&format!(
            "waiting for {running} calls; stop again to end them now"
        ));
    }
    worker.drain().await;
    settings.note(&format!("ended {} calls", worker.info().ended));
    Ok(Exit::Done)
}
