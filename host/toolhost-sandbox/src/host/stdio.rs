//! A guest's stdout and stderr.

use std::sync::Arc;

use toolhost_runtime::lock;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::accounting::meter::Meter;
use crate::accounting::output::Stream;

/// Accepts any number of bytes, of which it keeps the head and the tail.
#[derive(Clone)]
pub(crate) struct Captured {
    meter: Arc<Meter>,
    stream: Stream,
}

/// Most bytes of one write.
const CHUNK: usize = 64 << 10;

impl Captured {
    pub(crate) fn new(meter: &Arc<Meter>, stream: Stream) -> Self {
        Self {
            meter: Arc::clone(meter),
            stream,
        }
    }
}

impl IsTerminal for Captured {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Captured {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Used by WASI 0.3 alone, which is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl OutputStream for Captured {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        let meter = &self.meter;
        let kept = match self.stream {
            Stream::Stdout => &meter.stdout,
            Stream::Stderr => &meter.stderr,
        };
        lock(kept).write(&bytes);
        if let Some(live) = &meter.live_log {
            live.print(self.stream, &bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[async_trait]
impl Pollable for Captured {
    async fn ready(&mut self) {}
}
