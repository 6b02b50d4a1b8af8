//! Kinds of texts.

use toolhost_guest::Value;

use super::Kind;

/// How many lines are read to tell that a text is CSV.
const CSV_LINES: usize = 10;

/// The longest line that is not named.
const LONG_LINE: usize = 300;

pub(super) fn kind(content: &[u8]) -> Option<Kind> {
    let (encoding, charset) = encoding_of(content)?;
    let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    if charset.starts_with("utf-16") {
        return Some(Kind::new(format!("{encoding} text"), "text/plain", charset));
    }
    if charset == "us-ascii" || charset == "utf-8" {
        let text = std::str::from_utf8(text).ok()?;
        if let Some((description, mime)) = json(text) {
            return Some(Kind::new(description, mime, charset));
        }
        if let Some(name) = pem(text) {
            return Some(Kind::new(name, "text/plain", charset));
        }
        if is_svg(text) {
            return Some(Kind::new(
                "SVG Scalable Vector Graphics image",
                "image/svg+xml",
                charset,
            ));
        }
    }
    if is_csv(text) {
        return Some(Kind::new("CSV text", "text/csv", charset));
    }
    let details = details(content);
    let start = String::from_utf8_lossy(text.get(..text.len().min(4096)).unwrap_or(text));
    let (language, mime) = language(&start);
    let executable = if language.ends_with("script") {
        " executable"
    } else {
        ""
    };
    let language = if language.is_empty() {
        String::new()
    } else {
        format!("{language}, ")
    };
    Some(Kind::new(
        format!("{language}{encoding} text{executable}{details}"),
        mime,
        charset,
    ))
}

/// The name of the encoding and that of the charset; `None` for bytes that are no text.
fn encoding_of(content: &[u8]) -> Option<(&'static str, &'static str)> {
    if content.starts_with(b"\xff\xfe") {
        return Some(("Unicode text, UTF-16, little-endian", "utf-16le"));
    }
    if content.starts_with(b"\xfe\xff") {
        return Some(("Unicode text, UTF-16, big-endian", "utf-16be"));
    }
    let is_text = |byte: &u8| matches!(byte, 7..=13 | 27 | 32..=126 | 128..=255);
    if !content.iter().all(is_text) {
        return None;
    }
    if content.is_ascii() {
        return Some(("ASCII", "us-ascii"));
    }
    if content.starts_with(b"\xef\xbb\xbf") && std::str::from_utf8(content).is_ok() {
        return Some(("Unicode text, UTF-8 (with BOM)", "utf-8"));
    }
    if std::str::from_utf8(content).is_ok() {
        return Some(("Unicode text, UTF-8", "utf-8"));
    }
    if content
        .iter()
        .all(|byte| *byte < 128 || *byte >= 160 || *byte == 133)
    {
        return Some(("ISO-8859", "iso-8859-1"));
    }
    Some(("Non-ISO extended-ASCII", "unknown-8bit"))
}

/// Long lines, ends of lines and control characters.
fn details(content: &[u8]) -> String {
    let mut text = String::new();
    let longest = content
        .split(|byte| *byte == b'\n' || *byte == b'\r')
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    if longest > LONG_LINE {
        text.push_str(&format!(", with very long lines ({longest})"));
    }
    let crlf = content.windows(2).filter(|pair| pair == b"\r\n").count();
    let lf = content.iter().filter(|byte| **byte == b'\n').count() - crlf;
    let cr = content.iter().filter(|byte| **byte == b'\r').count() - crlf;
    let ends: Vec<_> = [("CRLF", crlf), ("CR", cr), ("LF", lf)]
        .into_iter()
        .filter_map(|(name, count)| (count > 0).then_some(name))
        .collect();
    match ends.as_slice() {
        [] => text.push_str(", with no line terminators"),
        ["LF"] => {}
        ends => text.push_str(&format!(", with {} line terminators", ends.join(", "))),
    }
    if content.contains(&27) {
        text.push_str(", with escape sequences");
    }
    if content.contains(&8) {
        text.push_str(", with overstriking");
    }
    text
}

