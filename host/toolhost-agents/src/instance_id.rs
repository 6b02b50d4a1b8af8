//! Identifies an instance of an agent.

use std::fmt;
use std::sync::Arc;

use toolhost_contract::EventError;

/// Longest key, in bytes, as of an event.
const KEY_BYTES_MAX: usize = 16 << 10;

/// Characters of a key in `Display`.
const DISPLAYED: usize = 48;

/// An instance of an agent: its agent's name and its key. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId {
    agent: Arc<str>,
    key: Arc<str>,
}

impl InstanceId {
    /// Key of the instance of an event without a key.
    pub const DEFAULT_KEY: &'static str = "default";

    /// The instance of an agent under a key.
    pub fn new(agent: &str, key: &str) -> Self {
        Self {
            agent: agent.into(),
            key: key.into(),
        }
    }

    /// Checks that the key is not longer than that of an event may be.
    pub(super) fn check(&self) -> Result<(), EventError> {
        let (bytes, max) = (self.key.len(), KEY_BYTES_MAX);
        if bytes <= max {
            return Ok(());
        }
        let field = "instanceKey";
        Err(EventError::TooLong { field, bytes, max })
    }

    /// The agent's name.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// `coder[user-7]`, the key escaped and truncated.
impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.agent)?;
        for character in self.key.chars().take(DISPLAYED) {
            write!(f, "{}", character.escape_debug())?;
        }
        let cut = self.key.chars().nth(DISPLAYED).is_some();
        f.write_str(if cut { "…]" } else { "]" })
    }
}
