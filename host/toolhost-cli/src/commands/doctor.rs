//! `toolhost doctor`: examines this machine. It changes nothing on disk.

mod compilers;
mod database;
mod directories;
mod finding;
mod kernel;
mod kits;
mod network;
mod report;
mod terminal;

use serde_json::json;

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::progress::Progress;
use crate::terminal::stdout;
use finding::{Finding, State};

pub(crate) async fn doctor(args: &DoctorArgs, settings: &Settings) -> Result<Exit, Failure> {
    let findings = {
        let progress = Progress::start(settings.verbosity);
        let _phase = progress.waiting("examining this machine");
        examine(settings).await
    };
    let is_ok = findings.iter().all(|finding| finding.state != State::Error);
    if args.json {
        let version = env!("CARGO_PKG_VERSION");
        stdout::json(&json!({"ok": is_ok, "version": version, "checks": findings}))?;
    } else {
        stdout::write(&report::text(&findings, settings.stdout_style))?;
    }
    Ok(Exit::done_if(is_ok))
}

async fn examine(settings: &Settings) -> Vec<Finding> {
    let mut findings = compilers::examine().await;
    findings.extend(kits::examine(settings));
    findings.extend(kernel::examine());
    findings.extend(directories::cache(settings));
    findings.extend(directories::state_root(settings));
    findings.extend(database::examine(settings).await);
    findings.extend(network::examine());
    findings.extend(terminal::examine(settings));
    findings
}
