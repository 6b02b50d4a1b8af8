//! A guest's stdout and stderr.

use std::sync::{Arc, Mutex};

use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::accounting::meter::Meter;
use crate::accounting::output::HeadTail;
use crate::sync::lock;

/// Accepts any number of bytes, of which it keeps the head and the tail.
#[derive(Clone)]
pub(crate) struct Captured {
    meter: Arc<Meter>,
    stream: fn(&Meter) -> &Mutex<HeadTail>,
}

/// Most bytes of one write.
const CHUNK: usize = 64 << 10;

impl Captured {
    /// `stream` selects what keeps the bytes.
    pub(crate) fn new(meter: &Arc<Meter>, stream: fn(&Meter) -> &Mutex<HeadTail>) -> Self {
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
        lock((self.stream)(&self.meter)).write(&bytes);
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
