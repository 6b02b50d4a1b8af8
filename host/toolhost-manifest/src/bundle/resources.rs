//! Reads the resources of a bundle, and checks their names and references.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use toolhost_contract::{
    AgentResource, AgentSpec, McpServerResource, OAuthAppResource, ResourceMetadata, ResourceName,
    ToolErrorCode, ToolResource,
};

use super::agent::{self, Declared, References};
use super::document::{self, Kind, Named};
use super::manifests::{FILE_MAX, Manifest, ManifestError};
use super::tool::{self, ToolPlaces};
use super::{mcp_server, oauth_app, package};
use crate::diagnostic::{Diagnostic, Place};
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings};

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

/// Reads the manifest of a bundle at a path that is relative to the directory of the bundle that includes it.
pub(super) type Include<'a> = dyn FnMut(&Path) -> Result<Manifest, ManifestError> + 'a;

/// Reads a manifest, and then those that it includes.
pub(super) fn read(manifest: Manifest, include: &mut Include<'_>) -> Resources {
    let mut reading = Reading {
        findings: Findings::new(&manifest.yaml),
        manifest,
        include,
        is_included: false,
        included: VecDeque::new(),
        count: 0,
        tool_names: HashMap::new(),
        agent_names: HashMap::new(),
        mcp_server_names: HashMap::new(),
        oauth_app_names: HashMap::new(),
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
    reading.finish()
}

struct Reading<'a> {
    findings: Findings,
    /// The manifest that is being read.
    manifest: Manifest,
    include: &'a mut Include<'a>,
    /// Whether another manifest includes the one that is being read.
    is_included: bool,
    /// The manifests to be read next.
    included: VecDeque<Manifest>,
    /// Number of documents.
    count: usize,
    /// The names of all Tools, also of those with an invalid spec, with the place of the first.
    tool_names: HashMap<ResourceName, Place>,
    agent_names: HashMap<ResourceName, Place>,
    mcp_server_names: HashMap<ResourceName, Place>,
    oauth_app_names: HashMap<ResourceName, Place>,
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
        let left = DOCUMENTS_MAX - self.count;
        if documents.len() > left {
            let code = ToolErrorCode::ConfigTooMany;
            self.findings.error_of_file(code, &too_many, None);
            documents.truncate(left);
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
        let fields = at.known_fields(&["include"], &mut self.findings);
        let items = fields.and_then(|fields| fields.get("include")?.items(&mut self.findings));
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
        let read = (self.include)(Path::new(&self.manifest.resolve(path)));
        read.map_err(|error| {
            let message = format!("the included bundle '{}': {error}", short(path));
            let place = self.findings.place(item);
            let finding = Diagnostic::error(code, place, message).with_help(error.help());
            self.findings.add(finding);
        })
        .ok()
    }

    fn document(&mut self, at: &Cursor<'_>) {
        if at.node.get("include").is_some() && at.node.get("kind").is_none() {
            return self.includes(at);
        }
        let Some((kind, fields)) = document::read(at, &mut self.findings) else {
            return;
        };
        let named = document::read_metadata(&fields, &mut self.findings);
        match kind {
            Kind::Tool => self.tool(&fields, named),
            Kind::Agent => self.agent(&fields, named),
            Kind::McpServer => self.mcp_server(&fields, named),
            Kind::OAuthApp => self.oauth_app(&fields, named),
        }
    }

    fn tool(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let spec = tool::read_spec(fields, named.as_ref(), &mut self.findings);
        let Some(named) = named else {
            self.is_complete = false;
            return;
        };
        let is_first = check_unique("Tool", &named, &mut self.tool_names, &mut self.findings);
        if let Some((mut spec, places)) = spec.filter(|_| is_first) {
            let metadata = named.metadata;
            if !package::is_package(&spec.entry) {
                spec.entry = self.manifest.resolve(&spec.entry);
            }
            self.tools.push((ToolResource { metadata, spec }, places));
        }
    }

    /// Reads an Agent. Those of included bundles are checked and left out: they are for the bundle alone.
    fn agent(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let references = agent::read_spec(fields, &mut self.findings);
        let Some(named) = named.filter(|_| !self.is_included) else {
            return;
        };
        if check_unique("Agent", &named, &mut self.agent_names, &mut self.findings) {
            self.agents.push((named.metadata, references));
        }
    }

    fn mcp_server(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let spec = mcp_server::read_spec(fields, named.as_ref(), &mut self.findings);
        let Some(named) = named else {
            self.is_complete = false;
            return;
        };
        let names = &mut self.mcp_server_names;
        let is_first = check_unique("McpServer", &named, names, &mut self.findings);
        if let Some(spec) = spec.filter(|_| is_first) {
            let metadata = named.metadata;
            let server = McpServerResource { metadata, spec };
            self.mcp_servers.push((server, named.place));
        }
    }

    fn oauth_app(&mut self, fields: &Fields<'_>, named: Option<Named>) {
        let spec = oauth_app::read_spec(fields, &mut self.findings);
        let Some(named) = named else {
            self.is_complete = false;
            return;
        };
        let names = &mut self.oauth_app_names;
        let is_first = check_unique("OAuthApp", &named, names, &mut self.findings);
        if let Some(spec) = spec.filter(|_| is_first) {
            let metadata = named.metadata;
            let app = OAuthAppResource { metadata, spec };
            self.oauth_apps.push((app, named.place));
        }
    }

    /// Checks that no two resources give their tools the same first part of the name.
    fn check_prefixes(&mut self) {
        let mut first_places = self.tool_names.clone();
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
        let is_empty = self.tool_names.is_empty() && self.mcp_server_names.is_empty();
        if is_empty && self.is_complete {
            let help = Some("Add a document with kind: Tool.");
            let (code, message) = (ToolErrorCode::ConfigSchema, "the bundle declares no Tool");
            self.findings.error_of_file(code, message, help);
        }
        self.check_prefixes();
        if self.is_complete {
            let apps = &self.oauth_app_names;
            for (tool, places) in &self.tools {
                let references = (&*tool.spec.oauth_apps, &*places.oauth_apps);
                oauth_app::check_references(references, apps, &mut self.findings);
            }
        }
        let readable: Vec<&ToolResource> = self.tools.iter().map(|(tool, _)| tool).collect();
        let servers: Vec<&McpServerResource> =
            self.mcp_servers.iter().map(|(server, _)| server).collect();
        let declared = Declared {
            tools: &self.tool_names,
            mcp_servers: &self.mcp_server_names,
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
    let file = if first.file == named.place.file {
        String::new()
    } else {
        format!(" of {}", first.file)
    };
    let message = format!("duplicate {kind}/{name}: the first is in line {line}{file}");
    let code = ToolErrorCode::ConfigDuplicate;
    let duplicate = Diagnostic::error(code, named.place.clone(), message);
    findings.add(duplicate.with_related("declared here first", first.clone()));
    false
}
