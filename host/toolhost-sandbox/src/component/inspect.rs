//! Reads a component before it is compiled: checks its limits, and finds its imports and exports.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's enums, which grow with every proposal"
)]

mod check;
mod count;
mod function_cost;
mod instances;

use serde::{Deserialize, Serialize};
use wasmparser::{Parser, Payload};

use crate::PrepareError;
use crate::component::limits::CompileLimits;
use crate::component::served_imports::{later_wasi, serves};
use check::{malformed, within};
use count::Count;
pub(crate) use function_cost::check_function_cost;
use instances::Instantiations;
use toolhost_contract::text::printable;

/// Longest name of an import or an export that is reported, in bytes. Served names are shorter.
const NAME_MAX: usize = 200;

/// What a component declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComponentInfo {
    /// Imports, such as `wasi:io/poll@0.2.6`.
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

/// The rules that a component is checked against: those of a release of this crate, with these limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InspectionRules {
    release: String,
    limits: CompileLimits,
}

impl InspectionRules {
    /// The rules of this release.
    pub(crate) fn with(limits: &CompileLimits) -> Self {
        Self {
            release: env!("CARGO_PKG_VERSION").to_owned(),
            limits: limits.clone(),
        }
    }
}

/// The interface every tool exports, without its version.
const HANDLERS: &str = "goondan:tool/handlers";

/// The interface that a tool with pending outcomes exports.
const POLLING: &str = "goondan:tool/polling";

/// Reads a component and checks its limits.
pub(crate) fn read(bytes: &[u8], limits: &CompileLimits) -> Result<ComponentInfo, PrepareError> {
    within("bytes", bytes.len() as u64, limits.bytes)?;
    check_preamble(bytes)?;
    let mut info = ComponentInfo::default();
    let mut count = Count::default();
    let mut instances = Instantiations::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(malformed)?;
        count.add(&payload, limits)?;
        instances.add(&payload, limits)?;
        if count.nesting > 1 {
            continue;
        }
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let name = import.map_err(malformed)?.name;
                    info.imports.push(printable(name.name, NAME_MAX));
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let name = export.map_err(malformed)?.name;
                    info.exports.push(printable(name.name, NAME_MAX));
                }
            }
            _ => {}
        }
    }
    Ok(info)
}

