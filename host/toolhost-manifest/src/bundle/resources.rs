//! Reads the resources of a bundle, and checks their names and references.

use std::collections::HashMap;

use toolhost_contract::{
    AgentResource, AgentSpec, ResourceMetadata, ResourceName, ToolErrorCode, ToolResource,
};

use super::agent::{self, References};
use super::document::{self, Kind, Named};
use super::tool::{self, ToolPlaces};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::{Node, YamlSource};

/// Maximum size of a file, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Maximum number of documents, without empty ones.
const DOCUMENTS_MAX: usize = 100;

/// The resources without errors, and all findings.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) tools: Vec<(ToolResource, ToolPlaces)>,
    pub(super) agents: Vec<AgentResource>,
    pub(super) findings: Vec<Diagnostic>,
}

/// Reads a file.
pub(super) fn read(source: &YamlSource) -> Resources {
    let mut reading = Reading {
        findings: Findings::new(source),
        tool_names: HashMap::new(),
        agent_names: HashMap::new(),
        tools: Vec::new(),
        agents: Vec::new(),
        is_complete: true,
    };
    let too_many = format!("the file holds more than {DOCUMENTS_MAX} documents");
    let documents = reading
        .findings
        .documents(FILE_MAX, DOCUMENTS_MAX, &too_many, None);
    if let Ok(documents) = documents {
        reading.documents(&documents);
    }
    reading.finish()
}

struct Reading {
    findings: Findings,
    /// The names of all Tools, also of those with an invalid spec, with the place of the first.
    tool_names: HashMap<ResourceName, Place>,
    agent_names: HashMap<ResourceName, Place>,
    tools: Vec<(ToolResource, ToolPlaces)>,
    agents: Vec<(ResourceMetadata, References)>,
    /// Whether the names of all Tools are known.
    is_complete: bool,
}

impl Reading {
    fn documents(&mut self, documents: &[Option<Node>]) {
        for (index, document) in documents.iter().enumerate() {
            match document {
                Some(node) => self.document(&Cursor::new(node, format!("documents[{index}]"))),
                None => self.is_complete = false,
            }
        }
        if self.tool_names.is_empty() && self.is_complete {
            let help = Some("Add a document with kind: Tool.");
            let (code, message) = (ToolErrorCode::ConfigSchema, "the bundle declares no Tool");
            self.findings.error_of_file(code, message, help);
        }
    }

    fn document(&mut self, at: &Cursor<'_>) {
        let Some((kind, fields)) = document::read(at, &mut self.findings) else {
            return;
        };
        let named = document::read_metadata(&fields, &mut self.findings);
        match kind {
            Kind::Tool => self.tool(&fields, named),
            Kind::Agent => self.agent(&fields, named),
        }
    }

    fn tool(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let spec = tool::read_spec(fields, named.as_ref(), &mut self.findings);
        let Some(named) = named else {
            self.is_complete = false;
            return;
        };
        let is_first = check_unique("Tool", &named, &mut self.tool_names, &mut self.findings);
        if let Some((spec, places)) = spec.filter(|_| is_first) {
            let metadata = named.metadata;
            self.tools.push((ToolResource { metadata, spec }, places));
        }
    }

    fn agent(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let references = agent::read_spec(fields, &mut self.findings);
        let Some(named) = named else {
            return;
        };
        if check_unique("Agent", &named, &mut self.agent_names, &mut self.findings) {
            self.agents.push((named.metadata, references));
        }
    }

    /// Resolves references, when all names are known.
    fn finish(mut self) -> Resources {
        let readable: Vec<&ToolResource> = self.tools.iter().map(|(tool, _)| tool).collect();
        let (names, findings) = (&self.tool_names, &mut self.findings);
        let agents = self.agents.into_iter().map(|(metadata, references)| {
            let spec = match self.is_complete {
                true => agent::resolve(references, names, &readable, findings),
                false => AgentSpec::default(),
            };
            AgentResource { metadata, spec }
        });
        Resources {
            agents: agents.collect(),
            tools: self.tools,
            findings: self.findings.into_list(),
        }
    }
}

/// Adds the name of a resource, or records that another one has it. Returns whether it is unique.
fn check_unique(
    kind: &str,
    named: &Named,
    names: &mut HashMap<ResourceName, Place>,
    findings: &mut Findings,
) -> bool {
    let name = &named.metadata.name;
    let Some(first) = names.get(name) else {
        names.insert(name.clone(), named.place.clone());
        return true;
    };
    let line = first.position.map_or(0, |at| at.line);
    let message = format!("duplicate {kind}/{name}: the first is in line {line}");
    let code = ToolErrorCode::ConfigDuplicate;
    let duplicate = Diagnostic::error(code, named.place.clone(), message);
    findings.add(duplicate.with_related("declared here first", first.clone()));
    false
}
