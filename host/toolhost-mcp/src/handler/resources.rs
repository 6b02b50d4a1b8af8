//! The files of the workdir as resources, if the operator turned it on.

use std::io;

use cap_std::fs::Dir;
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceTemplate,
};
use serde_json::json;
use toolhost::Instance;

use crate::config::McpConfig;
use crate::files::{FileContent, FileReader, URI_PREFIX, contents, mime_of, resource};

/// Files that are listed. Further ones can be read but are not listed.
const LISTED_MAX: usize = 1000;

/// Entries of directories that are looked at for one list.
const ENTRIES_MAX: usize = 20_000;

/// Answers `resources/list`: the files of the workdir, in the order of their paths.
pub(super) async fn list(
    config: &McpConfig,
    instance: &Instance,
    _: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    allowed(config)?;
    let reader = FileReader::new(instance.workdir(), config);
    let listed = blocking(move || {
        let mut found = Vec::new();
        walk(&reader.directory()?, &mut found);
        found.sort();
        Ok(found)
    });
    let listed = listed.await?.into_iter();
    let resources = listed.map(|(path, bytes)| resource(&path, mime_of(&path), bytes));
    Ok(ListResourcesResult::with_all_items(resources.collect()))
}

/// Answers `resources/templates/list`: any file may be read by its path, also one that is not listed.
pub(super) fn templates(config: &McpConfig) -> Result<ListResourceTemplatesResult, ErrorData> {
    allowed(config)?;
    let template = ResourceTemplate::new(format!("{URI_PREFIX}{{+path}}"), "workdir")
        .with_description("A file of the workdir");
    Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
}

/// Answers `resources/read`.
pub(super) async fn read(
    config: &McpConfig,
    instance: &Instance,
    uri: &str,
) -> Result<ReadResourceResponse, ErrorData> {
    allowed(config)?;
    let Some(path) = uri.strip_prefix(URI_PREFIX) else {
        return Err(not_found(uri));
    };
    let (reader, opened) = (FileReader::new(instance.workdir(), config), path.to_owned());
    let content = blocking(move || reader.read(&opened)).await;
    match content.map_err(|_| not_found(uri))? {
        FileContent::Whole(bytes) => {
            let contents = contents(path, mime_of(path), bytes);
            Ok(ReadResourceResult::new(vec![contents]).into())
        }
        FileContent::TooLarge(bytes) => {
            let limit = config.file_bytes;
            let message = format!("{uri} has {bytes} bytes, more than the limit of {limit}");
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

fn allowed(config: &McpConfig) -> Result<(), ErrorData> {
    if config.serve_workdir {
        return Ok(());
    }
    Err(ErrorData::invalid_request(
        "this server does not serve the files of workdirs",
        None,
    ))
}

fn not_found(uri: &str) -> ErrorData {
    let data = json!({ "uri": uri });
    ErrorData::resource_not_found(format!("there is no file {uri}"), Some(data))
}

async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ErrorData> {
    let unreadable = |error: &dyn std::fmt::Display| {
        ErrorData::internal_error(format!("the workdir cannot be read: {error}"), None)
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(unreadable(&error)),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Finds the path and the size of regular files beneath a directory. Links are not followed, and what
/// cannot be read is left out.
fn walk(root: &Dir, found: &mut Vec<(String, u64)>) {
    let mut folders = vec![String::new()];
    let mut visited = 0;
    while let Some(folder) = folders.pop() {
        let opened = match folder.as_str() {
            "" => root.entries(),
            folder => root.read_dir(folder),
        };
        let Ok(entries) = opened else { continue };
        for entry in entries.flatten() {
            visited += 1;
            if visited > ENTRIES_MAX {
                return;
            }
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && found.len() < LISTED_MAX => {
                    let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                    found.push((path, bytes));
                }
                _ => {}
            }
        }
    }
}
