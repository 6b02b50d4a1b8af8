//! Extensions: tools and middleware that a runtime adds to an agent.

pub(crate) mod extend;
mod typed;

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use toolhost_contract::{
    ErrorMessageLimit, JsonSchemaObject, NameError, SourceType, ToolCatalogItem, ToolSource,
};

use crate::catalog::descriptions;
pub use crate::handler::{HandlerContext, HandlerFailure, Logger, ToolHandler};
use crate::middleware::Middleware;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};
use crate::registry::additions::Additions;
use crate::registry::overlay::{CurrentOverlay, Overlay};
use crate::registry::{CatalogTool, RegisteredTool, Runs};
use toolhost_schema::{ArgsSchema, OutputSchema, PatternBudget, SchemaError};

/// An extension, or one of its tools, that cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The agent already has an extension with this name.
    #[error("the agent '{agent}' already has an extension '{extension}'")]
    Registered {
        /// Name of the agent.
        agent: String,
        /// Name of the extension.
        extension: String,
    },
    /// The tool name belongs to another owner.
    #[error(
        "extension '{extension}': the tool name {tool} is taken by {owner}; choose another name"
    )]
    NameTaken {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// Owner of the name: `the bundle` or another extension.
        owner: String,
    },
    /// The name of a tool is malformed.
    #[error("extension '{extension}': the name '{tool}' is not usable: {reason}")]
    Name {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// The reason.
        reason: NameError,
    },
    /// The parameters are not a usable JSON Schema.
    #[error("extension '{extension}': invalid parameters of {tool}: {reason}")]
    Parameters {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// The reason.
        reason: String,
    },
    /// The output schema is not a usable JSON Schema.
    #[error("extension '{extension}': invalid outputSchema of {tool}: {reason}")]
    OutputSchema {
        /// Name of the extension.
        extension: String,
        /// Name of the tool.
        tool: String,
        /// The reason.
        reason: String,
    },
    /// The agent was dropped, or the extension was removed from it.
    #[error("extension '{extension}': the extension was removed, or its agent was dropped")]
    Gone {
        /// Name of the extension.
        extension: String,
    },
    /// An error of the extension itself.
    #[error("extension '{extension}': {reason}")]
    Own {
        /// Name of the extension.
        extension: String,
        /// The reason.
        reason: String,
    },
}

/// Registers the tools and middleware of an extension. Cheap to clone. An extension may keep it: what it
/// registers later takes effect in the agent's next step, middleware of turns in its next turn.
///
/// It does not keep the agent alive.
///
/// ```
/// # fn example(agent: &toolhost::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use toolhost::{HandlerError, JsonObject, ToolCatalogItem, extension::HandlerContext};
///
/// agent.extend("weather-ext", |api| {
///     let item: ToolCatalogItem = serde_json::from_value(json!({
///         "name": "weather__get",
///         "description": "The weather in a city, now",
///         "parameters": {
///             "type": "object",
///             "properties": {"city": {"type": "string"}},
///             "required": ["city"],
///         },
///     })).map_err(|reason| api.error(reason))?;
///     api.tools().register(item, async |_: HandlerContext, input: JsonObject| {
///         Ok::<_, HandlerError>(json!({"city": input.get("city"), "degrees": 21}))
///     })
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// Spec: tool-spec-v2 §12.
#[derive(Clone)]
pub struct ExtensionApi {
    name: Arc<str>,
    overlay: Weak<CurrentOverlay>,
}

impl std::fmt::Debug for ExtensionApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExtensionApi({})", self.name)
    }
}

impl ExtensionApi {
    fn new(name: Arc<str>, overlay: &Arc<CurrentOverlay>) -> Self {
        Self {
            name,
            overlay: Arc::downgrade(overlay),
        }
    }

