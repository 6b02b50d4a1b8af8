//! Who may decide through a server.

use std::fmt;

use sha2::{Digest, Sha256};

/// People who may decide through a server, by their tokens: others than those of agents.
#[derive(Clone, Default)]
pub struct Approvers(Vec<([u8; 32], String)>);

impl Approvers {
    /// Returns the people with these names and tokens. White space around a token does not count, and nobody has an empty
    /// one.
    pub fn new(tokens: impl IntoIterator<Item = (String, String)>) -> Self {
        let tokens = tokens.into_iter();
        let tokens = tokens.filter(|(_, token)| !token.trim().is_empty());
        Self(tokens.map(|(name, token)| (digest(&token), name)).collect())
    }

    /// Returns who has this token. Digests are compared, so that the time says nothing about a token.
    pub fn who(&self, token: &str) -> Option<&str> {
        let given = digest(token);
        let approver = self.0.iter().find(|(known, _)| *known == given);
        approver.map(|(_, name)| name.as_str())
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.trim()).into()
}

impl fmt::Debug for Approvers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(_, name)| name);
        f.debug_list().entries(names).finish()
    }
}
