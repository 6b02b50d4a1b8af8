//! Which imports the host serves, by name and version.

/// Interfaces the host serves, without their versions.
const SERVED: [&str; 34] = [
    "goondan:tool/agents",
    "goondan:tool/modes",
    "goondan:tool/tools",
    "goondan:tool/types",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:logging/logging",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Returns the version of WASI that an interface belongs to, such as `0.3`, if it is later than 0.2.
pub(crate) fn later_wasi(import: &str) -> Option<&str> {
    let (name, version) = import.split_once('@')?;
    let (version, _patch) = version.rsplit_once('.')?;
    let minor: u32 = version.strip_prefix("0.")?.parse().ok()?;
    (name.starts_with("wasi:") && minor > 2).then_some(version)
}

/// Whether the host serves an import, such as `wasi:io/poll@0.2.6`.
pub(crate) fn serves(import: &str) -> bool {
    let (name, version) = import.split_once('@').unwrap_or((import, ""));
    let version_served = match name.split_once(':').map(|(namespace, _)| namespace) {
        Some("goondan") => version.starts_with("2.0."),
        Some("wasi") if name.starts_with("wasi:logging/") => version == "0.1.0-draft",
        Some("wasi") => version.starts_with("0.2."),
        _ => false,
    };
    version_served && SERVED.contains(&name)
}
