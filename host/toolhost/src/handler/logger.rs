//! The log of extensions and their handlers.

use std::sync::Arc;

/// Logs for an extension, through `tracing`, target `toolhost::extension`.
#[derive(Debug, Clone)]
pub struct Logger(Arc<str>);

macro_rules! level {
    ($level:ident) => {
        #[doc = concat!("Logs at level `", stringify!($level), "`.")]
        pub fn $level(&self, message: &str) {
            tracing::$level!(target: "toolhost::extension", extension = &*self.0, "{message}");
        }
    };
}

impl Logger {
    pub(crate) fn of(extension: &Arc<str>) -> Self {
        Self(Arc::clone(extension))
    }

    level!(debug);
    level!(info);
    level!(warn);
    level!(error);
}
