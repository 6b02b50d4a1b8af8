//! The page, as HTML. All texts are escaped by the templates; the page allows no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::contents::{Access, Contents, Limit, Source, Tool};
use super::example::Origin;
use crate::terminal::text::counted;

/// What marks a page of this command.
pub(super) const GENERATOR: &str = "name=\"generator\" content=\"toolhost docs";

const GENERATOR_CONTENT: &str = concat!("toolhost docs ", env!("CARGO_PKG_VERSION"));

/// Nothing is loaded and nothing runs, whatever the words of a tool are.
const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("style.css");

pub(super) fn render(contents: &Contents) -> String {
    let title = format!("Tools of {}", contents.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content=(GENERATOR_CONTENT);
                meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p { (counted(contents.tool_count(), "tool")) }
                }
                nav aria-label="Tools" { (index(&contents.sources)) }
                main {
                    @for source in &contents.sources { (section(source)) }
                    (default_limits(&contents.default_limits))
                }
                footer { p { "Written by " code { (GENERATOR_CONTENT) } "." } }
            }
        }
    };
    let mut page = page.into_string();
    page.push('\n');
    page
}

fn index(sources: &[Source]) -> Markup {
    html! {
        ul {
            @for tool in sources.iter().flat_map(|source| &source.tools) {
                li {
                    a href=(format!("#{}", tool.name)) { code { (tool.name) } }
                    " " (tool.description.lines().next().unwrap_or_default())
                }
            }
        }
    }
}

fn section(source: &Source) -> Markup {
    html! {
        section {
            h2 { (source.name) " " small { (source.kind) } }
            @if !source.facts.is_empty() {
                dl {
                    @for (name, values) in &source.facts {
                        dt { (name) }
                        @for value in values { dd { code { (value) } } }
                        @if values.is_empty() { dd { "none" } }
                    }
                }
            }
            @for tool in &source.tools { (article(tool)) }
        }
    }
}

fn article(tool: &Tool) -> Markup {
    html! {
        article id=(tool.name) {
            h3 { a href=(format!("#{}", tool.name)) { code { (tool.name) } } }
            @if tool.description.is_empty() {
                p { em { "It has no description." } }
            } @else {
                p .words { (tool.description) }
            }
            h4 { "Arguments" }
            (parameters(tool))
            @if let Some((command, origin)) = &tool.example {
                h4 { "Example" }
                pre tabindex="0" { code { (command) } }
                @if *origin == Origin::Schema {
                    p { "The arguments are generated from the schema." }
                }
            }
            h4 { "Access" }
            @for access in &tool.access { (reach(access)) }
            @if !tool.limits.is_empty() {
                h4 { "Limits that the policy sets" }
                (limits(&tool.limits))
            }
            (schema("Schema of the arguments", tool.schema.as_deref()))
            (schema("Schema of the output", tool.output_schema.as_deref()))
        }
    }
}

fn parameters(tool: &Tool) -> Markup {
    html! {
        @if tool.parameters.is_empty() {
            p { @if tool.schema.is_some() { "The schema names none." } @else { "Any." } }
        } @else {
            div .wide tabindex="0" {
                table {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Description" } } }
                    tbody {
                        @for parameter in &tool.parameters {
                            tr {
                                th scope="row" {
                                    code { (parameter.name) }
                                    @if parameter.is_required { " " small { "required" } }
                                }
                                td {
                                    (parameter.kind)
                                    @if !parameter.rules.is_empty() { " " small { (parameter.rules.join(", ")) } }
                                }
                                td .words { (parameter.description) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn reach(access: &Access) -> Markup {
    html! {
        @if !access.agents.is_empty() { p { "Of " (access.agents.join(", ")) ":" } }
        ul { @for sentence in &access.sentences { li { (sentence) } } }
    }
}

fn limits(limits: &[Limit]) -> Markup {
    html! {
        div .wide tabindex="0" {
            table {
                thead { tr { th scope="col" { "Limit" } th scope="col" { "Value" } th scope="col" { "What it counts" } } }
                tbody {
                    @for limit in limits {
                        tr {
                            th scope="row" {
                                code { (limit.name) }
                                @if !limit.agents.is_empty() { " " small { "of " (limit.agents.join(", ")) } }
                            }
                            td { (limit.value) }
                            td { (limit.what) }
                        }
                    }
                }
            }
        }
    }
}

fn schema(title: &str, json: Option<&str>) -> Markup {
    html! {
        @if let Some(json) = json {
            details {
                summary { (title) }
                pre tabindex="0" { code { (json) } }
            }
        }
    }
}

fn default_limits(of_all: &[Limit]) -> Markup {
    html! {
        section {
            h2 { "Limits of each call" }
            p { "These hold where a tool's own limits are not listed." }
            details {
                summary { (counted(of_all.len(), "limit")) }
                (limits(of_all))
            }
        }
    }
}
