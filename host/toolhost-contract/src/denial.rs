//! Denied operations of a guest.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::ResourceName;

/// An operation that was denied because it is not granted.
///
/// Reading the environment, the arguments or stdin is never denied: they are empty unless granted.
///
/// Serialises to its text, such as `"network: tcp"`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Denial {
    /// `catalog` of `goondan:tool/agents`.
    AgentsCatalog,
    /// `list` of `goondan:tool/agents`.
    AgentsList,
    /// `request` of `goondan:tool/agents`.
    AgentsRequest,
    /// `send` of `goondan:tool/agents`.
    AgentsSend,
    /// `spawn` of `goondan:tool/agents`.
    AgentsSpawn,
    /// A change of a bundle's files.
    WriteProtected,
    /// A path that leads out of the workdir.
    OutsideWorkdir,
    /// A change of a read-only workdir.
    ReadOnly,
    /// An HTTP request, with the rule that would allow it: `GET https://api.example.com/x`.
    HttpRequest(String),
    /// A request to an allowed host whose name resolves to an address that is not public.
    HttpNetwork {
        /// Name of the host.
        host: String,
        /// The block of the address, such as `127.0.0.0/8`.
        network: String,
    },
    /// A DNS lookup.
    NetworkDns,
    /// A TCP socket.
    NetworkTcp,
    /// A UDP socket.
    NetworkUdp,
}

/// The denials without details.
const FIXED: [Denial; 11] = [
    Denial::AgentsCatalog,
    Denial::AgentsList,
    Denial::AgentsRequest,
    Denial::AgentsSend,
    Denial::AgentsSpawn,
    Denial::WriteProtected,
    Denial::OutsideWorkdir,
    Denial::ReadOnly,
    Denial::NetworkDns,
    Denial::NetworkTcp,
    Denial::NetworkUdp,
];

const HTTP: &str = "http: ";
const CONNECT: &str = "http: connect ";

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AgentsCatalog => "agents: catalog",
            Self::AgentsList => "agents: list",
            Self::AgentsRequest => "agents: request",
            Self::AgentsSend => "agents: send",
            Self::AgentsSpawn => "agents: spawn",
            Self::WriteProtected => "filesystem: change a write-protected file",
            Self::OutsideWorkdir => "filesystem: use a path outside the workdir",
            Self::ReadOnly => "filesystem: write to a read-only workdir",
            Self::HttpRequest(rule) => return write!(f, "{HTTP}{rule}"),
            Self::HttpNetwork { host, network } => {
                return write!(f, "{CONNECT}{host} in {network}");
            }
            Self::NetworkDns => "network: dns",
            Self::NetworkTcp => "network: tcp",
            Self::NetworkUdp => "network: udp",
        })
    }
}

impl Denial {
    /// Returns the texts of the denials without details. The text of an HTTP request is `http: ` and
    /// the rule that would allow it.
    pub fn fixed_texts() -> impl Iterator<Item = String> {
        FIXED.iter().map(ToString::to_string)
    }

    /// Parses the text of a denial.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let network = text.strip_prefix(CONNECT);
        if let Some((host, network)) = network.and_then(|rest| rest.split_once(" in ")) {
            let (host, network) = (host.to_owned(), network.to_owned());
            return Some(Self::HttpNetwork { host, network });
        }
        if let Some(rule) = text.strip_prefix(HTTP) {
            return Some(Self::HttpRequest(rule.to_owned()));
        }
        FIXED.into_iter().find(|known| known.to_string() == text)
    }

    /// Returns the line of the policy that would grant the operation to a tool, or `None` if no policy can.
    #[must_use]
    pub fn policy_line(&self, tool: &ResourceName) -> Option<String> {
        match self {
            Self::AgentsCatalog
            | Self::AgentsList
            | Self::AgentsRequest
            | Self::AgentsSend
            | Self::AgentsSpawn => Some(format!("tools: {{{tool}: {{agents: true}}}}")),
            Self::ReadOnly => Some(format!("tools: {{{tool}: {{readOnly: false}}}}")),
            Self::HttpRequest(rule) => Some(format!(
                "tools: {{{tool}: {{http: {{allow: [\"{rule}\"]}}}}}}"
            )),
            Self::HttpNetwork { network, .. } => Some(format!(
                "tools: {{{tool}: {{http: {{privateNetworks: [\"{network}\"]}}}}}}"
            )),
            Self::WriteProtected
            | Self::OutsideWorkdir
            | Self::NetworkDns
            | Self::NetworkTcp
            | Self::NetworkUdp => None,
        }
    }
}

impl Serialize for Denial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_text_and_is_ordered_like_it() {
        let mut all = FIXED.to_vec();
        all.push(Denial::HttpRequest("GET https://a.example/x".to_owned()));
        all.push(Denial::HttpNetwork {
            host: "a.example".to_owned(),
            network: "127.0.0.0/8".to_owned(),
        });
        all.sort();
        assert!(all.is_sorted_by_key(ToString::to_string));
        for denial in all {
            assert_eq!(Denial::parse(&denial.to_string()), Some(denial));
        }
        assert_eq!(Denial::parse("network: carrier pigeon"), None);
    }

    #[test]
    fn names_the_line_that_would_allow_a_request() {
        let tool = ResourceName::parse("fetcher").unwrap();
        let line = |text: &str| Denial::parse(text).unwrap().policy_line(&tool);
        assert_eq!(
            line("http: GET https://a.example/x").as_deref(),
            Some("tools: {fetcher: {http: {allow: [\"GET https://a.example/x\"]}}}")
        );
        assert_eq!(
            line("http: connect a.example in 10.0.0.0/8").as_deref(),
            Some("tools: {fetcher: {http: {privateNetworks: [\"10.0.0.0/8\"]}}}")
        );
        assert_eq!(line("network: tcp"), None);
    }
}
