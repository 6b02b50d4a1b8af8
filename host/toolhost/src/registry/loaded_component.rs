//! A component of a load: ready, or compiled while the bundle is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::SetOnce;
use tokio_util::sync::DropGuard;
use toolhost_contract::{Locale, ToolError};
use toolhost_manifest::bundle::Diagnostic;
use toolhost_sandbox::{ComponentFacts, PreparedTool, UncompiledTool};

/// A component of a load. Cheap to clone.
#[derive(Clone)]
pub(crate) enum LoadedComponent {
    Ready(PreparedTool),
    /// It was not compiled when the bundle was loaded.
    Compiling(Arc<Compiling>),
}

/// A component that is compiled, or was, since the bundle was loaded.
pub(crate) struct Compiling {
    facts: ComponentFacts,
    polls: bool,
    end: SetOnce<Result<PreparedTool, Diagnostic>>,
    /// Whether a call waits for it.
    is_awaited: AtomicBool,
    /// Ends the compilations of a load with the last of its components.
    _compiler: Arc<DropGuard>,
}

impl Compiling {
    pub(crate) fn new(tool: &UncompiledTool, compiler: Arc<DropGuard>) -> Self {
        Self {
            facts: tool.facts().clone(),
            polls: tool.polls(),
            end: SetOnce::new(),
            is_awaited: AtomicBool::new(false),
            _compiler: compiler,
        }
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.is_awaited.load(Relaxed)
    }

    /// Ends the wait of calls. Only the first end counts.
    pub(crate) fn end(&self, end: Result<PreparedTool, Diagnostic>) {
        let _is_first = self.end.set(end).is_ok();
    }

    /// Waits until it was compiled.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub(crate) async fn compiled(&self) -> Result<&PreparedTool, &Diagnostic> {
        self.end.wait().await.as_ref()
    }
}

impl LoadedComponent {
    /// What it is.
    pub(crate) fn facts(&self) -> &ComponentFacts {
        match self {
            Self::Ready(tool) => tool.facts(),
            Self::Compiling(compiling) => &compiling.facts,
        }
    }

    /// Whether it exports `goondan:tool/polling`.
    pub(crate) fn polls(&self) -> bool {
        match self {
            Self::Ready(tool) => tool.polls(),
            Self::Compiling(compiling) => compiling.polls,
        }
    }

    /// Returns the component, if it can be called now.
    pub(crate) fn ready(&self) -> Option<&PreparedTool> {
        match self {
            Self::Ready(tool) => Some(tool),
            Self::Compiling(compiling) => compiling.end.get()?.as_ref().ok(),
        }
    }

    /// Returns the compilation that has not ended.
    pub(crate) fn compiling(&self) -> Option<&Arc<Compiling>> {
        match self {
            Self::Ready(_) => None,
            Self::Compiling(compiling) => Some(compiling).filter(|own| !own.end.initialized()),
        }
    }

    /// Returns the component for a call, which waits until it was compiled. It is compiled before those that no call
    /// waits for.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub(crate) async fn for_call(&self, locale: Locale) -> Result<&PreparedTool, ToolError> {
        let compiling = match self {
            Self::Ready(tool) => return Ok(tool),
            Self::Compiling(compiling) => compiling,
        };
        compiling.is_awaited.store(true, Relaxed);
        compiling.compiled().await.map_err(|finding| {
            let error = ToolError::host(finding.code, &*finding.message, locale);
            ToolError {
                suggestion: Some(finding.help.clone()),
                ..error
            }
        })
    }
}
