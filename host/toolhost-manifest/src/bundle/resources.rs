//! Reads the resources of a bundle, one document after the other, and what holds between them.

use std::collections::{HashMap, HashSet};

use toolhost_contract::{
    AgentResource, AgentSpec, ResourceMetadata, ResourceName, ToolErrorCode, ToolResource,
};

use super::agent::{self, References};
use super::document::{self, Kind, Named};
use super::tool::{self, ToolPlaces};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::{self, YamlError, YamlSource};

/// Largest file, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Most documents that are not empty.
const DOCUMENTS_MAX: usize = 100;

/// Resources as far as they can be read, and what is wrong with the rest.
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
        names: HashMap::new(),
        tools: Vec::new(),
        agents: Vec::new(),
        declared: HashSet::new(),
        is_complete: true,
        holds_a_tool: false,
    };
    if source.text().len() > FILE_MAX {
        let message = format!("the file is larger than {FILE_MAX} bytes");
        reading.error_of_file(ToolErrorCode::ConfigTooLarge, message, None);
    } else {
        reading.documents(source);
    }
    reading.finish()
}

struct Reading {
    findings: Findings,
    /// Names taken, by kind.
    names: HashMap<(Kind, ResourceName), Place>,
    tools: Vec<(ToolResource, ToolPlaces)>,
    agents: Vec<(ResourceMetadata, References)>,
    /// Tools that are there, also those with an error in their spec.
    declared: HashSet<ResourceName>,
    /// Whether the name of every Tool that is there is known.
    is_complete: bool,
    holds_a_tool: bool,
}

impl Reading {
    fn documents(&mut self, source: &YamlSource) {
        let documents = yaml::documents(source, DOCUMENTS_MAX + 1);
        if documents.len() > DOCUMENTS_MAX {
            let message = format!("the file holds more than {DOCUMENTS_MAX} documents");
            self.error_of_file(ToolErrorCode::ConfigTooMany, message, None);
        }
        for (index, document) in documents.iter().enumerate().take(DOCUMENTS_MAX) {
            let path = format!("documents[{index}]");
            match document {
                Ok(node) => self.document(&Cursor::new(node, path)),
                Err(error) => self.no_yaml(error, &path),
            }
        }
        if !self.holds_a_tool && self.is_complete {
            let message = "the bundle declares no Tool".to_owned();
            let help = "Add a document with kind: Tool.";
            self.error_of_file(ToolErrorCode::ConfigSchema, message, Some(help));
        }
    }

    fn document(&mut self, at: &Cursor<'_>) {
        let Some(document) = document::read(at, &mut self.findings) else {
            return;
        };
        let named = document::read_metadata(&document.fields, &mut self.findings);
        match document.kind {
            Kind::Tool => self.tool(&document.fields, named),
            Kind::Agent => self.agent(&document.fields, named),
        }
    }

    fn tool(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        self.holds_a_tool = true;
        let name = named.as_ref().map(|named| &named.metadata.name);
        let spec = tool::read_spec(fields, name, &mut self.findings);
        let Some(named) = named else {
            self.is_complete = false;
            return;
        };
        self.declared.insert(named.metadata.name.clone());
        if !self.takes_name(Kind::Tool, &named) {
            return;
        }
        if let Some(read) = spec {
            let places = ToolPlaces {
                name: named.place,
                entry: read.entry,
                exports: read.exports,
            };
            let (metadata, spec) = (named.metadata, read.spec);
            self.tools.push((ToolResource { metadata, spec }, places));
        }
    }

    fn agent(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let references = agent::read_spec(fields, &mut self.findings);
        let Some(named) = named else {
            return;
        };
        if self.takes_name(Kind::Agent, &named) {
            self.agents.push((named.metadata, references));
        }
    }

    /// Whether a name is still free; else records where it was taken.
    fn takes_name(&mut self, kind: Kind, named: &Named) -> bool {
        let name = &named.metadata.name;
        let key = (kind, name.clone());
        let Some(first) = self.names.get(&key) else {
            self.names.insert(key, named.place.clone());
            return true;
        };
        let line = first.position.map_or(0, |at| at.line);
        let message = format!("duplicate {kind}/{name}: the first is in line {line}");
        let code = ToolErrorCode::ConfigDuplicate;
        let twice = Diagnostic::error(code, named.place.clone(), message);
        let twice = twice.with_related("declared here first", first.clone());
        self.findings.add(twice);
        false
    }

    fn no_yaml(&mut self, error: &YamlError, path: &str) {
        self.is_complete = false;
        let source = self.findings.source();
        let place = match error.at {
            Some(mark) => source.place(mark, path),
            None => Place::file(source.name()),
        };
        let message = error.message.as_str();
        self.findings.add(Diagnostic::error(
            ToolErrorCode::ConfigParse,
            place,
            message,
        ));
    }

    fn error_of_file(&mut self, code: ToolErrorCode, message: String, help: Option<&str>) {
        let place = Place::file(self.findings.source().name());
        let error = Diagnostic::error(code, place, message);
        self.findings.add(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }

    /// Resolves references, once all names are known.
    fn finish(mut self) -> Resources {
        let mut agents = Vec::new();
        let readable: Vec<&ToolResource> = self.tools.iter().map(|(tool, _)| tool).collect();
        for (metadata, references) in self.agents {
            let spec = if self.is_complete {
                agent::resolve(references, &self.declared, &readable, &mut self.findings)
            } else {
                AgentSpec::default()
            };
            agents.push(AgentResource { metadata, spec });
        }
        Resources {
            tools: self.tools,
            agents,
            findings: self.findings.into_list(),
        }
    }
}
