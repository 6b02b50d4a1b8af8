//! Declarations in Python.

mod names;
mod syntax;
mod writer;

use indexmap::IndexMap;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::ToolTypes;
use crate::ToolCatalog;
use names::{Names, shadowed};
use syntax::{alias, camel_case};
use writer::Writer;

/// What `tools` has beside the tools: a group of the same name is reached by the names of its tools only.
const METHODS: [&str; 5] = ["call", "describe", "gather", "names", "search"];

/// Imported where the text has them.
const IMPORTS: [(&str, &[&str]); 2] = [
    ("collections.abc", &["Awaitable", "Callable"]),
    (
        "typing",
        &[
            "Any",
            "Literal",
            "Never",
            "NotRequired",
            "Protocol",
            "TypeAlias",
            "TypedDict",
            "overload",
        ],
    ),
];

impl ToolCatalog {
    /// Returns a stub of the tools in Python, for a program that calls them as functions:
    ///
    /// ```python
    /// class FileSystemReadOutput(TypedDict):
    ///     content: str
    ///
    /// class FileSystem:
    ///     # tools["file-system__read"]
    ///     async def read(
    ///         self,
    ///         *,
    ///         # Relative to the workdir.
    ///         path: str,
    ///         # minimum: 1
    ///         offset: int = 1,
    ///     ) -> FileSystemReadOutput:
    ///         """Reads a text file."""
    ///
    /// class Tools:
    ///     file_system: FileSystem
    ///
    /// tools: Tools
    /// ```
    ///
    /// The tools are in the order of the catalog, in groups by their resource. A tool whose alias another one has too is
    /// in the overloads of `__getitem__`. What Python cannot express stands in comments as JSON Schema: bounds, patterns,
    /// conditions.
    #[must_use]
    pub fn to_python(&self) -> String {
        let tools = ToolTypes::of(self);
        let mut names = Names::new(&tools);
        let mut body = String::new();
        let groups = Groups::of(&tools);
        let mut attributes = Vec::new();
        for (group, functions) in &groups.by_alias {
            let class = names.unique(&camel_case(group));
            let shadowed = shadowed(functions.iter().map(|(function, _)| function.as_str()));
            let mut methods = String::new();
            for (function, tool) in functions {
                let mut writer = Writer::new(tool, &mut names, &mut body);
                methods.push_str(&writer.function(function, &shadowed));
            }
            let _ = writeln!(body, "class {class}:\n{methods}\n");
            attributes.push((group, class));
        }
        let mut overloads = Vec::new();
        for tool in &groups.others {
            let class = names.unique(&camel_case(tool.item.name.as_str()));
            let method = Writer::new(tool, &mut names, &mut body).function("__call__", &[]);
            let _ = writeln!(body, "class {class}(Protocol):\n{method}\n");
            overloads.push((tool.item.name.as_str(), class));
        }
        body.push_str("class Tools:\n");
        for (group, class) in attributes {
            let _ = writeln!(body, "    {group}: {class}");
        }
        let is_overloaded = !overloads.is_empty();
        for (name, class) in overloads {
            let _ = writeln!(
                body,
                "    @overload\n    def __getitem__(self, name: Literal[\"{name}\"]) -> {class}: ..."
            );
        }
        if is_overloaded {
            body.push_str("    @overload\n");
        }
        let text = if groups.by_alias.contains_key("str") {
            "builtins.str"
        } else {
            "str"
        };
        let _ = writeln!(
            body,
            "    def __getitem__(self, name: {text}) -> Callable[..., Awaitable[Any]]: ...\n\n\ntools: Tools"
        );
        imports(&body) + &body
    }
}

/// Writes the imports that a module needs.
fn imports(body: &str) -> String {
    let mut out = String::new();
    if body.contains("builtins.") {
        out.push_str("import builtins\n");
    }
    for (module, names) in IMPORTS {
        let names: Vec<_> = names
            .iter()
            .copied()
            .filter(|name| body.contains(name))
            .collect();
        if !names.is_empty() {
            let _ = writeln!(out, "from {module} import {}", names.join(", "));
        }
    }
    out + "\n\n"
}

/// Tools by their aliases.
struct Groups<'t, 'c> {
    /// By the alias of the resource, the alias of each of its exports.
    by_alias: IndexMap<String, Vec<(String, &'t ToolTypes<'c>)>>,
    /// Tools without an alias of their own.
    others: Vec<&'t ToolTypes<'c>>,
}

impl<'t, 'c> Groups<'t, 'c> {
    fn of(tools: &'t [ToolTypes<'c>]) -> Self {
        let aliases = tools.iter().map(|tool| {
            let name = &tool.item.name;
            (
                alias(name.resource().as_str()),
                alias(name.export().as_str()),
            )
        });
        let aliases: Vec<_> = aliases.collect();
        let mut counts = HashMap::new();
        for alias in &aliases {
            *counts.entry(alias).or_insert(0) += 1;
        }
        let mut by_alias: IndexMap<_, Vec<_>> = IndexMap::new();
        let mut others = Vec::new();
        for (tool, alias) in tools.iter().zip(&aliases) {
            let (group, function) = alias;
            if counts.get(alias) == Some(&1) && !METHODS.contains(&group.as_str()) {
                by_alias
                    .entry(group.clone())
                    .or_default()
                    .push((function.clone(), tool));
            } else {
                others.push(tool);
            }
        }
        Self { by_alias, others }
    }
}

#[cfg(test)]
mod tests;
