//! `toolhost.lock`: what the tools of a bundle are, what they say and what they may do, as somebody has reviewed it.

mod canonical;
mod compare;
mod server;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_contract::{JsonSchemaObject, Timestamp, ToolCatalogItem, text};

pub use compare::{AGENT, Drift, Grade};
pub use server::ServerLock;

use crate::yaml;

/// Name of the file, beside the manifest.
pub const LOCK: &str = "toolhost.lock";

/// Largest lock, in bytes.
pub const LOCK_BYTES_MAX: u64 = 16 << 20;

/// Longest text of a lock in an error, in characters.
const QUOTED_MAX: usize = 100;

/// The format that this release writes and reads.
const VERSION: u32 = 1;

const HEAD: &str = "# Written by `toolhost lock`. Loads are refused where a tool differs: review changes before you commit them.\n";

/// The reviewed state of a bundle's tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Lock {
    version: u32,
    /// The Tools, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, LockedTool>,
    /// What the policy grants to agents beside their Tools, a sentence each, by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, Vec<String>>,
    /// The MCP servers, by name. Their programs are outside the sandbox and not part of the lock.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, LockedServer>,
}

/// A Tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedTool {
    /// `spec.entry`: a path, or a package by digest.
    pub source: String,
    /// `sha256:HEX` of the component.
    pub component: String,
    /// Who signed the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// All who signed it, of those whom the policy accepts: [`Lock::with_signers_of`] chooses one. Not written.
    #[serde(skip)]
    pub accepted_signers: Vec<String>,
    /// The interfaces that the component imports, with versions.
    #[serde(default)]
    pub imports: Vec<String>,
    /// The interfaces that it exports, with versions.
    #[serde(default)]
    pub exports: Vec<String>,
    /// What the policy grants, a sentence each, by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grants: BTreeMap<String, Vec<String>>,
    /// The limits that differ from the defaults, by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, BTreeMap<String, String>>,
    /// The annotations that MCP clients get, by agent. They follow from the imports and the grants.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Annotations>,
    /// What the model reads, by the name of the tool.
    #[serde(default)]
    pub words: BTreeMap<String, Words>,
    /// Who has reviewed it. Written by hand, and kept while nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<Review>,
}

/// What MCP clients learn about the access of a Tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Annotations {
    /// Whether it changes no files and no servers, and sends nothing to other agents.
    pub read_only_hint: bool,
    /// Whether it can send HTTP requests.
    pub open_world_hint: bool,
}

/// An MCP server: how it is reached and what it says, without its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LockedServer {
    /// What the policy grants, a sentence each: the command or the URL, and what goes with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// What the model reads, by the name of the tool.
    #[serde(default)]
    pub words: BTreeMap<String, Words>,
    /// Who has reviewed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<Review>,
}

/// What a model reads of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Words {
    /// The description, whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of the arguments, as JSON with sorted keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// The schema of the output, as JSON with sorted keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
    /// `sha256:HEX` of the three.
    pub digest: String,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// Who.
    pub name: String,
    /// The last day on which it holds, in UTC: `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// Why a lock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file is too large.
    #[error("it is larger than {LOCK_BYTES_MAX} bytes")]
    TooLarge,
    /// It is not a lock.
    #[error("it is not a lock: {0}")]
    NotALock(String),
    /// Another release has written it.
    #[error("it has version {0}, and this release reads version {VERSION}")]
    Version(u32),
    /// The words of a tool were edited, and their digest was not.
    #[error(
        "the digest of '{0}' is not that of its descriptions and schemas: the file was edited by hand"
    )]
    Words(String),
    /// The date of a review is not a date.
    #[error("the review of '{name}' has the date '{until}': write it as YYYY-MM-DD")]
    Until {
        /// The Tool or the MCP server.
        name: String,
        /// The text in its place.
        until: String,
    },
}

impl LockError {
    /// The next step for the reader.
    pub const HELP: &str = "Restore the lock that was reviewed, or remove it and write a new one with `toolhost lock`.";
}

