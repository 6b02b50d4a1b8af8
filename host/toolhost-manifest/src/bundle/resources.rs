//! Reads the resources of a bundle, and checks their names and references.

use std::collections::{HashMap, VecDeque};

use toolhost_contract::{
    AgentResource, AgentSpec, McpServerResource, OAuthAppResource, ResourceMetadata, ResourceName,
    ToolErrorCode, ToolResource,
};

use super::agent::{self, Declared, References};
use super::document::{self, Spec};
use super::kind::{Named, ResourceKind};
use super::manifests::{FILE_MAX, Manifest, NamedFiles};
use super::tool::{self, ToolPlaces};
use super::{oauth_app, package};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Findings};
use toolhost_contract::text::short;

/// Maximum number of documents of all manifests together, without empty ones.
const DOCUMENTS_MAX: usize = 100;

/// The resources without errors, and all findings.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) tools: Vec<(ToolResource, ToolPlaces)>,
    pub(super) agents: Vec<AgentResource>,
    /// Each with the place of its name.
    pub(super) mcp_servers: Vec<(McpServerResource, Place)>,
    /// Each with the place of its name.
    pub(super) oauth_apps: Vec<(OAuthAppResource, Place)>,
    pub(super) findings: Vec<Diagnostic>,
}

type Names = HashMap<ResourceName, Place>;

/// Reads a manifest, and then those that it includes.
pub(super) fn read(manifest: Manifest, files: &mut dyn NamedFiles) -> Resources {
    let mut reading = Reading {
        findings: Findings::new(&manifest.yaml),
        manifest,
        files,
        is_included: false,
        included: VecDeque::new(),
        count: 0,
        names: HashMap::new(),
        tools: Vec::new(),
        agents: Vec::new(),
        mcp_servers: Vec::new(),
        oauth_apps: Vec::new(),
        is_complete: true,
    };
    reading.documents();
    while let Some(manifest) = reading.included.pop_front() {
        reading.findings.next_file(&manifest.yaml);
        reading.manifest = manifest;
        reading.is_included = true;
        reading.documents();
    }
    reading.described();
    reading.finish()
}

struct Reading<'a> {
    findings: Findings,
    /// The manifest that is being read.
    manifest: Manifest,
    files: &'a mut dyn NamedFiles,
    /// Whether another manifest includes the one that is being read.
    is_included: bool,
    /// The manifests to be read next.
    included: VecDeque<Manifest>,
    /// Number of documents.
    count: usize,
    /// The names of all resources, also of those with an invalid spec, with the place of the first.
    names: HashMap<ResourceKind, Names>,
    tools: Vec<(ToolResource, ToolPlaces)>,
    agents: Vec<(ResourceMetadata, References)>,
    mcp_servers: Vec<(McpServerResource, Place)>,
    oauth_apps: Vec<(OAuthAppResource, Place)>,
    /// Whether the names of all Tools, McpServers and OAuthApps are known.
    is_complete: bool,
}

