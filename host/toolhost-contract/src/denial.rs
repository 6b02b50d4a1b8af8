//! Denied operations of a guest.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::http::{Host, HttpRule, METHOD_MAX, Origin, non_public_block, normalize_path};
use crate::{ResourceName, ToolName};

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
    /// An HTTP request that no rule allows: its method, origin and path, such as `GET https://api.example.com/x`.
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
    /// A call of another tool, with its name.
    ToolCall(String),
    /// `names`, `describe` or `search` of `goondan:tool/tools`.
    ToolsList,
}

/// The denials without details.
const FIXED: [Denial; 12] = [
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
    Denial::ToolsList,
];

const HTTP: &str = "http: ";
const CONNECT: &str = "http: connect ";
const TOOL_CALL: &str = "tools: call ";

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
            Self::ToolCall(name) => return write!(f, "{TOOL_CALL}{name}"),
            Self::ToolsList => "tools: list",
        })
    }
}

impl Denial {
    /// Returns the denial of an HTTP request. The guest chose the words: unusual characters are replaced by `?`, and a
    /// long path is cut.
    pub fn of_request(method: &str, origin: &Origin, path: &str) -> Self {
        let plain = |c: char| if is_plain(c) { c } else { '?' };
        let method: String = method.chars().take(METHOD_MAX + 1).map(plain).collect();
        let mut text: String = normalize_path(path).unwrap_or_else(|| path.to_owned());
        text = text.chars().take(PATH_MAX + 1).map(plain).collect();
        if text.len() > PATH_MAX {
            text.truncate(PATH_MAX);
            text.push('…');
        }
        Self::HttpRequest(format!("{method} {origin}{text}"))
    }

    /// Returns the denial of a call of a tool. The guest chose the name: unusual characters are replaced by `?`, and a
    /// long name is cut.
    pub fn tool_call(name: &str) -> Self {
        let plain = |c: char| if is_plain(c) { c } else { '?' };
        let mut text: String = name.chars().take(NAME_MAX + 1).map(plain).collect();
        if text.len() > NAME_MAX {
            text.truncate(NAME_MAX);
            text.push('…');
        }
        Self::ToolCall(text)
    }

    /// Returns the texts of the denials without details. The text of an HTTP request is `http: ` and the request.
    pub fn fixed_texts() -> impl Iterator<Item = String> {
        FIXED.iter().map(ToString::to_string)
    }

    /// Parses the text of a denial.
    pub fn parse(text: &str) -> Option<Self> {
        let network = text.strip_prefix(CONNECT);
        if let Some((host, network)) = network.and_then(|rest| rest.split_once(" in ")) {
            let (host, network) = (host.to_owned(), network.to_owned());
            return Some(Self::HttpNetwork { host, network });
        }
        if let Some(name) = text.strip_prefix(TOOL_CALL) {
            return Some(Self::ToolCall(name.to_owned()));
        }
        if let Some(rule) = text.strip_prefix(HTTP) {
            return Some(Self::HttpRequest(rule.to_owned()));
        }
        FIXED.into_iter().find(|denial| denial.to_string() == text)
    }

    /// Returns the line of the policy that would grant exactly this operation to a tool.
    ///
    /// # Errors
    /// [`NoLine`] says why there is none.
    pub fn policy_line(&self, tool: &ResourceName) -> Result<String, NoLine> {
        match self {
            Self::AgentsCatalog
            | Self::AgentsList
            | Self::AgentsRequest
            | Self::AgentsSend
            | Self::AgentsSpawn => Ok(format!("tools: {{{tool}: {{agents: true}}}}")),
            Self::ReadOnly => Ok(format!("tools: {{{tool}: {{readOnly: false}}}}")),
            Self::HttpRequest(request) => {
                let rule = exact_rule(request)?;
                Ok(format!(
                    "tools: {{{tool}: {{http: {{allow: [\"{rule}\"]}}}}}}"
                ))
            }
            Self::ToolCall(name) => {
                let name = ToolName::parse(name).map_err(|_| NoLine::NotExact)?;
                Ok(format!("tools: {{{tool}: {{tools: [\"{name}\"]}}}}"))
            }
            Self::ToolsList => Err(NoLine::ToolNames),
            Self::HttpNetwork { .. } => Err(NoLine::NotPublic),
            Self::WriteProtected
            | Self::OutsideWorkdir
            | Self::NetworkDns
            | Self::NetworkTcp
            | Self::NetworkUdp => Err(NoLine::Never),
        }
    }
}

