//! The sources of a package, parsed: its functions with `#[tool]`, and its types.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the enums of syn have a variant for all of Rust, and grow with it"
)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::thread;

use proc_macro2::{Span, TokenStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, ItemFn, Meta, Token};

use crate::toolchains::build_error::Fault;

/// The attribute of the SDK.
const ATTRIBUTE: &str = "tool";

/// The folder of the SDK in a package, as its `Cargo.toml` names it.
pub(super) const SDK: &str = ".toolhost/sdk/rust";

/// Bytes of a source; larger ones are tables that a program wrote.
const SOURCE_BYTES: u64 = 4 << 20;

/// Bytes of the stack on which sources are parsed.
const STACK_BYTES: usize = 256 << 20;

/// The folder of the SDK and of components.
const OWN_FOLDER: &str = ".toolhost";

/// A source file.
pub(super) struct SourceFile {
    /// Its path, from the folder of the package if it is in there.
    pub(super) name: String,
    pub(super) tokens: TokenStream,
    items: Vec<Item>,
}

/// The sources of a package, and of packages that it names by path, without the SDK.
pub(super) struct Sources(pub(super) Vec<SourceFile>);

/// An item, and its file.
pub(super) type Placed<'s, I> = (&'s SourceFile, &'s I);

impl Sources {
    /// Reads source files for `look`, on a thread of its own: syn recurses as deep as they nest, and what it notes of places
    /// is kept until the thread ends. Leaves out what cannot be parsed. None if the thread does not start.
    pub(super) fn with<R: Send>(
        package: &Path,
        paths: &[PathBuf],
        look: impl FnOnce(&Self) -> R + Send,
    ) -> Option<R> {
        let read = || look(&Self::read(package, paths));
        thread::scope(|scope| {
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn_scoped(scope, read).ok()?.join().ok()
        })
    }

    fn read(package: &Path, paths: &[PathBuf]) -> Self {
        let files = paths.iter().filter_map(|path| {
            let name = path.strip_prefix(package).unwrap_or(path);
            let is_own = name.components().all(|part| part.as_os_str() != OWN_FOLDER);
            let is_source = name.extension().is_some_and(|it| it == "rs") && is_own;
            let is_small = fs::metadata(path).is_ok_and(|it| it.len() <= SOURCE_BYTES);
            let text = (is_source && is_small).then(|| fs::read_to_string(path).ok());
            let text = text.flatten()?;
            SourceFile::parse(name.display().to_string(), &text)
        });
        Self(files.collect())
    }

    /// Returns the functions with `#[tool]`.
    pub(super) fn tools(&self) -> Vec<Placed<'_, ItemFn>> {
        let functions = self
            .items()
            .into_iter()
            .filter_map(|(file, item)| match item {
                Item::Fn(function)
                    if function.attrs.iter().any(is_tool)
                        && !function.attrs.iter().any(is_condition) =>
                {
                    Some((file, function))
                }
                _ => None,
            });
        functions.collect()
    }

    /// Returns the types by their names. A name that several have is left out.
    pub(super) fn types(&self) -> HashMap<String, Placed<'_, Item>> {
        let mut types: HashMap<String, Option<Placed<'_, Item>>> = HashMap::new();
        for (file, item) in self.items() {
            let name = match item {
                Item::Struct(it) => &it.ident,
                Item::Enum(it) => &it.ident,
                Item::Type(it) => &it.ident,
                _ => continue,
            };
            let entry = types.entry(name.to_string());
            entry
                .and_modify(|it| *it = None)
                .or_insert(Some((file, item)));
        }
        let only = types.into_iter();
        only.filter_map(|(name, item)| Some((name, item?)))
            .collect()
    }

    /// Returns the items of all modules, without those that are compiled on a condition, such as tests.
    fn items(&self) -> Vec<Placed<'_, Item>> {
        let mut items = Vec::new();
        for file in &self.0 {
            add_items(file, &file.items, &mut items);
        }
        items
    }
}

fn add_items<'s>(file: &'s SourceFile, from: &'s [Item], items: &mut Vec<Placed<'s, Item>>) {
    for item in from {
        match item {
            Item::Mod(module) if !module.attrs.iter().any(is_condition) => {
                let inner = module.content.as_ref().map(|(_, items)| items.as_slice());
                add_items(file, inner.unwrap_or_default(), items);
            }
            _ => items.push((file, item)),
        }
    }
}

impl SourceFile {
    pub(super) fn parse(name: String, text: &str) -> Option<Self> {
        let tokens = TokenStream::from_str(text).ok()?;
        let items = syn::parse2::<syn::File>(tokens.clone()).ok()?.items;
        Some(Self {
            name,
            tokens,
            items,
        })
    }

    /// Puts an error at a place of the file.
    pub(super) fn fault(&self, span: Span, message: impl Into<String>) -> Fault {
        let start = span.start();
        Fault {
            file: Some(self.name.clone()),
            line: u64::try_from(start.line).ok(),
            column: u64::try_from(start.column + 1).ok(),
            ..Fault::new(message)
        }
    }
}

/// Whether an attribute is `tool`, `toolhost_guest::tool`, or one of them with options.
fn is_tool(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|last| last.ident == ATTRIBUTE)
}

/// Whether an attribute says when an item is compiled, which is not known here.
fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

/// Returns the items of the attributes with a name, such as `default` and `rename = "a"` of `#[serde(default, rename = "a")]`.
pub(super) fn metas(attributes: &[Attribute], name: &str) -> Vec<Meta> {
    let named = attributes.iter().filter(|it| it.path().is_ident(name));
    let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
    let lists = named.filter_map(|attribute| attribute.parse_args_with(parse).ok());
    lists.flatten().collect()
}
