//! A guest's stdout and stderr.

use std::sync::Arc;

use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::accounting::output::{OutputMeter, Stream};

/// Accepts any number of bytes, of which it keeps the head and the tail.
#[derive(Clone)]
pub(crate) struct Captured {
    output: Arc<OutputMeter>,
    stream: Stream,
}

/// Most bytes of one write.
const CHUNK: usize = 64 << 10;

impl Captured {
    pub(crate) fn new(output: &Arc<OutputMeter>, stream: Stream) -> Self {
        Self {
            output: Arc::clone(output),
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
        self.output.print(self.stream, &bytes);
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