/// Why no line of a policy is suggested for a denied operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoLine {
    /// No policy can grant it.
    Never,
    /// The host of the request is not public: an address of a private network, of this machine or of a metadata
    /// service of a cloud. A policy may name it, but not because a tool asks for it.
    NotPublic,
    /// No rule allows this request and no other one: its path is ambiguous or too long to be quoted, or has a `*`.
    NotExact,
    /// The key `tools` of the tool's rules grants it, with the names of the tools that it may call.
    ToolNames,
}

/// Longest name of a tool in a denial, in bytes.
const NAME_MAX: usize = 64;

/// Longest path in a denial, in bytes.
const PATH_MAX: usize = 120;

/// Names of machines that are not public, and of all names beneath them.
const PRIVATE_NAMES: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "test"];

/// Returns the rule that allows a request, and no other one.
fn exact_rule(request: &str) -> Result<HttpRule, NoLine> {
    let path = request
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'));
    if !path.is_some_and(|(_, path)| path.chars().all(is_plain)) {
        return Err(NoLine::NotExact);
    }
    let rule = HttpRule::parse(request).map_err(|_| NoLine::NotExact)?;
    match rule.exact_host() {
        None => Err(NoLine::NotExact),
        Some(Host::Address(address)) if non_public_block(*address).is_some() => {
            Err(NoLine::NotPublic)
        }
        Some(Host::Name(name)) if is_private(name) => Err(NoLine::NotPublic),
        Some(_) => Ok(rule),
    }
}

/// Returns whether a name is one that the public DNS does not have.
fn is_private(name: &str) -> bool {
    let is_beneath = |zone: &&str| {
        let parent = name.strip_suffix(*zone);
        parent.is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
    };
    !name.contains('.') || PRIVATE_NAMES.iter().any(is_beneath)
}

