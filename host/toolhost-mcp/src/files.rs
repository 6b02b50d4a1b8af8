//! Files of the workdir that results name, and that clients read as resources.
//!
//! A file is opened beneath the directory handle of the workdir, so that no link and no `..` leads out of
//! it, and only if it is a regular file.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use data_encoding::BASE64;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{ContentBlock, Resource, ResourceContents};
use serde_json::Value;
use toolhost::Workdir;
use toolhost_files::{Links, ReadError, read_beneath};

use crate::config::McpConfig;
use crate::shared::ServedState;

/// Deepest value of an output in which files are looked for.
const DEPTH_MAX: usize = 32;

/// The key that names a file: `{"$file": "chart.png", "mimeType": "image/png"}`.
const FILE_KEY: &str = "$file";

/// What begins the URIs of a workdir's files.
pub(crate) const URI_PREFIX: &str = "workdir:///";

/// What a path in a URI contains as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// The workdir of an instance, whose files are read within limits.
pub(crate) struct Files(Workdir);

/// What reads the files that a result names.
struct BlockReader {
    files: Files,
    config: McpConfig,
    /// Bytes that the result may still carry.
    remaining: u64,
}

/// A file that an output names.
#[derive(Debug, PartialEq, Eq)]
struct NamedFile {
    path: String,
    mime_type: Option<String>,
}

/// What is read of a file.
pub(crate) enum FileContent {
    /// All of it.
    Whole(Vec<u8>),
    /// It is larger than the limit: its size in bytes.
    TooLarge(u64),
}

/// Returns a block for each file that an output names, in order: an image, audio, a text or a blob; a link
/// for a file beyond the limits; a text for a file that cannot be read.
pub(crate) async fn blocks(
    shared: &ServedState,
    workdir: &Workdir,
    output: &Value,
) -> Vec<ContentBlock> {
    let mut named = Vec::new();
    collect(output, DEPTH_MAX, shared.config.max_files, &mut named);
    if named.is_empty() {
        return Vec::new();
    }
    let mut reader = BlockReader {
        files: Files::of(workdir),
        remaining: shared.config.result_file_bytes,
        config: shared.config.clone(),
    };
    let read = move || named.iter().map(|file| reader.block(file)).collect();
    shared.read_files(read).await.unwrap_or_default()
}

impl BlockReader {
    fn block(&mut self, file: &NamedFile) -> ContentBlock {
        let path = relative(&file.path);
        let mime_type = file.mime_type.as_deref().or_else(|| mime_of(path));
        match self
            .files
            .read(path, self.config.file_bytes.min(self.remaining))
        {
            Ok(FileContent::Whole(bytes)) => {
                self.remaining = self.remaining.saturating_sub(bytes.len() as u64);
                content(path, mime_type, bytes)
            }
            Ok(FileContent::TooLarge(bytes)) if self.config.serve_workdir => {
                ContentBlock::resource_link(resource(path, mime_type, bytes))
            }
            // The client could not read what a link names.
            Ok(FileContent::TooLarge(bytes)) => ContentBlock::text(format!(
                "The file {path:?} ({bytes} bytes) is in the workdir. It is too large for the result."
            )),
            Err(error) => ContentBlock::text(format!("The file {path:?} cannot be read: {error}")),
        }
    }
}

fn content(path: &str, mime_type: Option<&str>, bytes: Vec<u8>) -> ContentBlock {
    match mime_type {
        Some(image) if image.starts_with("image/") => {
            ContentBlock::image(BASE64.encode(&bytes), image)
        }
        Some(audio) if audio.starts_with("audio/") => {
            ContentBlock::audio(BASE64.encode(&bytes), audio)
        }
        mime_type => ContentBlock::resource(contents(path, mime_type, bytes)),
    }
}

impl Files {
    pub(crate) fn of(workdir: &Workdir) -> Self {
        Self(workdir.clone())
    }

