//! What a component may be made of, checked before anything is compiled.

mod bodies;
mod instances;
mod memory;

use std::time::Duration;

use wasmparser::{DataKind, ElementItems, ElementSectionReader, Encoding, Parser, Payload};

use crate::PrepareError;
use crate::accounting::output::printable;
use crate::component::served_imports::serves;
pub(crate) use bodies::check_function_cost;
use instances::Definitions;
pub(crate) use memory::DeclaredMemory;

/// Longest name of an import or an export that is told, in bytes; one that is served is shorter.
const NAME_MAX: usize = 200;

/// Longest message of the parser that is told, in bytes: it may quote the file.
const MALFORMED_MAX: usize = 1_000;

/// Ceilings of a component. All but the time are checked by reading it, which takes milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of the file. Default 64 MiB.
    pub bytes: u64,
    /// Functions over all modules. Default 500,000.
    pub functions: u64,
    /// Bytes of one function's body. Default 4 MiB.
    pub function_bytes: u64,
    /// Types over all modules and components. Default 100,000.
    pub types: u64,
    /// Core modules and nested components. Default 500.
    pub modules: u64,
    /// Globals over all modules. Default 100,000.
    pub globals: u64,
    /// Nesting of components. Default 16.
    pub nesting: u64,
    /// What a component is put together from: types, aliases, imports, exports, lifted and lowered
    /// functions, instances. Those of a component within count as often as it is instantiated.
    /// Default 100,000; a Python tool has some thousands.
    pub definitions: u64,
    /// Functions lifted and lowered; those of a component within count as often as it is
    /// instantiated. Each may become some KiB of code. Default 2,000.
    pub adapters: u64,
    /// Bytes that instances keep beside their memories and tables, over all modules as often as they
    /// are instantiated: 16 of each element and global, 32 of each function. Default 4 MiB.
    /// Of one instance the pool takes 1 MiB.
    pub instance_bytes: u64,
    /// Elements of tables that modules bring along. Default 200,000.
    pub elements: u64,
    /// Data and element segments. Default 100,000.
    pub segments: u64,
    /// Bytes of what globals, elements and segments begin with: they become one function. Default
    /// 4 MiB.
    pub initialiser_bytes: u64,
    /// Locals of a function times its blocks. Default 100,000,000.
    pub local_blocks: u64,
    /// Loops of a function within each other. Default 1,000.
    pub nested_loops: u64,
    /// Processor time a [`Compiler`](crate::Compiler) may take for it, and at most four times as long
    /// by the clock: other work on the machine does not make a component too large. Without a compiler
    /// the time by the clock. Its wait for a turn is not counted. Default 60 s, and `time_per_mib`
    /// beside.
    pub time: Duration,
    /// What each MiB of the file adds to `time`. Default 10 s.
    pub time_per_mib: Duration,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            functions: 500_000,
            function_bytes: 4 << 20,
            types: 100_000,
            modules: 500,
            globals: 100_000,
            nesting: 16,
            definitions: 100_000,
            adapters: 2_000,
            instance_bytes: 4 << 20,
            elements: 200_000,
            segments: 100_000,
            initialiser_bytes: 4 << 20,
            local_blocks: 100_000_000,
            nested_loops: 1_000,
            time: Duration::from_secs(60),
            time_per_mib: Duration::from_secs(10),
        }
    }
}

impl CompileLimits {
    /// How long a component of so many bytes may take to compile.
    pub(crate) fn time_for(&self, bytes: usize) -> Duration {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let added = self.time_per_mib.saturating_mul(mib);
        self.time.saturating_add(added)
    }
}

/// What a component says of itself before it is compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComponentInfo {
    /// What it imports, such as `wasi:io/poll@0.2.6`.
    pub(crate) imports: Vec<String>,
    /// What it exports.
    pub(crate) exports: Vec<String>,
    /// The memories of its modules.
    pub(crate) memory: DeclaredMemory,
}

/// The interface every tool exports, without its version.
const HANDLERS: &str = "goondan:tool/handlers";

/// The interface a tool exports whose outcomes may be pending.
const POLLING: &str = "goondan:tool/polling";

/// Reads a component and counts what it is made of.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enum, which grows with every proposal"
)]
pub(crate) fn read(bytes: &[u8], limits: &CompileLimits) -> Result<ComponentInfo, PrepareError> {
    within("bytes", bytes.len() as u64, limits.bytes)?;
    check_preamble(bytes)?;
    let mut shape = ComponentInfo::default();
    let mut count = Count::default();
    let mut definitions = Definitions::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(malformed)?;
        count.add(&payload, limits)?;
        definitions.add(&payload, limits)?;
        shape.memory.add(&payload)?;
        if count.nesting > 1 {
            continue;
        }
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let name = import.map_err(malformed)?.name;
                    shape.imports.push(printable(name.name, NAME_MAX));
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let name = export.map_err(malformed)?.name;
                    shape.exports.push(printable(name.name, NAME_MAX));
                }
            }
            _ => {}
        }
    }
    Ok(shape)
}

