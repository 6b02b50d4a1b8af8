//! Chooses the directory that a call sees as `/`.

use std::task::Poll;

use futures_util::future::BoxFuture;
use toolhost_contract::{Locale, ToolError, ToolErrorCode};
use toolhost_sandbox::Workdir;

use crate::middleware::{CallIdentity, CallOrigin};

/// Why a provider could not open, commit or discard a directory. The host logs it; the model reads
/// `E_HOST` without the reason.
pub type WorkdirProviderError = Box<dyn std::error::Error + Send + Sync>;

/// Chooses the directory that a call sees as `/`. [`InstanceWorkdir`], the default, gives every call
/// the workdir of its instance.
///
/// A provider may give a call a copy or an overlay, and commit or discard what the call changed: see
/// [`CallWorkdir::transaction`] for single calls, [`Self::commit_step`] and [`Self::discard_step`] for
/// the calls of a step together.
///
/// An implementation must keep this:
///
/// - [`Self::open`] is called once for each run of a tool, on the caller's thread: once for a call that
///   passed admission and validation, and once for each poll or cancellation of a pending call, whose
///   `step_id` is empty. It must not block; work that waits belongs in [`OpenWorkdir::Later`].
/// - Calls of one step, and of several instances, open at the same time.
/// - The directory must not be the state root, contain it or lie within it; open it with
///   [`Host::workdir`](crate::Host::workdir), which checks that. It must stay usable until the call ends.
/// - A directory that two instances share is shared by their tools.
/// - A call may be dropped at any time. Its transaction is then dropped without a commit.
pub trait WorkdirProvider: Send + Sync + 'static {
    /// Opens the directory of one call.
    fn open(&self, call: &WorkdirRequest<'_>) -> OpenWorkdir;

    /// Commits what the calls of a step changed. Called once, when a step closes without an error. An
    /// error makes the step fail with `E_HOST`. Default: does nothing.
    fn commit_step<'a>(
        &'a self,
        origin: &'a CallOrigin,
        step_id: &'a str,
    ) -> BoxFuture<'a, Result<(), WorkdirProviderError>> {
        let _ = (origin, step_id);
        // A future without a size, so that nothing is allocated.
        Box::pin(std::future::poll_fn(|_| Poll::Ready(Ok(()))))
    }

    /// Discards what the calls of a step changed. Called once, when a step fails or is dropped. Must
    /// not block. Default: does nothing.
    fn discard_step(&self, origin: &CallOrigin, step_id: &str) {
        let _ = (origin, step_id);
    }
}

/// The call for which a directory is opened.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WorkdirRequest<'a> {
    /// The call, and whose it is.
    pub call: &'a CallIdentity,
    /// The workdir that the instance was made with.
    pub instance: &'a Workdir,
}

/// What [`WorkdirProvider::open`] returns.
pub enum OpenWorkdir {
    /// The directory.
    Ready(CallWorkdir),
    /// A future of the directory. The call waits for it, without a deadline of its own.
    Later(BoxFuture<'static, Result<CallWorkdir, WorkdirProviderError>>),
}

/// The directory of one call.
pub struct CallWorkdir {
    /// The directory.
    pub workdir: Workdir,
    /// Ends the call's changes: it is committed if the call succeeds or answers `pending`, and dropped
    /// otherwise. Default of [`InstanceWorkdir`]: none, since changes are made in place.
    pub transaction: Option<Box<dyn WorkdirTransaction>>,
}

/// The changes of one call. Dropping it must discard them, without blocking.
pub trait WorkdirTransaction: Send {
    /// Commits the changes. An error makes the call fail with `E_HOST`.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<(), WorkdirProviderError>>;
}

/// Gives every call the workdir of its instance, and changes it in place.
#[derive(Debug, Clone, Copy, Default)]
pub struct InstanceWorkdir;

impl WorkdirProvider for InstanceWorkdir {
    fn open(&self, call: &WorkdirRequest<'_>) -> OpenWorkdir {
        OpenWorkdir::Ready(CallWorkdir {
            workdir: call.instance.clone(),
            transaction: None,
        })
    }
}

impl CallWorkdir {
    pub(crate) async fn opened(opening: OpenWorkdir, locale: Locale) -> Result<Self, ToolError> {
        match opening {
            OpenWorkdir::Ready(workdir) => Ok(workdir),
            OpenWorkdir::Later(opening) => opening.await.map_err(|error| {
                provider_error(&error, "The working directory could not be opened.", locale)
            }),
        }
    }
}

/// Commits a call's changes, if it succeeded.
pub(crate) async fn end_call<T>(
    result: Result<T, ToolError>,
    transaction: Option<Box<dyn WorkdirTransaction>>,
    locale: Locale,
) -> Result<T, ToolError> {
    if let (Ok(_), Some(transaction)) = (&result, transaction)
        && let Err(error) = transaction.commit().await
    {
        let message = "The changes of the call could not be committed.";
        return Err(provider_error(&error, message, locale));
    }
    result
}

/// Logs a provider's error, and returns what the model reads.
pub(crate) fn provider_error(
    error: &WorkdirProviderError,
    message: &str,
    locale: Locale,
) -> ToolError {
    tracing::error!(%error, "{message}");
    ToolError::host(ToolErrorCode::Host, message, locale)
}