impl ComponentInfo {
    /// Checks that the host serves the imports and knows the exports.
    pub(crate) fn check(&self) -> Result<(), PrepareError> {
        if !self.exports(HANDLERS)? {
            return Err(PrepareError::NoHandlers {
                exports: listed(&self.exports),
            });
        }
        self.exports(POLLING)?;
        if let Some(version) = self.imports.iter().find_map(|import| later_wasi(import)) {
            let of_version = |import: &&String| later_wasi(import) == Some(version);
            let imports: Vec<String> = self.imports.iter().filter(of_version).cloned().collect();
            return Err(PrepareError::LaterWasi {
                version: version.to_owned(),
                imports: listed(&imports),
            });
        }
        match self.imports.iter().find(|import| !serves(import)) {
            Some(import) => Err(PrepareError::UnservedImport {
                import: import.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Returns whether an interface is exported, and checks its versions.
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

/// Returns whether exports that were [checked](ComponentInfo::check) include the interface for pending outcomes.
pub(crate) fn polls(exports: &[String]) -> bool {
    let known = |version: &str| {
        version
            .strip_prefix('@')
            .is_some_and(|v| v.starts_with("2.0."))
    };
    let is_polling = |export: &String| export.strip_prefix(POLLING).is_some_and(known);
    exports.iter().any(is_polling)
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    if names.is_empty() {
        return "nothing".to_owned();
    }
    let first: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST);
    match more {
        0 => first.join(", "),
        _ => format!("{} and {more} more", first.join(", ")),
    }
}

/// Recognizes files of other kinds.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        match read(bytes, &CompileLimits::default()).and_then(|info| info.check()) {
            Ok(()) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn recognizes_files_that_are_no_components() {
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
    fn a_malformed_component_is_reported_in_one_line() {
        // A core module that does not begin as one.
        let message = refused(b"\0asm\x0d\0\x01\0\x01\x08\x01m\x01\x06\x01\0\0\0");
        assert!(
            message.contains("bad magic number - expected=[ 0x0"),
            "{message}"
        );
        assert!(!message.contains(char::is_control), "{message}");
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
            read(&bytes, &CompileLimits::default()).map(|info| info.imports)
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
    fn whether_a_component_polls_follows_from_its_exports() {
        let check =
            |exports: &[&str]| polls(&exports.iter().map(ToString::to_string).collect::<Vec<_>>());
        let handlers = "goondan:tool/handlers@2.0.0";
        assert!(check(&[handlers, "goondan:tool/polling@2.0.0"]));
        assert!(check(&["goondan:tool/polling@2.0.7"]));
        for other in [
            "goondan:tool/polling@2.1.0",
            "goondan:tool/polling-2@2.0.0",
            "goondan:tool/polling",
        ] {
            assert!(!check(&[handlers, other]), "{other}");
        }
    }

    #[test]
    fn names_the_version_or_the_import_that_is_not_served() {
        let info = |imports: &[&str], exports: &[&str]| ComponentInfo {
            imports: imports.iter().map(ToString::to_string).collect(),
            exports: exports.iter().map(ToString::to_string).collect(),
        };
        let handlers = "goondan:tool/handlers@2.0.0";
        for wasi in ["0.2.0", "0.2.6", "0.2.9", "0.2.12"] {
            let import = format!("wasi:filesystem/types@{wasi}");
            assert!(info(&[&import], &[handlers]).check().is_ok(), "{wasi}");
            let import = format!("wasi:http/outgoing-handler@{wasi}");
            assert!(info(&[&import], &[handlers]).check().is_ok(), "{wasi}");
        }
        assert!(info(&[], &["goondan:tool/handlers@2.0.7"]).check().is_ok());
        let both = ["goondan:tool/handlers@2.1.0", handlers];
        assert!(info(&[], &both).check().is_ok());
        for version in ["goondan:tool/handlers@1.0.0", "goondan:tool/handlers@2.1.0"] {
            let refused = info(&[], &[version]).check();
            assert!(
                matches!(refused, Err(PrepareError::WrongVersion { found }) if found == version)
            );
        }
        let polling = "goondan:tool/polling@2.0.0";
        assert!(info(&[], &[handlers, polling]).check().is_ok());
        let newer = "goondan:tool/polling@2.1.0";
        let refused = info(&[], &[handlers, newer]).check();
        assert!(matches!(refused, Err(PrepareError::WrongVersion { found }) if found == newer));
        assert!(
            info(
                &["goondan:tool/agents@2.0.0", "goondan:tool/modes@2.0.0"],
                &[handlers]
            )
            .check()
            .is_ok()
        );
        for import in [
            "goondan:tool/agents@2.1.0",
            "wasi:keyvalue/store@0.2.0",
            "wasi:http/incoming-handler@0.2.0",
            "env",
        ] {
            let refused = info(&[import], &[handlers]).check();
            assert!(
                matches!(refused, Err(PrepareError::UnservedImport { import: found }) if found == import)
            );
        }
    }

    #[test]
    fn a_component_for_a_later_wasi_is_refused_with_the_imports_of_that_version() {
        let info = ComponentInfo {
            imports: [
                "wasi:io/poll@0.2.6",
                "wasi:cli/stdout@0.3.0-rc-2025-09-16",
                "wasi:clocks/types@0.3.2",
                "wasi:logging/logging@0.1.0-draft",
            ]
            .map(str::to_owned)
            .to_vec(),
            exports: vec!["goondan:tool/handlers@2.0.0".to_owned()],
        };
        let refusal = info.check().unwrap_err().to_string();
        let expected = "the component is built for WASI 0.3: it imports wasi:cli/stdout@0.3.0-rc-2025-09-16, \
                        wasi:clocks/types@0.3.2; this host serves WASI 0.2";
        assert_eq!(refusal, expected);
    }
}
