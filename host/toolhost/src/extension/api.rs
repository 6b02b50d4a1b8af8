//! Extensions: what a runtime adds to an agent, in Rust: tools and middleware.

use std::sync::{Arc, Weak};

use toolhost_contract::{
    ErrorMessageLimit, JsonSchemaObject, SourceType, ToolCatalogItem, ToolSource,
};

use super::error::ExtensionError;

use crate::agent::{Agent, AgentInner};
use crate::catalog::descriptions;
use crate::handler::{Logger, ToolHandler};
use crate::middleware::Middleware;
use crate::middleware::{StepContext, ToolCallContext, TurnContext};
use crate::registry::overlay::Overlay;
use crate::registry::{RegisteredTool, Runs};
use toolhost_manifest::schema::{ArgsSchema, PatternBudget};

/// What an extension registers with. Cheap to clone, and may be kept: what it registers later holds
/// from the agent's next step on, middleware of turns from its next turn on.
///
/// It does not keep its agent alive.
///
/// ```
/// # fn example(agent: &toolhost::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use toolhost::{HandlerContext, HandlerError, JsonObject, ToolCatalogItem};
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
    agent: Weak<AgentInner>,
}

impl std::fmt::Debug for ExtensionApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExtensionApi({})", self.name)
    }
}

impl ExtensionApi {
    pub(crate) fn new(name: Arc<str>, agent: &Agent) -> Self {
        Self {
            name,
            agent: Arc::downgrade(&agent.0),
        }
    }

    /// Name of the extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where tools are registered.
    #[must_use]
    pub fn tools(&self) -> ToolsApi<'_> {
        ToolsApi(self)
    }

    /// Where middleware is registered.
    #[must_use]
    pub fn pipeline(&self) -> PipelineApi<'_> {
        PipelineApi(self)
    }

    /// Where the extension logs.
    #[must_use]
    pub fn logger(&self) -> Logger {
        Logger::of(&self.name)
    }

    /// The error with which an extension says in its own words why it cannot be registered.
    pub fn error(&self, reason: impl std::fmt::Display) -> ExtensionError {
        ExtensionError::Own {
            extension: self.name.to_string(),
            reason: reason.to_string(),
        }
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&AgentInner, &mut Overlay) -> Result<T, ExtensionError>,
    ) -> Result<T, ExtensionError> {
        let gone = || ExtensionError::Gone {
            extension: self.name.to_string(),
        };
        let agent = self.agent.upgrade().ok_or_else(gone)?;
        agent.overlay.change(|overlay| {
            if !overlay.holds(&self.name) {
                return Err(gone());
            }
            change(&agent, overlay)
        })
    }
}

/// Registers tools of an extension.
#[derive(Debug, Clone, Copy)]
pub struct ToolsApi<'a>(&'a ExtensionApi);

impl ToolsApi<'_> {
    /// Registers a tool that runs in this process, or puts it in the place of one of the extension's
    /// own. It is in the catalog of the agent's next step, with `source: extension`, and goes through
    /// the same admission, validation, deadline and limits as a component.
    ///
    /// What it says to the model is bounded as a component's is: descriptions are cut to 8 KiB each, and
    /// characters that act on whoever shows them are escaped.
    ///
    /// A source of type `mcp` is kept, with the extension's name in it.
    ///
    /// # Errors
    /// [`ExtensionError`] where the name is taken, or the parameters cannot be used.
    ///
    /// Spec: tool-spec-v2 §12.1, §12.3.
    pub fn register(
        self,
        item: ToolCatalogItem,
        handler: impl ToolHandler,
    ) -> Result<(), ExtensionError> {
        let ExtensionApi { name: owner, .. } = self.0;
        let any = JsonSchemaObject::any_object;
        let schema = ArgsSchema::compile(
            item.parameters.as_ref().unwrap_or(&any()),
            &mut PatternBudget::default(),
        );
        let schema = schema.map_err(|reason| ExtensionError::Parameters {
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
            error_message_limit: ErrorMessageLimit::DEFAULT,
            runs: Runs::Native {
                owner: Arc::clone(owner),
                handler: Arc::new(handler),
            },
        };
        // They may be a server's: MCP's are.
        descriptions::bound(&mut tool.item);
        self.0.change(|agent, overlay| {
            let name = &tool.item.name;
            let taken = |owner_of_it: &str| ExtensionError::NameTaken {
                extension: owner.to_string(),
                tool: name.to_string(),
                owner: owner_of_it.to_owned(),
            };
            if agent.registry.get(name.as_str()).is_some() {
                return Err(taken("the bundle"));
            }
            if let Some(other) = overlay.owner(name.as_str()).filter(|other| other != owner) {
                return Err(taken(&other));
            }
            overlay.register(tool);
            Ok(())
        })
    }

    /// Removes one of the extension's own tools from the next step on; says whether there was one.
    ///
    /// # Errors
    /// [`ExtensionError::Gone`].
    pub fn unregister(self, name: &str) -> Result<bool, ExtensionError> {
        let owner = &self.0.name;
        self.0.change(|_, overlay| {
            let is_own = overlay.owner(name).is_some_and(|found| found == *owner);
            if is_own {
                overlay.unregister(name);
            }
            Ok(is_own)
        })
    }
}

/// The extension is named as the source, whatever the item says.
fn source(said: Option<ToolSource>, extension: &str) -> ToolSource {
    match said {
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

/// Registers middleware of an extension. A lower priority is outer; of equal ones the one registered
/// first.
#[derive(Debug, Clone, Copy)]
pub struct PipelineApi<'a>(&'a ExtensionApi);

impl PipelineApi<'_> {
    /// Around every turn, from the next one on.
    ///
    /// # Errors
    /// [`ExtensionError::Gone`].
    pub fn turn(
        self,
        priority: i32,
        middleware: impl Middleware<TurnContext>,
    ) -> Result<(), ExtensionError> {
        let name = &self.0.name;
        self.0.change(|_, overlay| {
            overlay.turn = overlay.turn.with(name, priority, Arc::new(middleware));
            Ok(())
        })
    }

    /// Around every step, from the next one on.
    ///
    /// # Errors
    /// [`ExtensionError::Gone`].
    pub fn step(
        self,
        priority: i32,
        middleware: impl Middleware<StepContext>,
    ) -> Result<(), ExtensionError> {
        let name = &self.0.name;
        self.0.change(|_, overlay| {
            overlay.step = overlay.step.with(name, priority, Arc::new(middleware));
            Ok(())
        })
    }

    /// Around every tool call, from the next step on; and around every question for the result of one
    /// that is pending: see [`ToolCallContext::call_kind`].
    ///
    /// # Errors
    /// [`ExtensionError::Gone`].
    pub fn tool_call(
        self,
        priority: i32,
        middleware: impl Middleware<ToolCallContext>,
    ) -> Result<(), ExtensionError> {
        let name = &self.0.name;
        self.0.change(|_, overlay| {
            overlay.tool_call = overlay.tool_call.with(name, priority, Arc::new(middleware));
            Ok(())
        })
    }
}
