//! The head of a response as text. `wasi:http` has no version, no reason and no case of names.

use http_exchange::ResponseHeaders;

/// Returns the status line and the headers, with the empty line.
pub(super) fn text(status: u16, headers: &ResponseHeaders) -> String {
    let mut text = match reason(status) {
        "" => format!("HTTP/1.1 {status}\r\n"),
        reason => format!("HTTP/1.1 {status} {reason}\r\n"),
    };
    for (name, value) in headers.entries() {
        text.push_str(&format!("{}: {value}\r\n", shown(name)));
    }
    text.push_str("\r\n");
    text
}

/// A name as most servers and clients write it over HTTP/1.1.
pub(super) fn shown(name: &str) -> String {
    match name {
        "etag" => return "ETag".to_owned(),
        "www-authenticate" => return "WWW-Authenticate".to_owned(),
        _ => {}
    }
    let mut is_first = true;
    let letters = name.chars().map(|char| {
        let shown = if is_first {
            char.to_ascii_uppercase()
        } else {
            char
        };
        is_first = char == '-';
        shown
    });
    letters.collect()
}

/// The standard reason of a status.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        422 => "Unprocessable Content",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
