//! Which file of a crate takes names from which, computed from the paths in its source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// A module by its path from the root of the crate.
type ModulePath = Vec<String>;

/// Each file, with the files that it takes names from.
pub(crate) type Imports = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// What one module declares.
#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    /// Names that a `use` brings in, with the path behind each, and whether it is a re-export.
    names: BTreeMap<String, (Vec<String>, bool)>,
    globs: Vec<Vec<String>>,
    /// Paths that the code of the module names.
    paths: Vec<Vec<String>>,
}

/// The modules of a crate, without those that are compiled for tests alone.
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    /// Reads a crate from its `lib.rs` or `main.rs`.
    pub(crate) fn read(root: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let dir = root.parent().unwrap();
        read_file(root, dir, Vec::new(), &mut modules);
        Self { modules }
    }

    /// Returns the imports between files. A re-export that its own file does not use is none: the file
    /// that takes the name imports it from where it is defined.
    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (path, module) in &self.modules {
            let from = imports.entry(module.file.clone()).or_default();
            let used: BTreeSet<&str> = module
                .paths
                .iter()
                .filter_map(|path| path.first().map(String::as_str))
                .collect();
            let names = module
                .names
                .iter()
                .filter(|(name, (_, is_reexport))| !is_reexport || used.contains(name.as_str()));
            let targets = names.map(|(_, (target, _))| target).chain(&module.paths);
            from.extend(
                targets
                    .filter_map(|target| self.definition(path, target, 0))
                    .filter(|file| *file != module.file),
            );
        }
        imports
    }

    /// Returns the file that defines what a path in a module names; `None` for a path out of the crate
    /// and for one that names a module alone.
    fn definition(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<PathBuf> {
        let (first, rest) = path.split_first()?;
        // Re-exports that name each other.
        if depth > 16 {
            return None;
        }
        match first.as_str() {
            "crate" => return self.within(&Vec::new(), rest, depth),
            "self" => return self.within(module, rest, depth),
            "super" => {
                let parent = module.split_last()?.1.to_vec();
                return if rest.first().is_some_and(|next| next == "super") {
                    self.definition(&parent, rest, depth)
                } else {
                    self.within(&parent, rest, depth)
                };
            }
            _ => {}
        }
        let here = self.modules.get(module)?;
        if here.children.contains(first) {
            return self.within(module, path, depth);
        }
        let (target, _) = here.names.get(first)?;
        // `use serde;` and the like name what is outside.
        if target.first() == Some(first) && target.len() == 1 {
            return None;
        }
        let target = [target.as_slice(), rest].concat();
        self.definition(module, &target, depth + 1)
    }

    /// As [`definition`](Self::definition), for a path whose first name is looked up in `module` alone.
    fn within(&self, module: &ModulePath, path: &[String], depth: usize) -> Option<PathBuf> {
        let (first, rest) = path.split_first()?;
        let here = self.modules.get(module)?;
        if here.children.contains(first) {
            return self.within(
                &[module.as_slice(), std::slice::from_ref(first)].concat(),
                rest,
                depth,
            );
        }
        if here.names.contains_key(first) {
            return self.definition(module, path, depth + 1);
        }
        let globbed = here.globs.iter().find_map(|glob| {
            let target = [glob.as_slice(), path].concat();
            let file = self.definition(module, &target, depth + 1)?;
            // A glob that does not hold the name ends at the file of its module.
            self.defines(&file, first).then_some(file)
        });
        globbed.or_else(|| Some(here.file.clone()))
    }

    /// Returns whether a file names `name` after one of the words that define an item.
    fn defines(&self, file: &Path, name: &str) -> bool {
        let text = fs::read_to_string(file).unwrap();
        [
            "struct", "enum", "fn", "trait", "type", "const", "static", "mod", "macro",
        ]
        .iter()
        .any(|word| text.contains(&format!("{word} {name}")))
    }
}

fn read_file(
    file: &Path,
    dir: &Path,
    path: ModulePath,
    modules: &mut BTreeMap<ModulePath, Module>,
) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed =
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    read_items(&parsed.items, file, dir, path, modules);
}

