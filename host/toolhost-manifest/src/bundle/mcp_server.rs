//! Reads `kind: McpServer`.

use toolhost_contract::{McpServerSpec, McpTransportSpec, ResourceName};

use super::document::Named;
use crate::command::{read_command, read_texts, read_variables};
use crate::reader::{Cursor, Fields, Findings};

/// Reads `spec`; `None` if anything in it or the name is invalid.
pub(super) fn read_spec(
    resource: &Fields<'_>,
    named: Option<&Named>,
    findings: &mut Findings,
) -> Option<McpServerSpec> {
    let spec = resource.required("spec", findings)?;
    let spec = spec.known_fields(&["transport", "tools", "prefix"], findings)?;
    let transport = spec.required("transport", findings);
    let transport = transport.and_then(|at| read_transport(&at, findings));
    let tools = spec.optional("tools", findings, read_texts);
    let prefix = spec.optional("prefix", findings, |at, findings| {
        at.name(ResourceName::parse, findings)
    });
    let name = named?.metadata.name.clone();
    Some(McpServerSpec {
        transport: transport?,
        tools: tools?,
        prefix: prefix?.unwrap_or(name),
    })
}

fn read_transport(at: &Cursor<'_>, findings: &mut Findings) -> Option<McpTransportSpec> {
    let fields = at.known_fields(&["stdio", "http"], findings)?;
    match (fields.get("stdio"), fields.get("http")) {
        (Some(stdio), None) => {
            let fields = stdio.known_fields(&["command", "env"], findings)?;
            let command = fields.required("command", findings);
            let command = command.and_then(|at| read_command(&at, findings));
            let env = fields.optional("env", findings, read_variables)?;
            Some(McpTransportSpec::Stdio {
                command: command?,
                env: env.unwrap_or_default(),
            })
        }
        (None, Some(http)) => {
            let fields = http.known_fields(&["url"], findings)?;
            let url = fields.required("url", findings)?.text(findings)?;
            Some(McpTransportSpec::Http {
                url: url.to_owned(),
            })
        }
        _ => at.refused("a transport is either 'stdio' or 'http'", findings),
    }
}