fn json(text: &str) -> Option<(&'static str, &'static str)> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    if trimmed.parse::<Value>().is_ok() {
        return Some(("JSON text data", "application/json"));
    }
    let mut lines = trimmed.lines();
    let is_json = |line: &str| line.starts_with(['{', '[']) && line.parse::<Value>().is_ok();
    let all = lines.all(is_json);
    all.then_some(("New Line Delimited JSON text data", "application/x-ndjson"))
}

fn pem(text: &str) -> Option<&'static str> {
    let name = text.strip_prefix("-----BEGIN ")?;
    [
        "CERTIFICATE REQUEST",
        "CERTIFICATE",
        "RSA PRIVATE KEY",
        "DSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
    ]
    .into_iter()
    .zip([
        "PEM certificate request",
        "PEM certificate",
        "PEM RSA private key",
        "PEM DSA private key",
        "PEM EC private key",
        "OpenSSH private key",
    ])
    .find_map(|(start, description)| name.starts_with(start).then_some(description))
}

fn is_svg(text: &str) -> bool {
    let start = text.get(..text.len().min(1024)).unwrap_or(text);
    start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg"))
}

/// What a text is written in, and its MIME type.
fn language(text: &str) -> (String, &'static str) {
    if let Some(line) = text.strip_prefix("#!") {
        return script(line.lines().next().unwrap_or_default().trim());
    }
    let lower = text
        .get(..text.len().min(1024))
        .unwrap_or(text)
        .trim_start()
        .to_ascii_lowercase();
    if lower.starts_with("<!doctype html")
        || lower.starts_with("<html")
        || lower.starts_with("<head")
        || lower.starts_with("<body")
    {
        return ("HTML document".to_owned(), "text/html");
    }
    if let Some(rest) = text.strip_prefix("<?xml version=") {
        let version = rest.get(1..4).unwrap_or("1.0");
        return (format!("XML {version} document"), "text/xml");
    }
    if ["diff --git ", "--- ", "Index: "]
        .iter()
        .any(|start| text.starts_with(start))
        && (text.starts_with('d') || text.contains("\n+++ "))
    {
        return ("diff output".to_owned(), "text/x-diff");
    }
    let lines = || text.lines().take(200);
    if lines().any(|line| line.starts_with("#include")) {
        return ("C source".to_owned(), "text/x-c");
    }
    let is_python = |line: &str| {
        (line.trim_start().starts_with("def ") && line.trim_end().ends_with("):"))
            || (line.starts_with("from ") && line.contains(" import "))
    };
    if lines().any(is_python) {
        return ("Python script".to_owned(), "text/x-script.python");
    }
    (String::new(), "text/plain")
}

fn script(line: &str) -> (String, &'static str) {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = if name == "env" {
        words
            .find(|word| !word.starts_with('-'))
            .unwrap_or_default()
    } else {
        name
    };
    let (text, mime) = match name {
        "sh" | "dash" => ("POSIX shell script", "text/x-shellscript"),
        "bash" => ("Bourne-Again shell script", "text/x-shellscript"),
        "zsh" => ("Paul Falstad's zsh script", "text/x-shellscript"),
        "ksh" => ("Korn shell script", "text/x-shellscript"),
        "python" | "python2" | "python3" => ("Python script", "text/x-script.python"),
        "perl" => ("Perl script text", "text/x-perl"),
        "node" => ("Node.js script", "application/javascript"),
        "ruby" => ("Ruby script", "text/x-ruby"),
        "php" => ("PHP script", "text/x-php"),
        "awk" | "gawk" => ("awk script", "text/x-awk"),
        _ => return (format!("a {line} script"), "text/plain"),
    };
    (text.to_owned(), mime)
}

/// At least three lines with the same number of commas, not counting those between quotes.
fn is_csv(text: &[u8]) -> bool {
    let (mut lines, mut commas, mut first, mut is_quoted) = (0, 0, 0, false);
    for byte in text {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b',' => commas += 1,
            b'\n' => {
                lines += 1;
                if first == 0 {
                    first = commas;
                }
                if commas == 0 || commas != first {
                    return false;
                }
                if lines == CSV_LINES {
                    return true;
                }
                commas = 0;
            }
            _ => {}
        }
    }
    lines > 2
}
