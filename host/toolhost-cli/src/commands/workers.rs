//! `toolhost workers`: lists the workers that live, and tells one to end.

use anyhow::anyhow;
use serde_json::json;
use toolhost::fleet::{Carrier, WorkerInfo, drain};

use crate::args::{DrainArgs, WorkersAction, WorkersArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::fleet;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

/// What to do if the servers cannot be used.
const HINT: &str = "Look at the server that carries calls, and at `workers` in the policy.";

pub(crate) async fn workers(args: &WorkersArgs, settings: &Settings) -> Result<Exit, Failure> {
    if let Some(WorkersAction::Drain(args)) = &args.action {
        return drain_one(args, settings).await;
    }
    let carrier = fleet::carrier_of(&args.carrier).await?;
    let workers = alive(&*carrier).await?;
    if args.json {
        stdout::json(&json!({ "workers": workers }))?;
    } else if workers.is_empty() {
        stdout::write("no worker lives")?;
    } else {
        let lines: Vec<String> = workers.iter().map(line).collect();
        stdout::write(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

async fn drain_one(args: &DrainArgs, settings: &Settings) -> Result<Exit, Failure> {
    let carrier = fleet::carrier_of(&args.carrier).await?;
    let workers = alive(&*carrier).await?;
    if !workers.iter().any(|info| info.worker == args.worker) {
        let error = anyhow!("no worker {} lives", text::line(&args.worker));
        return Err(Failure::from(error).hint("`toolhost workers` lists those that live."));
    }
    drain(&*carrier, &args.worker).await.hint(HINT)?;
    settings.note(&format!("worker {} takes no more calls", args.worker));
    Ok(Exit::Done)
}

async fn alive(carrier: &dyn Carrier) -> Result<Vec<WorkerInfo>, Failure> {
    WorkerInfo::all(carrier).await.hint(HINT)
}

/// Returns such as "node-2  abcdefghijklmnop  3 of 256 calls  shop  1a2b3c4d5e6f  gpu".
fn line(info: &WorkerInfo) -> String {
    let mut parts = vec![
        text::line(&info.machine),
        text::line(&info.worker),
        format!("{} of {} calls", info.running, info.slots),
        text::line(&info.bundle),
        info.terms.get(..12).unwrap_or_default().to_owned(),
    ];
    if !info.labels.is_empty() {
        parts.push(text::line(&info.labels.join(",")));
    }
    if info.is_draining {
        parts.push("draining".to_owned());
    }
    parts.join("  ")
}
