//! Compiles components of a bundle that is served already.

use std::sync::{Arc, Weak};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;
use toolhost_contract::{ExportName, ToolResource};
use toolhost_manifest::bundle::{Diagnostic, OpenBundle};
use toolhost_sandbox::{PreparedTool, UncompiledTool};

use super::register::{not_prepared, not_served};
use crate::host::{HostInner, LoadProgress};
use crate::registry::loaded_component::Compiling;

/// Most bytes of components that wait in memory to be compiled. Others are compiled before the load ends.
const WAITING_BYTES_MAX: u64 = 256 << 20;

/// The components of a load that are compiled later.
pub(super) struct CompileLater {
    waiting: Vec<Waiting>,
    bytes: u64,
    /// Cancelled when no component is left that a call could wait for.
    pub(super) stop: CancellationToken,
}

/// A component that waits to be compiled.
struct Waiting {
    component: Promised,
    uncompiled: UncompiledTool,
    /// The indices of its Tools.
    tools: Vec<usize>,
}

/// A component that calls may wait for. If it is dropped, such as in a panic, their wait ends with the finding.
struct Promised(Weak<Compiling>, Option<Diagnostic>);

impl Promised {
    fn end(mut self, end: Result<PreparedTool, Diagnostic>) {
        self.1 = None;
        if let Some(component) = self.0.upgrade() {
            component.end(end);
        }
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        if let (Some(component), Some(finding)) = (self.0.upgrade(), self.1.take()) {
            component.end(Err(finding));
        }
    }
}

impl CompileLater {
    pub(super) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            bytes: 0,
            stop: CancellationToken::new(),
        }
    }

    /// Whether another component of this size may wait.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.bytes.saturating_add(bytes) <= WAITING_BYTES_MAX
    }

    /// Adds a component of these Tools. Calls get `unless` if it is neither compiled nor refused.
    pub(super) fn add(
        &mut self,
        component: &Arc<Compiling>,
        uncompiled: UncompiledTool,
        tools: Vec<usize>,
        unless: Diagnostic,
    ) {
        self.bytes += uncompiled.facts().bytes;
        self.waiting.push(Waiting {
            component: Promised(Arc::downgrade(component), Some(unless)),
            uncompiled,
            tools,
        });
    }

    /// Begins to compile in the background: what calls wait for first, else in the order of the manifest.
    pub(super) fn start(mut self, host: &Arc<HostInner>, open: Arc<OpenBundle>) {
        if self.waiting.is_empty() {
            return;
        }
        let threads = host.sandbox.threads().clone();
        let host = Arc::clone(host);
        self.waiting
            .sort_by_key(|waiting| waiting.tools.first().copied());
        // On the host's own threads, which are there as long as a call can wait.
        threads.spawn_own(async move {
            let Self { waiting, stop, .. } = self;
            stop.run_until_cancelled(compile_all(&host, &open, waiting))
                .await;
        });
    }
}

async fn compile_all(host: &HostInner, open: &OpenBundle, mut waiting: Vec<Waiting>) {
    let slots = host.sandbox.compile_slots();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < slots
            && let Some(next) = next(&mut waiting)
        {
            running.push(compile(host, open, next));
        }
        if running.next().await.is_none() {
            return;
        }
    }
}

/// Takes the component that is compiled next.
fn next(waiting: &mut Vec<Waiting>) -> Option<Waiting> {
    let is_awaited = |waiting: &Waiting| {
        let component = waiting.component.0.upgrade();
        component.is_some_and(|component| component.is_awaited())
    };
    let awaited = waiting.iter().position(is_awaited);
    (!waiting.is_empty()).then(|| waiting.remove(awaited.unwrap_or(0)))
}

async fn compile(host: &HostInner, open: &OpenBundle, waiting: Waiting) {
    let Waiting {
        component,
        uncompiled,
        tools,
    } = waiting;
    let mut tools = tools
        .iter()
        .filter_map(|index| open.bundle().tools().get(*index));
    let Some(first) = tools.next() else { return };
    let (name, started) = (&first.metadata.name, Instant::now());
    let on_stage = |stage| {
        let tool = name.clone();
        host.report(&LoadProgress::Slow { tool, stage });
    };
    let compiled = host.sandbox.compile(uncompiled, on_stage).await;
    let end = match compiled {
        Err(error) => Err(not_prepared(open, first, &error)),
        Ok((prepared, origin)) => {
            let mut all = std::iter::once(first).chain(tools);
            match all.find_map(|tool| unserved(open, tool, &prepared)) {
                Some(finding) => Err(finding),
                None => Ok((prepared, origin)),
            }
        }
    };
    host.report(&match &end {
        Ok((_, origin)) => LoadProgress::Prepared {
            tool: name.clone(),
            origin: *origin,
            took: started.elapsed(),
        },
        Err(finding) => LoadProgress::Failed {
            tool: name.clone(),
            finding: Box::new(finding.clone()),
        },
    });
    component.end(end.map(|(prepared, _)| prepared));
}

/// Returns a finding if the component does not serve an export.
fn unserved(
    open: &OpenBundle,
    tool: &ToolResource,
    component: &PreparedTool,
) -> Option<Diagnostic> {
    let handlers = component.handlers();
    let served = |name: &ExportName| handlers.iter().any(|handler| handler.name == *name);
    let mut exports = tool.spec.exports.iter().enumerate();
    let (index, export) = exports.find(|(_, export)| !served(&export.name))?;
    Some(not_served(open, tool, (index, export), handlers))
}