    /// Name of the extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Registers tools.
    pub fn tools(&self) -> ToolsApi<'_> {
        ToolsApi(self)
    }

    /// Registers middleware.
    pub fn pipeline(&self) -> PipelineApi<'_> {
        PipelineApi(self)
    }

    /// Logs for the extension.
    pub fn logger(&self) -> Logger {
        Logger::of(&self.name)
    }

    /// Returns an error with the extension's own reason why it cannot be registered.
    pub fn error(&self, reason: impl std::fmt::Display) -> ExtensionError {
        ExtensionError::Own {
            extension: self.name.to_string(),
            reason: reason.to_string(),
        }
    }

    /// Removes the extension with its tools and middleware, from the next step on. Returns whether it was
    /// there.
    pub fn remove(&self) -> bool {
        let overlay = self.overlay.upgrade();
        overlay.is_some_and(|overlay| overlay.remove_own(&self.name))
    }

    fn change<T>(
        &self,
        check: impl FnOnce(&Overlay) -> Result<(), ExtensionError>,
        change: impl FnOnce(&mut Additions) -> T,
    ) -> Result<T, ExtensionError> {
        let gone = || ExtensionError::Gone {
            extension: self.name.to_string(),
        };
        let overlay = self.overlay.upgrade().ok_or_else(gone)?;
        overlay.change(&self.name, gone, check, change)
    }
}

/// Registers tools of an extension.
#[derive(Debug, Clone, Copy)]
pub struct ToolsApi<'a>(&'a ExtensionApi);

impl ToolsApi<'_> {
    /// Registers a tool that runs in this process, or replaces one of the extension's own. It is in the
    /// catalog of the agent's next step with `source: extension`, and has the same admission,
    /// validation, deadline and limits as a component.
    ///
    /// Its descriptions are bounded as a component's are: each is cut to 8 KiB, and control and
    /// invisible characters are escaped.
    ///
    /// A source of type `mcp` is kept; its extension name is set to this extension's.
    ///
    /// # Errors
    /// [`ExtensionError`] if the name is taken, or the parameters or the output schema are not a usable JSON
    /// Schema.
    ///
    /// Spec: tool-spec-v2 §12.1, §12.3.
    pub fn register(
        self,
        item: ToolCatalogItem,
        handler: impl ToolHandler,
    ) -> Result<(), ExtensionError> {
        let mut patterns = PatternBudget::default();
        let schema = ArgsSchema::compile(&parameters(&item), &mut patterns);
        let output_schema = item.output_schema.as_ref();
        let output_schema =
            output_schema.map(|schema| OutputSchema::compile(schema, &mut patterns));
        self.add(item, schema, output_schema, native(self.0, handler))
    }

    /// Registers a tool over the catalog of the step.
    pub(crate) fn register_catalog_tool(
        self,
        item: ToolCatalogItem,
        tool: CatalogTool,
    ) -> Result<(), ExtensionError> {
        let schema = ArgsSchema::compile(&parameters(&item), &mut PatternBudget::default());
        let owner = Arc::clone(&self.0.name);
        self.add(item, schema, None, Runs::Catalog { owner, tool })
    }

    /// Registers a tool of a server, as [`Self::register`] does. Patterns of its schemas that cannot be matched
    /// in linear time, such as those with look-ahead, are not checked; the rest of the schemas is. Returns a
    /// sentence for each pattern that is not checked.
    ///
    /// # Errors
    /// As [`Self::register`], for other reasons than a pattern.
    pub fn register_foreign(
        self,
        item: ToolCatalogItem,
        handler: impl ToolHandler,
    ) -> Result<Vec<String>, ExtensionError> {
        let mut patterns = PatternBudget::default();
        let mut unchecked = Vec::new();
        let mut note = |errors: Vec<SchemaError>| unchecked.extend(errors);
        let schema = ArgsSchema::compile_foreign(&parameters(&item), &mut patterns);
        let schema = schema.map(|(schema, errors)| {
            note(errors);
            schema
        });
        let output_schema = item.output_schema.as_ref().map(|schema| {
            let (schema, errors) = OutputSchema::compile_foreign(schema, &mut patterns)?;
            note(errors);
            Ok(schema)
        });
        self.add(item, schema, output_schema, native(self.0, handler))?;
        Ok(unchecked.iter().map(ToString::to_string).collect())
    }

    fn add(
        self,
        item: ToolCatalogItem,
        schema: Result<ArgsSchema, SchemaError>,
        output_schema: Option<Result<OutputSchema, SchemaError>>,
        runs: Runs,
    ) -> Result<(), ExtensionError> {
        let ExtensionApi { name: owner, .. } = self.0;
        let schema = schema.map_err(|reason| ExtensionError::Parameters {
            extension: owner.to_string(),
            tool: item.name.to_string(),
            reason: reason.to_string(),
        })?;
        let output_schema = output_schema.transpose();
        let output_schema = output_schema.map_err(|reason| ExtensionError::OutputSchema {
            extension: owner.to_string(),
            tool: item.name.to_string(),
            reason: reason.to_string(),
        })?;
        let mut tool = RegisteredTool {
            item: ToolCatalogItem {
                source: Some(source(item.source, owner)),
                ..item
            },
            schema: Arc::new(schema),
            output_schema: output_schema.map(Arc::new),
            commit_when: None,
            error_message_limit: ErrorMessageLimit::DEFAULT,
            runs,
        };
        // An extension may pass on the descriptions of an MCP server.
        descriptions::bound(&mut tool.item);
        let name = tool.item.name.to_string();
        let taken = |by: &str| ExtensionError::NameTaken {
            extension: owner.to_string(),
            tool: name.clone(),
            owner: by.to_owned(),
        };
        self.0.change(
            |overlay| match overlay.owner(&name) {
                Some(other) if other != *owner => Err(taken(&other)),
                _ if overlay.is_declared(&name) => Err(taken("the bundle")),
                _ => Ok(()),
            },
            |additions| additions.register(tool),
        )
    }

    /// Removes one of the extension's own tools, from the next step on. Returns whether it was there.
    ///
    /// # Errors
    /// [`ExtensionError::Gone`] if the extension was removed or its agent was dropped.
    pub fn unregister(self, name: &str) -> Result<bool, ExtensionError> {
        let owner = &self.0.name;
        let unregister = |additions: &mut Additions| {
            let is_own = additions.owner(name) == Some(owner);
            if is_own {
                additions.unregister(name);
            }
            is_own
        };
        self.0.change(|_| Ok(()), unregister)
    }
}

