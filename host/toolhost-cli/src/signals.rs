//! The signals of Unix.
//!
//! All are handled, and none is ignored: a program that is started gets the default of each handled signal.

use std::fs;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;

/// The signals that stop a command. A signal without a listener ends the process.
pub(crate) struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl StopSignals {
    /// Listens from now on.
    pub(crate) fn listen() -> Self {
        // `nohup` ignores the signal for the programs that it starts.
        let hang_up = || signal(SignalKind::hangup()).ok();
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: (!is_ignored(Number::HUP)).then(hang_up).flatten(),
        }
    }

    /// Waits for a signal. Returns the exit code for it.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            () = received(&mut self.interrupt) => Exit::Interrupted,
            () = received(&mut self.terminate) => Exit::Terminated,
            () = received(&mut self.hang_up) => Exit::HungUp,
        }
    }
}

async fn received(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with an error, for the rest of the
/// process. Without a handler its signal ends the process.
pub(crate) fn survive_file_size_limit() {
    // The handler stays when its receiver is dropped.
    let _ = signal(SignalKind::from_raw(Number::XFSZ.as_raw()));
}

/// Whether this process ignores a signal, since its parent did.
fn is_ignored(number: Number) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (number.as_raw() - 1) & 1 == 1)
}
