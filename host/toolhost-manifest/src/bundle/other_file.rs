//! Recognizes files that are named in the place of a manifest or a component, for the next step of an error.

use std::path::Path;

use super::built::Language;

/// Extensions of source files that `toolhost build` does not build.
const OTHER_SOURCE_EXTENSIONS: [&str; 20] = [
    "c", "cc", "cjs", "cpp", "cs", "cts", "cxx", "go", "h", "hpp", "java", "kt", "mbt", "php",
    "rb", "rs", "swift", "wat", "wit", "zig",
];

/// The beginning of a core module.
const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// The beginning of a component.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The next step for the author of a core module.
pub const CORE_MODULE_HELP: &str = "Make a component of it: wasm-tools component new MODULE.wasm --adapt \
     wasi_snapshot_preview1.reactor.wasm -o TOOL.wasm. See docs/authors/any-language.md.";

/// A file that is not a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherFile {
    /// Source code that `toolhost build` builds.
    Source(Language),
    /// Other source code.
    OtherSource,
    /// A core WebAssembly module.
    CoreModule,
    /// A component.
    Component,
}

impl OtherFile {
    /// Recognizes a file by its bytes, or else by its name. `None` for any other file.
    pub fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(CORE_MODULE) {
            return Some(Self::CoreModule);
        }
        if bytes.starts_with(COMPONENT) {
            return Some(Self::Component);
        }
        Self::of_source(path)
    }

    /// Recognizes source code by its name.
    pub(super) fn of_source(path: &Path) -> Option<Self> {
        let name = path.to_str()?;
        if let Some(language) = Language::of(name) {
            return Some(Self::Source(language));
        }
        let extension = path.extension()?.to_str()?;
        let is_source = OTHER_SOURCE_EXTENSIONS.contains(&extension);
        is_source.then_some(Self::OtherSource)
    }

    /// Returns the kind of file in words, after "is".
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Source(Language::Rust) => "the manifest of a Cargo package, not of a bundle",
            Self::Source(Language::TypeScript | Language::Python) | Self::OtherSource => {
                "source code, not the manifest of a bundle"
            }
            Self::CoreModule => "a core WebAssembly module, not the manifest of a bundle",
            Self::Component => "a component, not the manifest of a bundle",
        }
    }

    /// Returns the next step for someone who named the file in the place of a bundle.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Source(Language::Rust) => {
                "Name it in spec.entry of a goondan.yaml: `toolhost new NAME --lang rust` writes an example."
            }
            Self::Source(Language::TypeScript) => {
                "Name it in spec.entry of a goondan.yaml: `toolhost new NAME --lang typescript` writes an example."
            }
            Self::Source(Language::Python) => {
                "Name it in spec.entry of a goondan.yaml: `toolhost new NAME --lang python` writes an example."
            }
            Self::OtherSource => {
                "toolhost builds Rust, TypeScript, JavaScript and Python. Build other languages to a component \
                 with their own tools, and name the .wasm file in spec.entry of a goondan.yaml. See \
                 docs/authors/any-language.md."
            }
            Self::CoreModule => CORE_MODULE_HELP,
            Self::Component => {
                "Name it in spec.entry of a goondan.yaml: `toolhost inspect FILE --manifest` prints one."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognized_by_its_bytes_or_its_name() {
        for (name, bytes, expected) in [
            ("a.yaml", b"kind: Tool".as_slice(), None),
            ("a", b"kind: Tool", None),
            ("a.yaml", CORE_MODULE, Some(OtherFile::CoreModule)),
            ("a.wasm", COMPONENT, Some(OtherFile::Component)),
            ("a.c", b"int main(void) {}", Some(OtherFile::OtherSource)),
            ("main.go", b"", Some(OtherFile::OtherSource)),
            ("tool.py", b"", Some(OtherFile::Source(Language::Python))),
            ("Cargo.toml", b"", Some(OtherFile::Source(Language::Rust))),
        ] {
            assert_eq!(OtherFile::of(Path::new(name), bytes), expected, "{name}");
        }
    }
}
