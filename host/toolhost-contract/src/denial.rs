//! What a guest tried without a grant.

use serde::{Serialize, Serializer};

use crate::ResourceName;

macro_rules! denials {
    ($( $(#[$doc:meta])* $variant:ident = $words:literal; )*) => {
        /// Something a guest tried and was refused, because nothing grants it.
        ///
        /// To be given nothing is no denial: most guests read an environment, which is empty where
        /// none is granted, as are the arguments and stdin.
        ///
        /// Serialises to its words, such as `"network: tcp"`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Denial {
            $( $(#[$doc])* $variant, )*
        }

        impl Denial {
            /// Every denial, in the order in which they are told.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// What was tried, for people.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $words),* }
            }
        }
    };
}

denials! {
    /// `catalog` of `goondan:tool/agents`.
    AgentsCatalog = "agents: catalog";
    /// `list` of `goondan:tool/agents`.
    AgentsList = "agents: list";
    /// `request` of `goondan:tool/agents`.
    AgentsRequest = "agents: request";
    /// `send` of `goondan:tool/agents`.
    AgentsSend = "agents: send";
    /// `spawn` of `goondan:tool/agents`.
    AgentsSpawn = "agents: spawn";
    /// A change to the files of a bundle.
    WriteProtected = "filesystem: change a write-protected file";
    /// A change to a workdir that may only be read.
    ReadOnly = "filesystem: write to a read-only workdir";
    /// A name looked up.
    NetworkDns = "network: dns";
    /// A TCP socket.
    NetworkTcp = "network: tcp";
    /// A UDP socket.
    NetworkUdp = "network: udp";
}

impl Denial {
    /// Finds a denial by its words.
    #[must_use]
    pub fn from_words(words: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|d| d.as_str() == words)
    }

    /// The line of the policy that would allow it to a tool; none where no policy does.
    #[must_use]
    pub fn policy_line(self, tool: &ResourceName) -> Option<String> {
        match self {
            Self::AgentsCatalog
            | Self::AgentsList
            | Self::AgentsRequest
            | Self::AgentsSend
            | Self::AgentsSpawn => Some(format!("tools: {{{tool}: {{agents: true}}}}")),
            Self::ReadOnly => Some(format!("tools: {{{tool}: {{readOnly: false}}}}")),
            Self::WriteProtected | Self::NetworkDns | Self::NetworkTcp | Self::NetworkUdp => None,
        }
    }
}

impl Serialize for Denial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_words_of_its_own_and_is_told_in_their_order() {
        assert!(Denial::ALL.is_sorted());
        assert!(Denial::ALL.is_sorted_by_key(|denial| denial.as_str()));
        for denial in Denial::ALL {
            assert_eq!(Denial::from_words(denial.as_str()), Some(*denial));
        }
        assert_eq!(Denial::from_words("network: carrier pigeon"), None);
    }
}
