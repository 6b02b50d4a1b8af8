//! Compares the handlers of a component with the exports of the manifest.

use toolhost::manifest::ToolResource;
use toolhost_contract::suggest::did_you_mean;
use toolhost_manifest::Place;
use toolhost_manifest::bundle::{OpenBundle, SourceEntry};

use crate::toolchains::{BuildError, ErrorCause, Fault};

/// Maximum number of handlers in an error.
const SHOWN_MAX: usize = 20;

/// Compares the names of the handlers with the exports of all Tools of an entry. Returns notes on handlers that
/// no Tool exports.
///
/// # Errors
/// Exports without a handler.
pub(super) fn compare(
    open: &OpenBundle,
    source: &SourceEntry<'_>,
    handlers: &[String],
) -> Result<Vec<Fault>, BuildError> {
    let entry = &source.tool.spec.entry;
    let tools = open.bundle().tools().iter();
    let tools: Vec<_> = tools.filter(|tool| tool.spec.entry == *entry).collect();
    let names: Vec<&str> = handlers.iter().map(String::as_str).collect();
    let mut faults = Vec::new();
    for tool in &tools {
        let name = &tool.metadata.name;
        // Its exports are those of the last build.
        if describes_itself(open, tool) {
            continue;
        }
        let places = open.bundle().places(name);
        for (index, export) in tool.spec.exports.iter().enumerate() {
            let export = export.name.as_str();
            if names.contains(&export) {
                continue;
            }
            let place = places.and_then(|places| places.exports.get(index));
            let list = listed(&names);
            let fault = Fault::new(format!(
                "export '{export}' of tool {name} has no handler: {entry} has {list}"
            ));
            let next = did_you_mean(export, &names).unwrap_or_else(|| {
                format!("Add a handler '{export}' to {entry}, or remove the export.")
            });
            faults.push(at(fault, place).next(next));
        }
    }
    if !faults.is_empty() {
        let cause = ErrorCause::Source;
        return Err(BuildError { cause, faults });
    }
    if tools.iter().any(|tool| describes_itself(open, tool)) {
        return Ok(Vec::new());
    }
    let exports = tools.iter().flat_map(|tool| &tool.spec.exports);
    let mut others = names;
    others.retain(|handler| !exports.clone().any(|it| it.name.as_str() == *handler));
    let Some(first) = others.first() else {
        return Ok(Vec::new());
    };
    let note = Fault::new(format!(
        "{entry} also has handlers that are not exported: {}",
        listed(&others)
    ));
    let next = format!("Add `- name: {first}` to spec.exports to show it to the model.");
    let place = open.entry_place(source.tool);
    Ok(vec![at(note, Some(&place)).next(next)])
}

/// Returns whether the manifest leaves the exports of a Tool to its component.
pub(super) fn describes_itself(open: &OpenBundle, tool: &ToolResource) -> bool {
    let places = open.bundle().places(&tool.metadata.name);
    places.is_some_and(|places| places.describes_itself)
}

fn listed(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().copied().take(SHOWN_MAX).collect();
    let more = if names.len() > SHOWN_MAX { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// Puts an error at a place of the manifest.
pub(super) fn at(fault: Fault, place: Option<&Place>) -> Fault {
    let position = place.and_then(|place| place.position);
    Fault {
        file: place.map(|place| place.file.clone()),
        line: position.map(|position| position.line.into()),
        column: position.map(|position| position.column.into()),
        ..fault
    }
}

#[cfg(test)]
mod tests {
    use toolhost::manifest::Bundle;

    use super::*;

    #[test]
    fn the_exports_of_all_tools_of_an_entry_are_compared() {
        let dir = tempfile::tempdir().unwrap();
        let tool = |name: &str, exports: &str| {
            format!(
                "---\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: {name}}}\n\
                 spec: {{entry: ./t.py, exports: {exports}}}\n"
            )
        };
        let yaml = tool("a", "[{name: read}]") + &tool("b", "[{name: write}, {name: cuont}]");
        std::fs::write(dir.path().join("goondan.yaml"), yaml).unwrap();
        let open = Bundle::open(dir.path()).unwrap();
        let source = open.source_entries().next().unwrap();
        let compared = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            let line = |fault: &Fault| {
                let next = fault.next.as_deref().unwrap_or_default();
                format!(
                    "{}: {} ({next})",
                    fault.line.unwrap_or_default(),
                    fault.message
                )
            };
            match compare(&open, &source, &names) {
                Ok(notes) => notes.iter().map(line).collect::<Vec<_>>(),
                Err(error) => error.faults.iter().map(line).collect(),
            }
        };
        assert_eq!(compared(&["read", "write", "cuont"]), [""; 0]);
        assert_eq!(
            compared(&["read", "write", "count"]),
            [
                "10: export 'cuont' of tool b has no handler: ./t.py has read, write, count (Did you mean 'count'?)"
            ]
        );
        assert_eq!(
            compared(&["x"]),
            [
                "5: export 'read' of tool a has no handler: ./t.py has x (Add a handler 'read' to ./t.py, or remove the export.)",
                "10: export 'write' of tool b has no handler: ./t.py has x (Add a handler 'write' to ./t.py, or remove the export.)",
                "10: export 'cuont' of tool b has no handler: ./t.py has x (Add a handler 'cuont' to ./t.py, or remove the export.)",
            ]
        );
        assert_eq!(
            compared(&["read", "write", "cuont", "sum", "max"]),
            [
                "5: ./t.py also has handlers that are not exported: sum, max (Add `- name: sum` to spec.exports to show it to the model.)"
            ]
        );
    }
}
