//! Makes a component of a core module that exports the contract's functions in the canonical ABI.

use anyhow::{Result, anyhow};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, UnresolvedPackageGroup};

use super::kit;

/// An export of every tool.
const DESCRIBE: &str = "goondan:tool/handlers@2.0.0#describe";

/// An export of tools that answer `pending`.
const POLL: &str = "goondan:tool/polling@2.0.0#poll";

/// An export of programs.
const START: &str = "_start";

/// Prefix of the custom sections in which bindings record the world of a module.
const RECORDED_WORLD: &str = "component-type";

/// Everything that the host serves. A component imports only what its module uses.
const WORLD: &str = "\
package toolhost:core-module;

world handlers {
    include goondan:tool/tool@2.0.0;
    include goondan:tool/agent-tool@2.0.0;
    include goondan:tool/composed-tool@2.0.0;
    import goondan:tool/modes@2.0.0;
    include wasi:cli/imports@0.2.12;
    import wasi:http/types@0.2.12;
    import wasi:http/outgoing-handler@0.2.12;
}

world handlers-and-polling {
    include handlers;
    include goondan:tool/async-tool@2.0.0;
}
";

/// Why a file is not made a component, and what the author does next.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) why: anyhow::Error,
    pub(crate) next_move: &'static str,
}

impl Refusal {
    fn new(why: anyhow::Error, next_move: &'static str) -> Self {
        Self { why, next_move }
    }

    fn not_wasm(error: wasmparser::BinaryReaderError) -> Self {
        let why = anyhow::Error::new(error).context("it is not a WebAssembly module");
        Self::new(
            why,
            "Compile the source to a core module first: docs/authors/any-language.md has the commands.",
        )
    }
}

/// Returns the component of a core module. Its world is the one that the module's bindings recorded, or else
/// what the module uses of the contract and of WASI.
///
/// # Errors
/// The file is not a core module, exports no handlers, or imports what no host serves.
pub(crate) fn to_component(module: &[u8]) -> Result<Vec<u8>, Refusal> {
    let facts = ModuleFacts::read(module)?;
    if !facts.describes {
        return Err(no_tool(facts.starts));
    }
    let mut module = module.to_owned();
    if !facts.has_recorded_world {
        record_world(&mut module, facts.polls)
            .map_err(|why| Refusal::new(why, "This is an error of toolhost: report it."))?;
    }
    encode(&module).map_err(|why| {
        Refusal::new(
            why,
            "Correct the module's imports and exports: docs/authors/any-language.md explains them.",
        )
    })
}

fn no_tool(is_program: bool) -> Refusal {
    if is_program {
        Refusal::new(
            anyhow!("it is a program: it exports `{START}` and no handlers"),
            "Build a library: zig cc -mexec-model=reactor, or go build -buildmode=c-shared.",
        )
    } else {
        Refusal::new(
            anyhow!("it does not export `{DESCRIBE}`"),
            "Export the functions of goondan:tool/handlers: wit-bindgen generates them from the files of `toolhost wit`.",
        )
    }
}

fn encode(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)?
        .adapter(
            WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
            WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
        )?
        .encode()
}

/// What a core module has.
#[derive(Debug, Default)]
struct ModuleFacts {
    describes: bool,
    polls: bool,
    starts: bool,
    has_recorded_world: bool,
}

impl ModuleFacts {
    fn read(module: &[u8]) -> Result<Self, Refusal> {
        let mut facts = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "the other sections do not matter here, nor those of later releases"
            )]
            match payload.map_err(Refusal::not_wasm)? {
                Payload::Version {
                    encoding: Encoding::Component,
                    ..
                } => {
                    return Err(Refusal::new(
                        anyhow!("it is a component already"),
                        "Name the file as the `entry` of a Tool in goondan.yaml.",
                    ));
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export.map_err(Refusal::not_wasm)?;
                        facts.describes |= export.name == DESCRIBE;
                        facts.polls |= export.name == POLL;
                        facts.starts |= export.name == START;
                    }
                }
                Payload::CustomSection(section) => {
                    facts.has_recorded_world |= section.name().starts_with(RECORDED_WORLD);
                }
                _ => {}
            }
        }
        Ok(facts)
    }
}

/// Records the world of a module whose bindings recorded none.
fn record_world(module: &mut Vec<u8>, polls: bool) -> Result<()> {
    let mut resolve = Resolve::default();
    let mut packages = Vec::new();
    for file in kit::contract() {
        packages.push(parse(file.path, std::str::from_utf8(file.bytes)?)?);
    }
    let main = parse("core-module.wit", WORLD)?;
    let package = resolve.push_groups(main, packages)?;
    let world = if polls {
        "handlers-and-polling"
    } else {
        "handlers"
    };
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8)
}

fn parse(path: &str, text: &str) -> Result<UnresolvedPackageGroup> {
    UnresolvedPackageGroup::parse(path, text).map_err(|(_sources, error)| error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x01\0\0\0";

    fn refusal(module: &[u8]) -> String {
        to_component(module).unwrap_err().why.to_string()
    }

    #[test]
    fn what_is_no_tool_is_refused_with_the_reason() {
        let component = b"\0asm\x0d\0\x01\0";
        assert_eq!(refusal(component), "it is a component already");
        let text = refusal(b"int main() {}");
        assert_eq!(text, "it is not a WebAssembly module");
        assert!(refusal(EMPTY).contains("does not export"));
        // A module that exports a function `_start`.
        let sections =
            b"\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x0a\x01\x06_start\0\0\x0a\x04\x01\x02\0\x0b";
        let program = refusal(&[EMPTY, sections].concat());
        assert!(program.contains("is a program"), "{program}");
    }

    #[test]
    fn the_world_of_modules_without_one_has_what_the_host_serves() {
        for polls in [false, true] {
            let mut module = EMPTY.to_owned();
            record_world(&mut module, polls).unwrap();
            assert!(ModuleFacts::read(&module).unwrap().has_recorded_world);
        }
    }
}