impl Reading<'_> {
    /// Reads the documents of the current manifest.
    fn documents(&mut self) {
        let too_many = format!("the bundle holds more than {DOCUMENTS_MAX} documents");
        let findings = &mut self.findings;
        let documents = findings.documents(FILE_MAX, DOCUMENTS_MAX, &too_many, None);
        let Ok(mut documents) = documents else {
            self.is_complete = false;
            return;
        };
        let remaining = DOCUMENTS_MAX - self.count;
        if documents.len() > remaining {
            let code = ToolErrorCode::ConfigTooMany;
            self.findings.error_of_file(code, &too_many, None);
            documents.truncate(remaining);
            self.is_complete = false;
        }
        self.count += documents.len();
        for (index, document) in documents.iter().enumerate() {
            match document {
                Some(node) => self.document(&Cursor::new(node, format!("documents[{index}]"))),
                None => self.is_complete = false,
            }
        }
    }

    /// Reads the paths of other bundles.
    fn includes(&mut self, at: &Cursor<'_>) {
        let items = at.mapping(&mut self.findings, |fields| {
            fields.read("include", Cursor::items)
        });
        let Some(items) = items else {
            self.is_complete = false;
            return;
        };
        for item in items {
            match self.included(&item) {
                Some(manifest) => self.included.push_back(manifest),
                None => self.is_complete = false,
            }
        }
    }

    /// Reads the manifest that an item of `include` names, or records why it cannot be read.
    fn included(&mut self, item: &Cursor<'_>) -> Option<Manifest> {
        let path = item.text(&mut self.findings)?;
        let code = ToolErrorCode::ConfigInclude;
        if let Some(problem) = tool::path_problem(path) {
            let message = format!("the included bundle '{}' {problem}", short(path));
            self.findings.error(code, item, message);
            return None;
        }
        let place = self.findings.place(item);
        match self.files.include(&self.manifest, path) {
            Ok(manifest) => {
                if manifest.hides_folder {
                    let message =
                        format!("'{path}' is the bundle that toolhost ships, not the folder");
                    let help = format!("Write ./{path} for the folder.");
                    let finding = Diagnostic::warning(code, place, message).with_help(help);
                    self.findings.add(finding);
                }
                Some(manifest)
            }
            Err(error) => {
                let message = format!("the included bundle '{}': {error}", short(path));
                let finding = Diagnostic::error(code, place, message).with_help(error.help());
                self.findings.add(finding);
                None
            }
        }
    }

    fn document(&mut self, at: &Cursor<'_>) {
        if at.node.get("include").is_some() && at.node.get("kind").is_none() {
            return self.includes(at);
        }
        let Some((kind, named, spec)) = at.mapping(&mut self.findings, document::read) else {
            return;
        };
        // Agents of included bundles are for those bundles alone.
        let is_foreign = kind == ResourceKind::Agent && self.is_included;
        let Some(named) = named.filter(|_| !is_foreign) else {
            self.is_complete &= kind == ResourceKind::Agent;
            return;
        };
        let names = self.names.entry(kind).or_default();
        if !check_unique(kind, &named, names, &mut self.findings) {
            return;
        }
        let Named { metadata, place } = named;
        match spec {
            Spec::Tool(Some((mut spec, places))) => {
                if !package::is_package(&spec.entry) {
                    spec.entry = self.manifest.resolve(&spec.entry);
                }
                self.tools.push((ToolResource { metadata, spec }, places));
            }
            Spec::Agent(references) => self.agents.push((metadata, references)),
            Spec::McpServer(Some(spec)) => {
                let server = McpServerResource { metadata, spec };
                self.mcp_servers.push((server, place));
            }
            Spec::OAuthApp(Some(spec)) => {
                let app = OAuthAppResource { metadata, spec };
                self.oauth_apps.push((app, place));
            }
            Spec::Tool(None) | Spec::McpServer(None) | Spec::OAuthApp(None) => {}
        }
    }

    /// Reads the exports of the Tools whose components describe themselves. Those of a component that is not built
    /// yet stay unknown.
    fn described(&mut self) {
        let mut components = HashMap::new();
        for (tool, places) in &mut self.tools {
            let entry = &tool.spec.entry;
            let first = components.entry(entry.clone());
            let first = first.or_insert_with(|| tool.metadata.name.clone());
            if !places.describes_itself {
                continue;
            }
            let Some(source) = self.files.described(first, entry) else {
                continue;
            };
            self.findings.next_file(&source);
            let name = Named {
                metadata: tool.metadata.clone(),
                place: places.name.clone(),
            };
            match tool::read_described(&name, &mut self.findings) {
                Some((exports, export_places)) => {
                    tool.spec.exports = exports;
                    places.exports = export_places;
                }
                None => self.is_complete = false,
            }
        }
    }

    /// Checks that no two resources give their tools the same first part of the name.
    fn check_prefixes(&mut self, tools: &Names) {
        let mut first_places = tools.clone();
        for (server, place) in &self.mcp_servers {
            let prefix = &server.spec.prefix;
            let Some(first) = first_places.get(prefix) else {
                first_places.insert(prefix.clone(), place.clone());
                continue;
            };
            let name = &server.metadata.name;
            let message =
                format!("the tools of McpServer/{name} begin with '{prefix}__', as others do");
            let code = ToolErrorCode::ConfigDuplicate;
            let duplicate = Diagnostic::error(code, place.clone(), message)
                .with_help("Write another name in spec.prefix.")
                .with_related("used here first", first.clone());
            self.findings.add(duplicate);
        }
    }

    /// Resolves references, when all names are known.
    fn finish(mut self) -> Resources {
        let [tools, mcp_servers, apps] = [
            ResourceKind::Tool,
            ResourceKind::McpServer,
            ResourceKind::OAuthApp,
        ]
        .map(|kind| self.names.remove(&kind).unwrap_or_default());
        if tools.is_empty() && mcp_servers.is_empty() && self.is_complete {
            let help = Some("Add a document with kind: Tool.");
            let (code, message) = (ToolErrorCode::ConfigSchema, "the bundle declares no Tool");
            self.findings.error_of_file(code, message, help);
        }
        self.check_prefixes(&tools);
        if self.is_complete {
            for (tool, places) in &self.tools {
                let references = (&*tool.spec.oauth_apps, &*places.oauth_apps);
                oauth_app::check_references(references, &apps, &mut self.findings);
            }
        }
        let readable: Vec<&ToolResource> = self.tools.iter().map(|(tool, _)| tool).collect();
        let servers: Vec<&McpServerResource> =
            self.mcp_servers.iter().map(|(server, _)| server).collect();
        let declared = Declared {
            tools: &tools,
            mcp_servers: &mcp_servers,
            readable_tools: &readable,
            readable_servers: &servers,
        };
        let findings = &mut self.findings;
        let agents = self.agents.into_iter().map(|(metadata, references)| {
            let spec = if self.is_complete {
                agent::resolve(references, &declared, findings)
            } else {
                AgentSpec::default()
            };
            AgentResource { metadata, spec }
        });
        Resources {
            agents: agents.collect(),
            tools: self.tools,
            mcp_servers: self.mcp_servers,
            oauth_apps: self.oauth_apps,
            findings: self.findings.into_list(),
        }
    }
}

/// Adds the name of a resource, or records that another one has it. Returns whether it is unique.
fn check_unique(
    kind: ResourceKind,
    named: &Named,
    names: &mut Names,
    findings: &mut Findings,
) -> bool {
    let name = &named.metadata.name;
    let Some(first) = names.get(name) else {
        names.insert(name.clone(), named.place.clone());
        return true;
    };
    let line = first.position.map_or(0, |at| at.line);
    let file = if first.file == named.place.file {
        String::new()
    } else {
        format!(" of {}", first.file)
    };
    let kind = kind.as_str();
    let message = format!("duplicate {kind}/{name}: the first is in line {line}{file}");
    let code = ToolErrorCode::ConfigDuplicate;
    let duplicate = Diagnostic::error(code, named.place.clone(), message);
    findings.add(duplicate.with_related("declared here first", first.clone()));
    false
}