/// Returns what runs when a tool of an extension is called.
fn native(extension: &ExtensionApi, handler: impl ToolHandler) -> Runs {
    Runs::Native {
        owner: Arc::clone(&extension.name),
        handler: Arc::new(handler),
    }
}

/// Returns the parameters of a tool: any object where it names none.
fn parameters(item: &ToolCatalogItem) -> Cow<'_, JsonSchemaObject> {
    match &item.parameters {
        Some(parameters) => Cow::Borrowed(parameters),
        None => Cow::Owned(JsonSchemaObject::any_object()),
    }
}

/// Returns the source of a tool: the extension, or the MCP server that the item names.
fn source(declared: Option<ToolSource>, extension: &str) -> ToolSource {
    match declared {
        Some(ToolSource {
            source_type: SourceType::Mcp,
            name,
            mcp: Some(mut mcp),
        }) => {
            extension.clone_into(&mut mcp.extension_name);
            ToolSource {
                source_type: SourceType::Mcp,
                name,
                mcp: Some(mcp),
            }
        }
        _ => ToolSource::extension(extension),
    }
}

/// Registers middleware of an extension. A lower priority is further out; of equal priorities, the one
/// registered first.
#[derive(Debug, Clone, Copy)]
pub struct PipelineApi<'a>(&'a ExtensionApi);

/// Defines a method that adds a layer to one pipeline.
macro_rules! register {
    ($(#[$doc:meta])* $kind:ident, $context:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`ExtensionError::Gone`] if the extension was removed or its agent was dropped.
        pub fn $kind(
            self,
            priority: i32,
            middleware: impl Middleware<$context>,
        ) -> Result<(), ExtensionError> {
            let name = &self.0.name;
            self.0.change(
                |_| Ok(()),
                |added| added.$kind = added.$kind.with(name, priority, Arc::new(middleware)),
            )
        }
    };
}

impl PipelineApi<'_> {
    register!(
        /// Adds a layer around every turn, from the next one on.
        turn,
        TurnContext
    );
    register!(
        /// Adds a layer around every step, from the next one on.
        step,
        StepContext
    );
    register!(
        /// Adds a layer around every tool call, from the next step on, and around every poll of a
        /// component's own pending call: see [`ToolCallContext::call_kind`]. A layer that asks for an
        /// approval should let polls pass. A call that [`Step::submit`](crate::Step::submit) runs in the
        /// background runs through the layers once, and polls for its result do not.
        tool_call,
        ToolCallContext
    );
}
