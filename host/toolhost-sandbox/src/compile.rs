//! What a component may be made of, checked before anything is compiled.

mod instances;

use std::time::Duration;

use wasmparser::{Encoding, Parser, Payload};

use crate::{PrepareError, imports};
use instances::Definitions;

/// Ceilings of a component. They are checked by reading it, which takes milliseconds; compiling
/// cannot be interrupted.
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
        }
    }
}

/// How long a component of so many bytes may take to compile, its wait for a turn included.
pub(crate) fn time_limit(bytes: usize) -> Duration {
    const BASE: Duration = Duration::from_secs(60);
    let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
    BASE.saturating_add(Duration::from_secs(10).saturating_mul(mib))
}

/// What a component says of itself before it is compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// What it imports, such as `wasi:io/poll@0.2.6`.
    pub(crate) imports: Vec<String>,
    /// What it exports.
    pub(crate) exports: Vec<String>,
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
pub(crate) fn read(bytes: &[u8], limits: &CompileLimits) -> Result<Shape, PrepareError> {
    within("bytes", bytes.len() as u64, limits.bytes)?;
    check_preamble(bytes)?;
    let mut shape = Shape::default();
    let mut count = Count::default();
    let mut definitions = Definitions::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(malformed)?;
        count.add(&payload, limits)?;
        definitions.add(&payload, limits)?;
        if count.nesting > 1 {
            continue;
        }
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let name = import.map_err(malformed)?.name;
                    shape.imports.push(name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let name = export.map_err(malformed)?.name;
                    shape.exports.push(name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(shape)
}

impl Shape {
    /// Checks that the host serves what it imports and knows what it exports.
    pub(crate) fn check(&self) -> Result<(), PrepareError> {
        if !self.exports(HANDLERS)? {
            return Err(PrepareError::NoHandlers {
                exports: listed(&self.exports),
            });
        }
        self.exports(POLLING)?;
        match self.imports.iter().find(|import| !imports::serves(import)) {
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
    PrepareError::NotAComponent(format!(
        "the file is not a valid component: {} (at byte {})",
        error.message(),
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
            }
            _ => {}
        }
        Ok(())
    }
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
    fn names_the_version_and_the_import_it_does_not_serve() {
        let shape = |imports: &[&str], exports: &[&str]| Shape {
            imports: imports.iter().map(ToString::to_string).collect(),
            exports: exports.iter().map(ToString::to_string).collect(),
        };
        let handlers = "goondan:tool/handlers@2.0.0";
        for wasi in ["0.2.0", "0.2.6", "0.2.9", "0.2.12"] {
            let import = format!("wasi:filesystem/types@{wasi}");
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
            "wasi:http/types@0.2.0",
            "env",
        ] {
            let refused = shape(&[import], &[handlers]).check();
            assert!(
                matches!(refused, Err(PrepareError::UnservedImport { import: found }) if found == import)
            );
        }
    }
}