impl ComponentInfo {
    /// Checks that the host serves what it imports and knows what it exports.
    pub(crate) fn check(&self) -> Result<(), PrepareError> {
        if !self.exports(HANDLERS)? {
            return Err(PrepareError::NoHandlers {
                exports: listed(&self.exports),
            });
        }
        self.exports(POLLING)?;
        match self.imports.iter().find(|import| !serves(import)) {
            Some(import) => Err(PrepareError::UnservedImport {
                import: import.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Checks the versions of an interface among the exports; says whether it is exported at all.
    fn exports(&self, interface: &str) -> Result<bool, PrepareError> {
        let version = |export: &String| {
            let (name, version) = export.split_once('@').unwrap_or((export, ""));
            (name == interface).then(|| version.to_owned())
        };
        let versions: Vec<String> = self.exports.iter().filter_map(version).collect();
        let Some(first) = versions.first() else {
            return Ok(false);
        };
        // A component may serve a newer version beside the one this host knows.
        if !versions.iter().any(|version| version.starts_with("2.0.")) {
            return Err(PrepareError::WrongVersion {
                found: format!("{interface}@{first}"),
            });
        }
        Ok(true)
    }
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST);
    match more {
        0 => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

fn within(what: &'static str, found: u64, limit: u64) -> Result<(), PrepareError> {
    if found > limit {
        return Err(PrepareError::TooLarge { what, found, limit });
    }
    Ok(())
}

fn malformed(error: wasmparser::BinaryReaderError) -> PrepareError {
    // Some of them are laid out over several lines.
    let words: Vec<&str> = error.message().split_whitespace().collect();
    PrepareError::NotAComponent(format!(
        "the file is not a valid component: {} (at byte {})",
        printable(&words.join(" "), MALFORMED_MAX),
        error.offset()
    ))
}

/// Tells the usual mistakes apart before any parsing.
fn check_preamble(bytes: &[u8]) -> Result<(), PrepareError> {
    let not = |what: &str| Err(PrepareError::NotAComponent(what.to_owned()));
    if bytes.is_empty() {
        return not("the file is empty");
    }
    if !bytes.starts_with(b"\0asm") {
        return not("the file is not WebAssembly");
    }
    match bytes.get(4..8) {
        None => not("the file ends within its first 8 bytes"),
        Some([_, _, 1, 0]) => Ok(()),
        Some([1, 0, 0, 0]) => not("the file is a core WebAssembly module, not a component"),
        Some(_) => not("the file is of an unknown kind of WebAssembly"),
    }
}

#[derive(Default)]
struct Count {
    functions: u64,
    types: u64,
    modules: u64,
    globals: u64,
    nesting: u64,
    elements: u64,
    segments: u64,
    initialiser_bytes: u64,
}

impl Count {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enum, which grows with every proposal"
    )]
    fn add(&mut self, payload: &Payload<'_>, limits: &CompileLimits) -> Result<(), PrepareError> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.nesting += 1;
                self.modules += 1;
                if *encoding == Encoding::Component {
                    within("nested components", self.nesting, limits.nesting)?;
                }
                within("modules", self.modules, limits.modules)?;
            }
            Payload::End(_) => self.nesting = self.nesting.saturating_sub(1),
            Payload::FunctionSection(section) => {
                self.functions += u64::from(section.count());
                within("functions", self.functions, limits.functions)?;
            }
            Payload::CodeSectionEntry(body) => {
                let bytes = body.range().len() as u64;
                within("bytes in one function", bytes, limits.function_bytes)?;
            }
            Payload::TypeSection(section) => {
                self.types += u64::from(section.count());
                within("types", self.types, limits.types)?;
            }
            Payload::ComponentTypeSection(section) => {
                self.types += u64::from(section.count());
                within("types", self.types, limits.types)?;
            }
            Payload::GlobalSection(section) => {
                self.globals += u64::from(section.count());
                within("globals", self.globals, limits.globals)?;
                self.initialises(section.range().len(), limits)?;
            }
            Payload::ElementSection(section) => {
                self.segments += u64::from(section.count());
                within("segments", self.segments, limits.segments)?;
                self.initialises(section.range().len(), limits)?;
                self.elements = self.elements.saturating_add(elements_in(section)?);
                within("elements", self.elements, limits.elements)?;
            }
            Payload::DataSection(section) => {
                self.segments += u64::from(section.count());
                within("segments", self.segments, limits.segments)?;
                for data in section.clone() {
                    if let DataKind::Active { offset_expr, .. } = data.map_err(malformed)?.kind {
                        let bytes = offset_expr.get_binary_reader().bytes_remaining();
                        self.initialises(bytes, limits)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn initialises(&mut self, bytes: usize, limits: &CompileLimits) -> Result<(), PrepareError> {
        self.initialiser_bytes = self.initialiser_bytes.saturating_add(bytes as u64);
        let what = "bytes of initialisers";
        within(what, self.initialiser_bytes, limits.initialiser_bytes)
    }
}

/// The elements of all segments.
fn elements_in(section: &ElementSectionReader<'_>) -> Result<u64, PrepareError> {
    let mut elements = 0_u64;
    for segment in section.clone() {
        let count = match segment.map_err(malformed)?.items {
            ElementItems::Functions(items) => items.count(),
            ElementItems::Expressions(_, items) => items.count(),
        };
        elements = elements.saturating_add(count.into());
    }
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        match read(bytes, &CompileLimits::default()).and_then(|shape| shape.check()) {
            Ok(()) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn tells_apart_what_is_no_component() {
        for (bytes, says) in [
            (b"".as_slice(), "the file is empty"),
            (b"hello", "not WebAssembly"),
            (b"\0asm", "ends within"),
            (b"\0asm\x01\0\0\0", "core WebAssembly module"),
            (b"\0asm\x0d\0\x01\0\xff", "not a valid component"),
            (
                b"\0asm\x0d\0\x01\0",
                "does not export goondan:tool/handlers; it exports nothing",
            ),
        ] {
            assert!(
                refused(bytes).contains(says),
                "{bytes:?}: {}",
                refused(bytes)
            );
        }
    }

    #[test]
    fn what_is_malformed_is_told_in_one_line() {
        // A core module that does not begin as one.
        let told = refused(b"\0asm\x0d\0\x01\0\x01\x08\x01m\x01\x06\x01\0\0\0");
        assert!(told.contains("bad magic number - expected=[ 0x0"), "{told}");
        assert!(!told.contains(char::is_control), "{told}");
    }

    #[test]
    fn names_that_act_on_a_terminal_are_escaped() {
        // One import of a function, named as given; its type, 0, is the empty one before it.
        let importing = |name: &str| {
            let length = u8::try_from(name.len()).unwrap();
            let mut bytes = b"\0asm\x0d\0\x01\0\x07\x05\x01\x40\0\x01\0\x0a".to_vec();
            bytes.extend([length + 5, 1, 0, length]);
            bytes.extend(name.as_bytes());
            bytes.extend([1, 0]);
            read(&bytes, &CompileLimits::default()).map(|shape| shape.imports)
        };
        assert_eq!(
            importing("wasi:io/poll@0.2.6").unwrap(),
            ["wasi:io/poll@0.2.6"]
        );
        assert_eq!(
            importing("a\u{1b}[2J\u{202e}").unwrap(),
            [r"a\u{1b}[2J\u{202e}"]
        );
    }

    #[test]
    fn names_the_version_and_the_import_it_does_not_serve() {
        let shape = |imports: &[&str], exports: &[&str]| ComponentInfo {
            imports: imports.iter().map(ToString::to_string).collect(),
            exports: exports.iter().map(ToString::to_string).collect(),
            memory: DeclaredMemory::default(),
        };
        let handlers = "goondan:tool/handlers@2.0.0";
        for wasi in ["0.2.0", "0.2.6", "0.2.9", "0.2.12"] {
            let import = format!("wasi:filesystem/types@{wasi}");
            assert!(shape(&[&import], &[handlers]).check().is_ok(), "{wasi}");
            let import = format!("wasi:http/outgoing-handler@{wasi}");
            assert!(shape(&[&import], &[handlers]).check().is_ok(), "{wasi}");
        }
        assert!(shape(&[], &["goondan:tool/handlers@2.0.7"]).check().is_ok());
        let both = ["goondan:tool/handlers@2.1.0", handlers];
        assert!(shape(&[], &both).check().is_ok());
        for version in ["goondan:tool/handlers@1.0.0", "goondan:tool/handlers@2.1.0"] {
            let refused = shape(&[], &[version]).check();
            assert!(
                matches!(refused, Err(PrepareError::WrongVersion { found }) if found == version)
            );
        }
        let polling = "goondan:tool/polling@2.0.0";
        assert!(shape(&[], &[handlers, polling]).check().is_ok());
        let newer = "goondan:tool/polling@2.1.0";
        let refused = shape(&[], &[handlers, newer]).check();
        assert!(matches!(refused, Err(PrepareError::WrongVersion { found }) if found == newer));
        assert!(
            shape(&["goondan:tool/agents@2.0.0"], &[handlers])
                .check()
                .is_ok()
        );
        for import in [
            "goondan:tool/agents@2.1.0",
            "wasi:keyvalue/store@0.2.0",
            "wasi:io/poll@0.3.0",
            "wasi:http/incoming-handler@0.2.0",
            "env",
        ] {
            let refused = shape(&[import], &[handlers]).check();
            assert!(
                matches!(refused, Err(PrepareError::UnservedImport { import: found }) if found == import)
            );
        }
    }
}