/// Whether a character of a request is quoted in messages.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/-._~%@:+,=".contains(c)
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
        let mut denials = FIXED.to_vec();
        denials.push(Denial::HttpRequest("GET https://a.example/x".to_owned()));
        denials.push(Denial::HttpNetwork {
            host: "a.example".to_owned(),
            network: "127.0.0.0/8".to_owned(),
        });
        denials.push(Denial::tool_call("file-system__read"));
        denials.sort();
        assert!(denials.is_sorted_by_key(ToString::to_string));
        for denial in denials {
            assert_eq!(Denial::parse(&denial.to_string()), Some(denial));
        }
        assert_eq!(Denial::parse("network: carrier pigeon"), None);
    }

    fn line(denial: &Denial) -> Result<String, NoLine> {
        denial.policy_line(&ResourceName::parse("fetcher").unwrap())
    }

    #[test]
    fn only_the_narrowest_rule_for_a_public_host_is_suggested() {
        let request = |method: &str, origin: &str, path: &str| {
            Denial::of_request(method, &Origin::parse(origin).unwrap(), path)
        };
        let check = |method: &str, origin: &str, path: &str| {
            let denial = request(method, origin, path);
            let line = line(&denial).unwrap();
            let rule = line.split('"').nth(1).unwrap();
            assert_eq!(denial.to_string(), format!("http: {rule}"));
            assert_eq!(
                line,
                format!("tools: {{fetcher: {{http: {{allow: [\"{rule}\"]}}}}}}")
            );
            let rule = HttpRule::parse(rule).unwrap();
            let origin = Origin::parse(origin).unwrap();
            assert!(rule.allows(method, &origin, path), "{rule}");
            let more = format!("{path}x");
            assert!(!rule.allows(method, &origin, &more), "{rule}");
            let other = if method == "PUT" { "GET" } else { "PUT" };
            assert!(!rule.allows(other, &origin, path), "{rule}");
        };
        check("GET", "https://a.example", "/v1/x");
        check("POST", "https://a.example:8443", "/v1/%78");
        check("DELETE", "http://93.184.216.34", "/");
        check("PUT", "https://[2606:4700::1111]", "/a%2Cb");

        let without = |method: &str, origin: &str, path: &str, shown: &str, why: NoLine| {
            let denial = request(method, origin, path);
            assert_eq!(denial.to_string(), format!("http: {shown}"));
            assert_eq!(line(&denial), Err(why), "{shown}");
            assert_eq!(Denial::parse(&denial.to_string()), Some(denial));
        };
        for origin in [
            "http://169.254.169.254",
            "http://[fd00:ec2::254]",
            "http://100.100.100.200",
            "http://168.63.129.16",
            "http://127.0.0.1:8080",
            "http://10.0.0.1",
            "http://[::1]",
            "http://localhost:3000",
            "http://metadata.google.internal",
            "http://printer.local",
            "http://metadata",
            "http://[::ffff:10.0.0.1]",
        ] {
            let shown = format!("GET {}/latest", Origin::parse(origin).unwrap());
            let denial = request("GET", origin, "/latest");
            assert_eq!(denial.to_string(), format!("http: {shown}"));
            assert!(line(&denial).is_err(), "{shown}");
        }
        without(
            "GET",
            "http://10.0.0.1",
            "/x",
            "GET http://10.0.0.1/x",
            NoLine::NotPublic,
        );
        let (long, cut) = (
            format!("/{}", "x".repeat(PATH_MAX)),
            format!("/{}", "x".repeat(PATH_MAX - 1)),
        );
        let host = "https://a.example";
        without(
            "GET",
            host,
            &long,
            &format!("GET {host}{cut}…"),
            NoLine::NotExact,
        );
        without(
            "GET",
            host,
            "/a'`b",
            &format!("GET {host}/a??b"),
            NoLine::NotExact,
        );
        without(
            "GET",
            host,
            "/a%3Bb",
            &format!("GET {host}/a%3Bb"),
            NoLine::NotExact,
        );
        without(
            "GET",
            host,
            "/a/../b",
            &format!("GET {host}/a/../b"),
            NoLine::NotExact,
        );
        without(
            "GET",
            host,
            "/a*",
            &format!("GET {host}/a?"),
            NoLine::NotExact,
        );
        without(
            "pRoP",
            host,
            "/",
            &format!("pRoP {host}/"),
            NoLine::NotExact,
        );
        let without = |text: &str| line(&Denial::parse(text).unwrap()).unwrap_err();
        assert_eq!(
            without("http: connect a.example in 10.0.0.0/8"),
            NoLine::NotPublic
        );
        assert_eq!(
            without("http: GET https://a.example/[redacted:KEY]"),
            NoLine::NotExact
        );
        assert_eq!(without("http: GET https://a.example"), NoLine::NotExact);
        assert_eq!(without("http: https://a.example/x"), NoLine::NotExact);
        assert_eq!(without("network: tcp"), NoLine::Never);
        assert_eq!(without("tools: list"), NoLine::ToolNames);
        assert_eq!(without("tools: call a b"), NoLine::NotExact);
        assert_eq!(
            line(&Denial::tool_call("a__b")).unwrap(),
            "tools: {fetcher: {tools: [\"a__b\"]}}"
        );
        let long = Denial::tool_call(&"\u{7f}é".repeat(100));
        assert_eq!(long.to_string(), format!("tools: call {}…", "?".repeat(64)));
    }
}
