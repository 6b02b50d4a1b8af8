//! `wasi:logging`: a guest's log records, kept within the limits of its call.

use wasmtime::component::HasData;

use crate::accounting::output::{LogLevel, OutputMeter};
use crate::host::bindings::logging;

/// Selects the log in a store.
pub(crate) struct HasLog;

impl HasData for HasLog {
    type Data<'a> = LogView<'a>;
}

/// The log of one call.
pub(crate) struct LogView<'a>(pub(crate) &'a OutputMeter);

impl logging::Host for LogView<'_> {
    fn log(
        &mut self,
        level: logging::Level,
        context: String,
        message: String,
    ) -> wasmtime::Result<()> {
        let level = match level {
            logging::Level::Trace => LogLevel::Trace,
            logging::Level::Debug => LogLevel::Debug,
            logging::Level::Info => LogLevel::Info,
            logging::Level::Warn => LogLevel::Warn,
            logging::Level::Error => LogLevel::Error,
            logging::Level::Critical => LogLevel::Critical,
        };
        self.0.log(level, &context, &message);
        Ok(())
    }
}
