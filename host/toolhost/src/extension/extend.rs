//! Adds an extension to an agent, whole or not at all.

use std::sync::Arc;

use super::{ExtensionApi, ExtensionError};
use crate::agent::Agent;
use crate::registry::overlay::CurrentOverlay;

impl Agent {
    /// Adds an extension, which registers tools and middleware. They take effect together when `register`
    /// has returned. If it fails or panics, nothing of the extension stays. Returns what `register` returns,
    /// such as a clone of the [`ExtensionApi`] for later changes.
    ///
    /// The agent of this name keeps it when the bundle is loaded again: see
    /// [`LoadedBundle::reload`](crate::LoadedBundle::reload).
    ///
    /// The agent holds the extension's handlers and layers. If one of them holds the [`Agent`], its
    /// [`LoadedBundle`](crate::LoadedBundle) or the [`Host`](crate::Host), they keep each other alive until the
    /// extension is [removed](ExtensionApi::remove): let it hold an [`ExtensionApi`], which does not, or read
    /// what it needs from its context.
    ///
    /// # Errors
    /// [`ExtensionError`] if the name is taken, or `register` fails.
    ///
    /// Spec: tool-spec-v2 §8.4, §12.
    pub fn extend<T>(
        &self,
        name: &str,
        register: impl FnOnce(&ExtensionApi) -> Result<T, ExtensionError>,
    ) -> Result<T, ExtensionError> {
        extend(&self.0.overlay, self.name(), name, register)
    }

    /// Adds an extension as [`Agent::extend`] does, with a `register` that may await, for example to list
    /// the tools of a server. The future is `Send` if that of `register` is.
    ///
    /// Nothing that `register` adds takes effect before its future has returned `Ok`: no catalog has its
    /// tools, and no layer runs. If the future fails, panics or is dropped before, nothing of the extension
    /// stays. Meanwhile its name, and the names of its tools, are taken.
    ///
    /// ```
    /// # async fn example(agent: &toolhost::Agent) -> Result<(), toolhost::extension::ExtensionError> {
    /// use serde_json::json;
    /// use toolhost::{HandlerError, JsonObject, ToolCatalogItem, extension::{ExtensionApi, HandlerContext}};
    ///
    /// async fn items_of_a_server() -> Result<Vec<ToolCatalogItem>, std::io::Error> {
    ///     Ok(vec![]) // a request to a server
    /// }
    ///
    /// agent.extend_async("server", |api: ExtensionApi| async move {
    ///     let items = items_of_a_server().await.map_err(|reason| api.error(reason))?;
    ///     for item in items {
    ///         let handler = async |_: HandlerContext, input: JsonObject| Ok::<_, HandlerError>(json!(input));
    ///         api.tools().register(item, handler)?;
    ///     }
    ///     Ok(())
    /// }).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ExtensionError`] if the name is taken, `register` fails, or the extension was removed meanwhile.
    ///
    /// Spec: tool-spec-v2 §8.4, §12.
    pub async fn extend_async<T, F>(
        &self,
        name: &str,
        register: impl FnOnce(ExtensionApi) -> F,
    ) -> Result<T, ExtensionError>
    where
        F: Future<Output = Result<T, ExtensionError>>,
    {
        let unfinished = Unfinished::begin(&self.0.overlay, self.name(), name)?;
        let registered = register(unfinished.api()).await?;
        unfinished.finish(registered)
    }
}

/// Adds an extension to the overlay of an agent.
pub(crate) fn extend<T>(
    overlay: &Arc<CurrentOverlay>,
    agent: &str,
    name: &str,
    register: impl FnOnce(&ExtensionApi) -> Result<T, ExtensionError>,
) -> Result<T, ExtensionError> {
    let unfinished = Unfinished::begin(overlay, agent, name)?;
    let registered = register(&unfinished.api())?;
    unfinished.finish(registered)
}

/// An extension that is being added. If it is dropped before it is finished, nothing of it stays.
struct Unfinished<'a> {
    overlay: &'a Arc<CurrentOverlay>,
    extension: Arc<str>,
    is_finished: bool,
}

impl<'a> Unfinished<'a> {
    fn begin(
        overlay: &'a Arc<CurrentOverlay>,
        agent: &str,
        name: &str,
    ) -> Result<Self, ExtensionError> {
        let extension: Arc<str> = name.into();
        if overlay.begin(&extension) {
            return Ok(Self {
                overlay,
                extension,
                is_finished: false,
            });
        }
        Err(ExtensionError::Registered {
            agent: agent.to_owned(),
            extension: name.to_owned(),
        })
    }

    fn api(&self) -> ExtensionApi {
        ExtensionApi::new(Arc::clone(&self.extension), self.overlay)
    }

    fn finish<T>(mut self, registered: T) -> Result<T, ExtensionError> {
        self.is_finished = self.overlay.finish(&self.extension);
        if self.is_finished {
            return Ok(registered);
        }
        Err(ExtensionError::Gone {
            extension: self.extension.to_string(),
        })
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.overlay.remove_own(&self.extension);
        }
    }
}
