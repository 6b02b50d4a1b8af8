//! Pages that are generated from the code, and stay so.

use std::fmt::Write;

use toolhost_contract::{Locale, ToolErrorCode};
use toolhost_tests::root;

/// Compares a page with what the code says; `UPDATE_DOCS=1` writes it.
fn check(page: &str, generated: &str) {
    let path = root("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == generated,
        "docs/{page} is out of date: UPDATE_DOCS=1 cargo xtask test -- docs"
    );
}

#[test]
fn the_page_of_error_codes_is_the_table_in_the_code() {
    let mut page = String::from(
        "# Error codes\n\n\
         Generated from the code table: `UPDATE_DOCS=1 cargo xtask test -- docs`.\n\n\
         A ToolResult's `error.code` is one of these, or a code of the handler's own \
         (`[A-Za-z0-9_.-]{1,64}`). A handler cannot use one of these, nor any code that begins with \
         `E_TOOL_`, `E_HOST`, `E_CONFIG_`, `E_COMPONENT_`, `E_MIDDLEWARE`, `AGENT_`, `IPC_` or \
         `CIRCULAR_`: it becomes `E_TOOL`. `E_CONFIG_…` and `E_COMPONENT_…` are findings of a bundle \
         when it loads; calls never have them.\n",
    );
    for code in ToolErrorCode::ALL {
        let (text, name) = (code.as_str(), code.error_name());
        let (english, korean) = (code.suggestion(Locale::En), code.suggestion(Locale::Ko));
        write!(page, "\n## {text}\n\n`{name}`. {english}\n\n> {korean}\n").unwrap();
    }
    check("errors.md", &page);
}
