//! The text of a bundle: it loads completely or not at all, and every finding has a valid position.

use std::collections::HashSet;
use std::time::Duration;

use toolhost_contract::{ResourceName, ToolName};

use super::cost::within;
use super::findings;
use toolhost_manifest::bundle::{Bundle, Diagnostic, YamlSource};
use toolhost_schema::{ArgsSchema, PatternBudget};

/// Longest time to read a bundle of the fuzzed size.
const READING_MAX: Duration = Duration::from_secs(5);

/// Reads a bundle and checks the properties.
pub fn hold(text: &str) {
    let source = YamlSource::new("b.yaml", text);
    let read = within(READING_MAX, "reading", || Bundle::parse(&source));
    let again = Bundle::parse(&source);
    match (read, again) {
        (Ok(bundle), Ok(again)) => {
            assert_eq!(bundle.diagnostics(), again.diagnostics());
            assert!(!bundle.diagnostics().iter().any(Diagnostic::is_error));
            findings::hold(bundle.diagnostics(), &source);
            loads(&bundle, &source);
        }
        (Err(found), Err(again)) => {
            assert_eq!(found, again, "the same text, other findings");
            assert!(found.iter().any(Diagnostic::is_error));
            findings::hold(&found, &source);
        }
        (read, again) => panic!("once {read:?}, once {again:?}"),
    }
}

fn loads(bundle: &Bundle, source: &YamlSource) {
    assert!(!bundle.tools().is_empty());
    let mut tools: HashSet<&ResourceName> = HashSet::new();
    for tool in bundle.tools() {
        let name = &tool.metadata.name;
        assert!(tools.insert(name), "Tool/{name} twice");
        let entry = &tool.spec.entry;
        let leads_out = entry.split(['/', '\\']).any(|part| part == "..");
        assert!(!leads_out && !entry.starts_with(['/', '\\']), "{entry:?}");
        assert!(
            !entry.contains('\0') && !entry.trim().is_empty(),
            "{entry:?}"
        );

        let places = bundle.places(name);
        assert!(places.is_some(), "Tool/{name} has no place");
        if let Some(places) = places {
            findings::is_in(&places.name, source);
            findings::is_in(&places.entry, source);
            assert_eq!(places.exports.len(), tool.spec.exports.len());
            places
                .exports
                .iter()
                .for_each(|at| findings::is_in(at, source));
        }

        assert!(!tool.spec.exports.is_empty());
        let mut exports = HashSet::new();
        for export in &tool.spec.exports {
            assert!(exports.insert(&export.name), "{} twice", export.name);
            assert!(ToolName::new(name.clone(), export.name.clone()).is_ok());
            let parameters = export.parameters.as_ref();
            assert!(parameters.is_none_or(|schema| {
                ArgsSchema::compile(schema, &mut PatternBudget::default()).is_ok()
            }));
        }
    }
    let mut agents = HashSet::new();
    for agent in bundle.agents() {
        assert!(agents.insert(&agent.metadata.name));
        let spec = &agent.spec;
        assert!(spec.tools.iter().all(|tool| tools.contains(tool)));
        let own = |name: &ToolName| spec.tools.contains(name.resource());
        assert!(spec.required_tools.iter().all(own));
    }
}
