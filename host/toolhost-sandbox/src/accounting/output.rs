//! Bounds the texts that a guest produces: its output streams, its log and its JSON.

mod head_tail;
mod lines;
mod live_log;
mod log;
mod printable;

pub(crate) use head_tail::HeadTail;
pub(crate) use live_log::Stream;
pub use live_log::{LiveLog, LogSink};
pub(crate) use log::LogBook;
pub use log::{LogLevel, LogRecord};
pub(crate) use printable::printable;
