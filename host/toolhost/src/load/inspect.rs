//! Describes a component: its imports, its handlers and whether it can be loaded.

pub use super::described::DescribeFault;
use super::described::faults;
use toolhost_sandbox::{ComponentFacts, HandlerSpec, PrepareError, Sandbox};

/// Description of a component.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// Size, digest, imports and exports.
    pub facts: ComponentFacts,
    /// Descriptions of the imported interfaces, without duplicates.
    pub import_descriptions: Vec<&'static str>,
    /// The exported handlers, or the error of loading the component.
    pub handlers: Result<Vec<HandlerSpec>, PrepareError>,
    /// What is wrong with the parameters of the handlers. A bundle with such a component loads only if its
    /// manifest has the parameters of these handlers.
    pub faults: Vec<DescribeFault>,
}

/// Reads a component and prepares it as [`Host::load`](crate::Host::load) does.
///
/// # Errors
/// [`PrepareError`] if the bytes are not a component.
pub async fn inspect(sandbox: &Sandbox, bytes: Vec<u8>) -> Result<Inspection, PrepareError> {
    let reader = sandbox.clone();
    let read = move || reader.read_facts(&bytes).map(|facts| (facts, bytes));
    let read = sandbox.threads().compute(read).await;
    let (facts, bytes) = read.map_err(|error| PrepareError::Host(error.to_string()))??;
    let handlers = sandbox.prepare(bytes).await;
    let handlers = handlers.map(|(tool, _)| tool.handlers().to_vec());
    let described = handlers.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
    let faults = sandbox.threads().compute(move || faults(&described)).await;
    Ok(Inspection {
        import_descriptions: describe_imports(&facts.imports),
        faults: faults.map_err(|error| PrepareError::Host(error.to_string()))?,
        handlers,
        facts,
    })
}

/// Descriptions by the prefix of the import's name. The first match is used.
const DESCRIPTIONS: [(&str, &str); 17] = [
    (
        "goondan:tool/agents",
        "agents: calls other agents (refused unless granted)",
    ),
    (
        "goondan:tool/tools",
        "tools: calls other tools (refused unless granted)",
    ),
    (
        "goondan:tool/modes",
        "files: sets permissions of what it may write",
    ),
    ("wasi:filesystem/", "files: reads and writes its workdir"),
    (
        "wasi:sockets/ip-name-lookup",
        "network: resolves names (never granted)",
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
    ("wasi:cli/exit", "exit: can exit early"),
    ("wasi:cli/stdin", "stdin (always empty)"),
    ("wasi:cli/std", "stdout and stderr (captured)"),
    ("wasi:logging/", "log: writes to the operator's log"),
];

fn describe_imports(imports: &[String]) -> Vec<&'static str> {
    let mut descriptions = Vec::new();
    for import in imports {
        let meaning = DESCRIPTIONS
            .iter()
            .find(|(start, _)| import.starts_with(start));
        if let Some((_, meaning)) = meaning.filter(|(_, meaning)| !descriptions.contains(meaning)) {
            descriptions.push(*meaning);
        }
    }
    descriptions.sort_unstable();
    descriptions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_each_description_once() {
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
            describe_imports(&imports.map(str::to_owned)),
            [
                "agents: calls other agents (refused unless granted)",
                "files: reads and writes its workdir",
                "network: TCP (never granted)"
            ]
        );
    }
}
