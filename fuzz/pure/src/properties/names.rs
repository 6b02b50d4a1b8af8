//! Names: parsed as the specification says, and unique after joining.

use std::path::{Component, Path, PathBuf};

use toolhost_contract::{ExportName, HandlerCode, ResourceName, ToolErrorCode, ToolName};

use crate::toolhost::workspace::BundleKey;
use toolhost_contract::suggest::closest;

/// Longest name, in characters.
const NAME_MAX: usize = 64;

/// Longest name of a directory of an instance: 40 characters, `~`, 128 bits in base32.
const DIRECTORY_MAX: usize = 40 + 1 + 26;

/// Number of lines that are read; every pair is compared.
const LINES_MAX: usize = 5;

/// Reads each line as every kind of name and checks the properties.
pub fn hold(text: &str) {
    let lines: Vec<&str> = text.split('\n').take(LINES_MAX).collect();
    for line in &lines {
        parts(line);
        whole(line);
        code(line);
        let found = closest(line, &lines);
        assert!(found.is_none_or(|known| lines.contains(&known)));
    }
    for (one, other) in pairs(&lines) {
        joined(one, other);
        apart(one, other);
    }
}

fn pairs<'l>(lines: &[&'l str]) -> impl Iterator<Item = (&'l str, &'l str)> {
    let all = lines
        .iter()
        .flat_map(|one| lines.iter().map(move |other| (*one, *other)));
    all.collect::<Vec<_>>().into_iter()
}

/// A second implementation of the grammar: `[a-z0-9][a-z0-9_-]*` without `__`, at most 64 characters.
fn is_part(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    text.bytes().all(allowed)
        && !text.is_empty()
        && text.len() <= NAME_MAX
        && !text.starts_with(['_', '-'])
        && !text.contains("__")
}

fn parts(text: &str) {
    let export = ExportName::parse(text);
    assert_eq!(export.is_ok(), is_part(text), "{text:?}");
    let resource = ResourceName::parse(text);
    assert_eq!(
        resource.is_ok(),
        is_part(text) && !text.ends_with('_'),
        "{text:?}"
    );
    if let Ok(name) = export {
        assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
    }
    if let Ok(name) = resource {
        assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
        let json = serde_json::to_value(&name).ok();
        assert_eq!(json.as_ref().and_then(|json| json.as_str()), Some(text));
        assert_eq!(
            json.and_then(|json| serde_json::from_value(json).ok()),
            Some(name)
        );
    }
}

fn whole(text: &str) {
    let Ok(name) = ToolName::parse(text) else {
        let json = serde_json::Value::from(text);
        assert!(
            serde_json::from_value::<ToolName>(json).is_err(),
            "{text:?}"
        );
        return;
    };
    assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
    assert!(text.len() <= NAME_MAX, "{text}");
    let (resource, export) = (name.resource().clone(), name.export().clone());
    assert_eq!(format!("{resource}__{export}"), text);
    assert_eq!(ToolName::new(resource, export).as_ref(), Ok(&name));
    let json = serde_json::to_value(&name).ok();
    assert_eq!(
        json.and_then(|json| serde_json::from_value(json).ok()),
        Some(name)
    );
}

/// Parsing a joined name returns its parts, so no two pairs make the same name.
fn joined(resource: &str, export: &str) {
    let (Ok(resource), Ok(export)) = (ResourceName::parse(resource), ExportName::parse(export))
    else {
        return;
    };
    let length = resource.as_str().len() + 2 + export.as_str().len();
    let Ok(name) = ToolName::new(resource.clone(), export.clone()) else {
        assert!(length > NAME_MAX, "{resource} and {export}");
        return;
    };
    assert!(length <= NAME_MAX);
    let read = ToolName::parse(name.as_str());
    let parts = read.as_ref().map(|name| (name.resource(), name.export()));
    assert_eq!(parts, Ok((&resource, &export)), "{name}");
}

/// Different keys have different directories, also without regard to case, at the specified path.
fn apart(one: &str, other: &str) {
    let root = Path::new("/state");
    let bundle = |path: &str| BundleKey::new(None, PathBuf::from(path));
    let directory = |key: &str| bundle("/b.yaml").instance(root, key);
    let lower = |key: &str| directory(key).to_string_lossy().to_lowercase();
    assert_eq!(
        one == other,
        lower(one) == lower(other),
        "{one:?} and {other:?}"
    );
    let of_bundles = [one, other].map(|name| bundle(name).instance(root, "k"));
    assert_eq!(
        one == other,
        of_bundles[0] == of_bundles[1],
        "{one:?} and {other:?}"
    );

    let workspace = bundle(other).workspace(root, one);
    assert!(workspace.starts_with(bundle(other).instance(root, one)));
    let steps: Vec<Component<'_>> = workspace.components().collect();
    assert_eq!(steps.len(), 7, "{workspace:?}");
    for step in [steps[3], steps[5]] {
        let name = step.as_os_str().to_string_lossy();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-~".contains(c);
        assert!(name.chars().all(plain) && name.contains('~'), "{name}");
        assert!(name.len() <= DIRECTORY_MAX, "{name}");
    }
}

/// No text is both a valid handler code and a host code.
fn code(text: &str) {
    let Some(code) = HandlerCode::parse(text) else {
        return;
    };
    assert_eq!(ToolErrorCode::from_code(text), None);
    let text_of_code = toolhost_contract::ErrorCode::Handler(code).to_string();
    assert_eq!(text_of_code, text);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    assert!(
        text.bytes().all(plain) && (1..=NAME_MAX).contains(&text.len()),
        "{text:?}"
    );
}
