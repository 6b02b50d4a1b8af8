//! What a component is, for people: what it serves, what it asks for, whether it would load.

use toolhost_sandbox::{ComponentFacts, HandlerSpec, PrepareError, Sandbox};

/// What is known of a component.
#[derive(Debug)]
pub struct Inspection {
    /// Size, digest, imports and exports.
    pub facts: ComponentFacts,
    /// What its imports mean, in plain words, each once.
    pub asks: Vec<&'static str>,
    /// The handlers it serves, or why it would not load.
    pub handlers: Result<Vec<HandlerSpec>, PrepareError>,
}

/// Looks at a component: reads it, and prepares it as loading a bundle would.
///
/// # Errors
/// [`PrepareError`] where the bytes are no component at all.
pub async fn inspect(sandbox: &Sandbox, bytes: Vec<u8>) -> Result<Inspection, PrepareError> {
    let facts = sandbox.read_facts(&bytes)?;
    let handlers = sandbox.prepare(bytes).await;
    Ok(Inspection {
        asks: asks(&facts.imports),
        handlers: handlers.map(|(tool, _)| tool.handlers().to_vec()),
        facts,
    })
}

/// What an import means, by the beginning of its name. The first that fits counts.
const MEANINGS: [(&str, &str); 15] = [
    (
        "goondan:tool/agents",
        "agents: speaks to other agents (refused unless granted)",
    ),
    ("wasi:filesystem/", "files: reads and writes its workdir"),
    (
        "wasi:sockets/ip-name-lookup",
        "network: looks up names (never granted)",
    ),
    ("wasi:sockets/udp", "network: UDP (never granted)"),
    ("wasi:sockets/tcp", "network: TCP (never granted)"),
    ("wasi:sockets/", "network (never granted)"),
    ("wasi:http/", "network: HTTP (refused unless granted)"),
    ("wasi:clocks/wall-clock", "clock: the time of day"),
    ("wasi:clocks/", "clock: measures time and sleeps"),
    ("wasi:random/", "random numbers"),
    (
        "wasi:cli/environment",
        "environment: variables and arguments (empty unless granted)",
    ),
    ("wasi:cli/exit", "exit: may end itself"),
    ("wasi:cli/stdin", "stdin (always at its end)"),
    ("wasi:cli/std", "stdout and stderr (captured)"),
    ("wasi:logging/", "log: writes to the operator's log"),
];

fn asks(imports: &[String]) -> Vec<&'static str> {
    let mut words = Vec::new();
    for import in imports {
        let meaning = MEANINGS.iter().find(|(start, _)| import.starts_with(start));
        if let Some((_, meaning)) = meaning.filter(|(_, meaning)| !words.contains(meaning)) {
            words.push(*meaning);
        }
    }
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_each_thing_once_in_plain_words() {
        let imports = [
            "goondan:tool/agents@2.0.0",
            "goondan:tool/types@2.0.0",
            "wasi:io/poll@0.2.6",
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp-create-socket@0.2.0",
            "wasi:sockets/tcp@0.2.0",
        ];
        assert_eq!(
            asks(&imports.map(str::to_owned)),
            [
                "agents: speaks to other agents (refused unless granted)",
                "files: reads and writes its workdir",
                "network: TCP (never granted)"
            ]
        );
    }
}
