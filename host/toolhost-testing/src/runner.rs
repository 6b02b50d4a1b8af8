//! Plans and runs the cases of one bundle.

mod log_capture;
mod plan;
mod run;
mod session;
mod stub_server;

pub use plan::Plan;
pub use run::RunOptions;
pub use session::{OpenError, Runner};
