//! Content types.

/// A content type, such as `text/html; charset=utf-8`.
#[derive(Default)]
pub(crate) struct MediaType {
    /// In lower case and without parameters; empty if the response has none.
    essence: String,
    charset: Option<String>,
}

impl MediaType {
    pub(crate) fn parse(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']).trim();
            let is_charset = name.trim().eq_ignore_ascii_case("charset") && !value.is_empty();
            is_charset.then(|| value.to_owned())
        });
        Self { essence, charset }
    }

    pub(crate) fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.essence.is_empty()
    }

    pub(crate) fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    pub(crate) fn is_xml(&self) -> bool {
        matches!(self.essence.as_str(), "text/xml" | "application/xml")
            || self.essence.ends_with("+xml")
    }

    /// Whether this is `text/*`, whose default charset was once a Latin one.
    pub(crate) fn is_plain_text(&self) -> bool {
        self.essence.starts_with("text/")
    }

    /// Whether the type is one of texts.
    pub(crate) fn is_text(&self) -> bool {
        let known = [
            "application/json",
            "application/javascript",
            "application/ecmascript",
            "application/x-javascript",
            "application/x-www-form-urlencoded",
            "application/x-ndjson",
            "application/jsonl",
            "application/yaml",
            "application/x-yaml",
            "application/toml",
            "application/graphql",
            "application/sql",
            "application/x-sh",
        ];
        let has_suffix = || {
            ["+json", "+yaml"]
                .iter()
                .any(|it| self.essence.ends_with(it))
        };
        self.is_plain_text()
            || self.is_xml()
            || known.contains(&self.essence.as_str())
            || has_suffix()
    }
}

/// Returns the content type of a file by the end of its name.
pub(crate) fn of_file(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, end)| end);
    match extension.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain; charset=utf-8",
        "md" => "text/markdown; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "yaml" | "yml" => "application/yaml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        _ => "application/octet-stream",
    }
}