impl Words {
    /// Returns the words of a catalog item.
    pub fn of_item(item: &ToolCatalogItem) -> Self {
        let schema =
            |schema: &Option<JsonSchemaObject>| schema.as_ref().map(JsonSchemaObject::to_value);
        let (parameters, output) = (schema(&item.parameters), schema(&item.output_schema));
        let description = item.description.as_deref();
        Self::of(description, parameters.as_ref(), output.as_ref())
    }

    /// Returns the words of a tool.
    pub fn of(
        description: Option<&str>,
        parameters: Option<&Value>,
        output_schema: Option<&Value>,
    ) -> Self {
        let mut words = Self {
            description: description.map(str::to_owned),
            parameters: parameters.map(canonical::text),
            output_schema: output_schema.map(canonical::text),
            digest: String::new(),
        };
        words.digest = words.own_digest();
        words
    }

    fn own_digest(&self) -> String {
        canonical::digest(&serde_json::json!([
            self.description,
            self.parameters,
            self.output_schema
        ]))
    }
}

impl Lock {
    /// Returns an empty lock of this release's format.
    pub fn new() -> Self {
        Self {
            version: VERSION,
            ..Self::default()
        }
    }

    /// Reads the text of a lock.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn parse(text: &str) -> Result<Self, LockError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        if text.len() as u64 > LOCK_BYTES_MAX {
            return Err(LockError::TooLarge);
        }
        match yaml::parse::<Versioned>(text) {
            Ok(Versioned { version: VERSION }) => {}
            Ok(Versioned { version }) => return Err(LockError::Version(version)),
            Err(error) => return Err(LockError::NotALock(error)),
        }
        let lock: Self = yaml::parse(text).map_err(LockError::NotALock)?;
        let tools = lock.tools.values().map(|tool| &tool.words);
        let servers_and_tools = tools.chain(lock.mcp_servers.values().map(|server| &server.words));
        for (name, words) in servers_and_tools.flatten() {
            if words.digest != words.own_digest() {
                return Err(LockError::Words(name.clone()));
            }
        }
        for (name, review) in lock.reviews() {
            if let Some(until) = review.until.as_ref().filter(|until| !is_date(until)) {
                let (name, until) = (name.clone(), text::shorten(until, QUOTED_MAX));
                return Err(LockError::Until { name, until });
            }
        }
        Ok(lock)
    }

    /// Returns the reviews, with the names of the Tools and the MCP servers.
    pub fn reviews(&self) -> impl Iterator<Item = (&String, &Review)> {
        let tools = self.tools.iter();
        let tools = tools.map(|(name, tool)| (name, &tool.reviewed_by));
        let servers = self.mcp_servers.iter();
        let entries = tools.chain(servers.map(|(name, server)| (name, &server.reviewed_by)));
        entries.filter_map(|(name, review)| Some((name, review.as_ref()?)))
    }

    /// Chooses the signer that a reviewed lock has, where the policy accepts several of a package.
    #[must_use]
    pub fn with_signers_of(mut self, reviewed: &Self) -> Self {
        for (name, tool) in &mut self.tools {
            let was = reviewed.tools.get(name).and_then(|was| was.signer.as_ref());
            if let Some(was) = was.filter(|was| tool.accepted_signers.contains(was)) {
                tool.signer = Some(was.clone());
            }
            tool.accepted_signers.clear();
        }
        self
    }

    /// Returns whether it has the signer of any package.
    pub fn has_signers(&self) -> bool {
        self.tools.values().any(|tool| tool.signer.is_some())
    }

    /// Returns the lock without the signers of packages: those of a policy that requires no signatures are not known.
    #[must_use]
    pub fn without_signers(mut self) -> Self {
        for tool in self.tools.values_mut() {
            tool.signer = None;
            tool.accepted_signers.clear();
        }
        self
    }

    /// Writes it. The same lock has the same text.
    pub fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        let Ok(Value::Object(members)) = serde_json::to_value(self) else {
            return text;
        };
        for (name, member) in &members {
            text.push_str(&format!("{name}:{}\n", yaml::write::value(member, 0)));
        }
        text
    }
}

/// Whether a text is a date as timestamps have it: `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let midnight = Value::from(format!("{text}T00:00:00Z"));
    serde_json::from_value::<Timestamp>(midnight).is_ok()
}

#[cfg(test)]
mod tests;
