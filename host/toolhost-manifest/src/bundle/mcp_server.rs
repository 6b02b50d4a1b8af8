//! Reads `kind: McpServer`.

use toolhost_contract::{McpServerSpec, McpTransportSpec, ResourceName};

use super::kind::Named;
use crate::command::{read_command, read_texts, read_variables};
use crate::reader::{Cursor, Fields, Findings, all};

pub(super) fn read_spec(
    fields: &mut Fields<'_, '_>,
    named: Option<&Named>,
) -> Option<McpServerSpec> {
    let name = named.map(|named| named.metadata.name.clone());
    all!(McpServerSpec {
        transport: fields.required("transport", read_transport),
        tools: fields.optional("tools", read_texts),
        prefix: fields
            .optional("prefix", |at, findings| at
                .name(ResourceName::parse, findings))
            .and_then(|prefix| prefix.or(name)),
    })
}

fn read_transport(at: &Cursor<'_>, findings: &mut Findings) -> Option<McpTransportSpec> {
    let message = "a transport is either 'stdio' or 'http'";
    let (key, at) = at.mapping(findings, |fields| {
        fields.one_of(&["stdio", "http"], message)
    })?;
    at.mapping(findings, |fields| match key {
        "stdio" => all!(McpTransportSpec::Stdio {
            command: fields.required("command", read_command),
            env: fields.or_default("env", read_variables),
        }),
        _ => all!(McpTransportSpec::Http {
            url: fields.required("url", Cursor::string),
        }),
    })
}