    /// Reads a file of at most `max` bytes, if it is a regular file beneath the workdir.
    pub(crate) fn read(&self, path: &str, max: u64) -> io::Result<FileContent> {
        match read_beneath(&self.directory()?, Path::new(path), Links::Follow, max) {
            Ok(bytes) => Ok(FileContent::Whole(bytes)),
            Err(ReadError::TooLarge { bytes, .. }) => Ok(FileContent::TooLarge(bytes)),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn directory(&self) -> io::Result<Dir> {
        let handle = std::os::fd::AsFd::as_fd(&self.0).try_clone_to_owned()?;
        Ok(Dir::from_std_file(handle.into()))
    }
}

/// Returns the path of a tool's file beneath the workdir: tools see the workdir as `/`.
fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Returns the URI of a file.
pub(crate) fn uri(path: &str) -> String {
    format!("{URI_PREFIX}{}", utf8_percent_encode(path, PLAIN))
}

/// Returns the path of the file that a URI names.
pub(crate) fn path_of(uri: &str) -> Option<String> {
    let path = percent_decode_str(uri.strip_prefix(URI_PREFIX)?);
    path.decode_utf8().ok().map(String::from)
}

/// Describes a file. Without a type if neither its name nor an output gives one.
pub(crate) fn resource(path: &str, mime_type: Option<&str>, bytes: u64) -> Resource {
    let resource = Resource::new(uri(path), path).with_size(bytes);
    match mime_type {
        Some(mime_type) => resource.with_mime_type(mime_type),
        None => resource,
    }
}

/// Returns the contents of a resource: text if it is text. Without a type, it is text if it is UTF-8 without
/// NUL, as most files whose names have no known end.
pub(crate) fn contents(path: &str, mime_type: Option<&str>, bytes: Vec<u8>) -> ResourceContents {
    let is_named_text = mime_type.is_some_and(is_text);
    match String::from_utf8(bytes) {
        Ok(text) if is_named_text || (mime_type.is_none() && !text.contains('\0')) => {
            let mime_type = mime_type.unwrap_or("text/plain");
            ResourceContents::text(text, uri(path)).with_mime_type(mime_type)
        }
        Ok(text) => blob(path, mime_type, text.as_bytes()),
        Err(error) => blob(path, mime_type, error.as_bytes()),
    }
}

fn blob(path: &str, mime_type: Option<&str>, bytes: &[u8]) -> ResourceContents {
    let mime_type = mime_type.unwrap_or("application/octet-stream");
    ResourceContents::blob(BASE64.encode(bytes), uri(path)).with_mime_type(mime_type)
}

fn is_text(mime_type: &str) -> bool {
    mime_type.starts_with("text/")
        || mime_type == "application/json"
        || mime_type == "image/svg+xml"
}

/// Returns the MIME type of a file by the end of its name, if it is known.
pub(crate) fn mime_of(path: &str) -> Option<&'static str> {
    let (_, end) = path.rsplit_once('.')?;
    Some(match end.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "txt" | "log" | "rs" | "py" | "ts" | "js" | "yaml" | "yml" | "toml" | "xml" | "sh" => {
            "text/plain"
        }
        _ => return None,
    })
}

/// Collects the files that a value names, at most `max`.
fn collect(value: &Value, depth: usize, max: usize, named: &mut Vec<NamedFile>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match value {
        Value::Object(fields) => {
            if let Some(path) = fields.get(FILE_KEY).and_then(Value::as_str) {
                if named.len() < max {
                    let mime_type = fields.get("mimeType").and_then(Value::as_str);
                    named.push(NamedFile {
                        path: path.to_owned(),
                        mime_type: mime_type.map(str::to_owned),
                    });
                }
                return;
            }
            for value in fields.values() {
                collect(value, depth, max, named);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, depth, max, named);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(output: &Value, max: usize) -> Vec<String> {
        let mut files = Vec::new();
        collect(output, DEPTH_MAX, max, &mut files);
        files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn files_are_found_in_any_value_up_to_the_limit_of_number_and_depth() {
        let output = json!({
            "a": {"$file": "a.png", "mimeType": "image/png"},
            "list": [{"$file": "b.png"}, {"$file": 7}, {"$file": "c.png"}],
        });
        assert_eq!(named(&output, 16), ["a.png", "b.png", "c.png"]);
        assert_eq!(named(&output, 2), ["a.png", "b.png"]);
        let mut deep = json!({"$file": "deep"});
        for _ in 0..DEPTH_MAX {
            deep = json!([deep]);
        }
        assert_eq!(named(&deep, 16), [""; 0]);
    }

    #[test]
    fn a_uri_names_a_path_whatever_characters_it_has() {
        for path in ["a.png", "a b/ü#?.txt", "50%25.csv", "[x].md"] {
            let uri = uri(path);
            assert!(
                uri.is_ascii() && !uri.contains([' ', '#', '?', '[']),
                "{uri}"
            );
            assert_eq!(path_of(&uri).as_deref(), Some(path));
        }
        assert_eq!(path_of("file:///etc/passwd"), None);
        assert_eq!(path_of("workdir:///%ff"), None);
    }

    #[test]
    fn a_mime_type_follows_from_the_end_of_the_name() {
        assert_eq!(mime_of("charts/A.PNG"), Some("image/png"));
        assert_eq!(mime_of("notes"), None);
        assert_eq!(mime_of("a.unknown"), None);
    }

    #[test]
    fn a_file_of_unknown_type_is_text_if_it_reads_as_text() {
        let of = |mime_type, bytes: &[u8]| {
            let contents = contents("f", mime_type, bytes.to_vec());
            let contents = serde_json::to_value(contents).unwrap();
            (contents["mimeType"].clone(), contents["text"].is_string())
        };
        assert_eq!(of(None, b"all: build"), (json!("text/plain"), true));
        let binary = (json!("application/octet-stream"), false);
        assert_eq!(of(None, b"\0\0"), binary);
        assert_eq!(of(None, b"\xff"), binary);
        assert!(!of(Some("application/pdf"), b"%PDF").1);
        assert!(!of(Some("text/csv"), b"\xff").1);
    }
}
