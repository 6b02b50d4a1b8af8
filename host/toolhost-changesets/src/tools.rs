//! The tools for a model: `changeset__open`, `changeset__list`, `changeset__read`, `changeset__write`,
//! `changeset__delete`, `changeset__diff`, `changeset__commit`, `changeset__discard`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::extension::{
    ExtensionApi, ExtensionError, HandlerContext, HandlerFailure, ToolHandler,
};
use toolhost::{BoxFuture, HandlerError, JsonObject, ToolCatalogItem};

use crate::changesets::{Changesets, Inner, Version};
use crate::error::ChangesetError;
use crate::limits::{COMMIT_DEADLINE, READ_BYTES_MAX};
use crate::owner::ChangesetOwner;

/// Name of the extension.
const EXTENSION: &str = "changesets";

impl Changesets {
    /// Adds the tools to each agent of the current bundle that the policy grants changesets and that does not
    /// have them yet. Returns the names of the agents that have them now. A commit calls this again, for
    /// agents that are new.
    ///
    /// The tools work while a clone of these `Changesets` is held. The changesets of a call are those of its
    /// agent and instance.
    ///
    /// | tool | output |
    /// |---|---|
    /// | `changeset__open` `{}` | `{id, open: [{id, changed}]}` with those that were open before |
    /// | `changeset__list` `{id, path?}` | `{entries: [{name, kind}]}` |
    /// | `changeset__read` `{id, path, version?}` | `{path, content, encoding}` |
    /// | `changeset__write` `{id, path, content, encoding?}` | `{path, bytes}` |
    /// | `changeset__delete` `{id, path}` | `{path}` |
    /// | `changeset__diff` `{id}` | `{changes: [{path, change, bytes?, diff?}]}` |
    /// | `changeset__commit` `{id}` | a [`CommitOutcome`](crate::CommitOutcome) |
    /// | `changeset__discard` `{id}` | `{id}` |
    ///
    /// # Errors
    /// [`ChangesetError::Host`] if a tool of the same name is registered.
    ///
    /// Spec: requirements-v1 §12.4.
    pub fn extend(&self) -> Result<Vec<String>, ChangesetError> {
        let bundle = self.0.bundle.current();
        let mut extended = Vec::new();
        let agents = bundle.agents().iter();
        for agent in agents.filter(|agent| agent.changeset_grant().is_some()) {
            if !agent.extensions().iter().any(|name| name == EXTENSION) {
                let changesets = Arc::downgrade(&self.0);
                let added = agent.extend(EXTENSION, |api| register(api, &changesets));
                added.map_err(|error| ChangesetError::Host {
                    reason: error.to_string(),
                })?;
            }
            extended.push(agent.name().to_owned());
        }
        Ok(extended)
    }
}

/// The tools, as the catalog has them.
const TOOLS: &str = include_str!("tools.json");

/// An entry of [`TOOLS`].
#[derive(Deserialize)]
struct Offer {
    operation: Operation,
    item: ToolCatalogItem,
}

fn register(api: &ExtensionApi, changesets: &Weak<Inner>) -> Result<(), ExtensionError> {
    let offers: Vec<Offer> = serde_json::from_str(TOOLS).map_err(|reason| api.error(reason))?;
    for Offer { operation, item } in offers {
        let changesets = Weak::clone(changesets);
        let tool = Tool {
            operation,
            changesets,
        };
        api.tools().register(item, tool)?;
    }
    Ok(())
}

/// The operation of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Open,
    List,
    Read,
    Write,
    Delete,
    Diff,
    Commit,
    Discard,
}

/// The arguments of all tools.
#[derive(Debug, Deserialize)]
struct Args {
    #[serde(default)]
    id: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: Encoding,
    #[serde(default)]
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

impl Operation {
    async fn run(
        self,
        changesets: &Changesets,
        owner: &ChangesetOwner,
        args: Args,
    ) -> Result<Value, ChangesetError> {
        let (id, path) = (args.id.as_str(), args.path.as_str());
        Ok(match self {
            Self::Open => {
                let before = changesets.list(owner).await?;
                json!({"id": changesets.open(owner).await?.id, "open": before})
            }
            Self::List => json!({"entries": changesets.list_files(id, owner, path).await?}),
            Self::Read => {
                let bytes = changesets.read(id, owner, path, args.version).await?;
                if bytes.len() as u64 > READ_BYTES_MAX {
                    return Err(ChangesetError::TooLargeToReturn {
                        path: args.path,
                        bytes: bytes.len(),
                    });
                }
                match String::from_utf8(bytes) {
                    Ok(text) => json!({"path": path, "content": text, "encoding": "utf-8"}),
                    Err(error) => {
                        let content = BASE64.encode(error.as_bytes());
                        json!({"path": path, "content": content, "encoding": "base64"})
                    }
                }
            }
            Self::Write => {
                let bytes = match args.encoding {
                    Encoding::Utf8 => args.content.clone().into_bytes(),
                    Encoding::Base64 => {
                        let bytes = BASE64.decode(args.content.as_bytes());
                        bytes.map_err(|error| ChangesetError::NotBase64 {
                            reason: error.to_string(),
                        })?
                    }
                };
                changesets.write(id, owner, path, &bytes).await?;
                json!({"path": path, "bytes": bytes.len()})
            }
            Self::Delete => {
                changesets.delete(id, owner, path).await?;
                json!({"path": path})
            }
            Self::Diff => json!({"changes": changesets.diff(id, owner).await?}),
            Self::Commit => json!(changesets.commit(id, owner).await?),
            Self::Discard => {
                changesets.discard(id, owner).await?;
                json!({"id": id})
            }
        })
    }
}

/// Handles the calls of one tool.
struct Tool {
    operation: Operation,
    /// Not held: the bundle holds the tools.
    changesets: Weak<Inner>,
}

impl ToolHandler for Tool {
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>> {
        Box::pin(async move {
            let Some(changesets) = self.changesets.upgrade().map(Changesets) else {
                let message = "The runtime no longer offers changesets.";
                return Err(HandlerError::new(message).into());
            };
            let args = serde_json::from_value(Value::Object(input)).map_err(HandlerError::from)?;
            let caller = &context.context;
            let owner = changesets.owner(&caller.agent_name, &caller.instance_key);
            let done = self.operation.run(&changesets, &owner, args).await;
            Ok(done.map_err(ChangesetError::into_handler_error)?)
        })
    }

    fn deadline(&self, _: &JsonObject) -> Option<Duration> {
        (self.operation == Operation::Commit).then_some(COMMIT_DEADLINE)
    }
}
