//! Bounds the texts that a guest produces: its output streams, its log and its JSON.

pub(crate) mod head_tail;
mod lines;
mod live_log;
pub(crate) mod log;
mod meter;

pub(crate) use live_log::Stream;
pub use live_log::{LiveLog, LogSink};
pub use log::{LogLevel, LogRecord};
pub(crate) use meter::OutputMeter;