fn read_items(
    items: &[Item],
    file: &Path,
    dir: &Path,
    path: ModulePath,
    modules: &mut BTreeMap<ModulePath, Module>,
) {
    let mut module = Module {
        file: file.to_path_buf(),
        ..Module::default()
    };
    for item in items {
        match item {
            Item::Mod(inner) if !is_for_tests(&inner.attrs) => {
                let name = inner.ident.to_string();
                module.children.insert(name.clone());
                let below = [path.as_slice(), std::slice::from_ref(&name)].concat();
                match &inner.content {
                    Some((_, items)) => read_items(items, file, &dir.join(&name), below, modules),
                    None => {
                        let (file, dir) = file_of(&name, &inner.attrs, file, dir);
                        read_file(&file, &dir, below, modules);
                    }
                }
            }
            Item::Use(declared) if !is_for_tests(&declared.attrs) => {
                let is_reexport = !matches!(declared.vis, Visibility::Inherited);
                read_use(&declared.tree, &mut Vec::new(), is_reexport, &mut module);
            }
            Item::Mod(_) | Item::Use(_) => {}
            other if is_test_item(other) => {}
            other => read_paths(other.to_token_stream(), &[], &mut module.paths),
        }
    }
    modules.insert(path, module);
}

/// Returns the file of `mod name;`, and the folder of its own modules.
fn file_of(name: &str, attrs: &[Attribute], file: &Path, dir: &Path) -> (PathBuf, PathBuf) {
    let named = attrs.iter().find_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            let text = pair.value.to_token_stream().to_string();
            Some(text.trim_matches('"').to_owned())
        }
        _ => None,
    });
    match named {
        Some(named) => {
            let at = file.parent().unwrap().join(named);
            let below = at.parent().unwrap().to_path_buf();
            (at, below)
        }
        None => (dir.join(format!("{name}.rs")), dir.join(name)),
    }
}

fn read_use(tree: &UseTree, before: &mut Vec<String>, is_reexport: bool, module: &mut Module) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            read_use(&path.tree, before, is_reexport, module);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                read_use(tree, before, is_reexport, module);
            }
        }
        UseTree::Glob(_) => {
            // What a glob brings in is not listed: the file takes names of the module itself.
            module.globs.push(before.clone());
            if !is_reexport {
                module
                    .paths
                    .push([before.as_slice(), &["*".to_owned()]].concat());
            }
        }
        UseTree::Name(_) | UseTree::Rename(_) => {
            let (name, alias) = match tree {
                UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
                UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
                _ => return,
            };
            let mut target = before.clone();
            let alias = if name == "self" {
                target.last().cloned().unwrap_or(alias)
            } else {
                target.push(name);
                alias
            };
            // `_` may stand for several traits.
            let key = if alias == "_" {
                target.join("::")
            } else {
                alias
            };
            module.names.insert(key, (target, is_reexport));
        }
    }
}

/// Collects each path `a::b::c` in a text, also in the bodies of macros.
fn read_paths(tokens: TokenStream, before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path: Vec<String> = Vec::new();
    let mut colons = 0;
    let finish = |path: &mut Vec<String>, paths: &mut Vec<Vec<String>>| {
        if !path.is_empty() {
            paths.push([before, path.as_slice()].concat());
            path.clear();
        }
    };
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    finish(&mut path, paths);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                // `use a::{b, c}` in a function.
                let is_use = colons == 2 && group.delimiter() == Delimiter::Brace;
                let prefix = if is_use { path.clone() } else { Vec::new() };
                finish(&mut path, paths);
                read_paths(group.stream(), &prefix, paths);
                colons = 0;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                finish(&mut path, paths);
                colons = 0;
            }
        }
    }
    finish(&mut path, paths);
}

fn is_test_item(item: &Item) -> bool {
    match item {
        Item::Fn(item) => is_for_tests(&item.attrs),
        Item::Impl(item) => is_for_tests(&item.attrs),
        Item::Struct(item) => is_for_tests(&item.attrs),
        Item::Const(item) => is_for_tests(&item.attrs),
        _ => false,
    }
}

fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("cfg") && attr.meta.to_token_stream().to_string().contains("test")
    })
}
