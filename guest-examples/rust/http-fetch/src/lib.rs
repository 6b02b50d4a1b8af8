//! The `http-fetch` tool: sends HTTP requests.
//!
//! The policy decides which origins may be reached; the host checks each request, also those
//! that follow a redirect. Refused requests and network failures have different codes.

use toolhost_guest::handlers;

mod charset;
mod content;
mod fault;
mod fetch;
mod headers;
mod input;
mod media_type;
mod page;
mod parameters;
mod payload;
mod save;

handlers! {
    "get" => fetch::get {
        description: "Gets a URL; only origins that the policy allows. Can convert HTML to Markdown, and save to a file",
        parameters: parameters::get(),
    },
    "post" => fetch::post {
        description: "Posts JSON, a form, files or text to a URL; only origins that the policy allows",
        parameters: parameters::post(),
    },
    "request" => fetch::request {
        description: "Sends a request with any method, such as PUT or DELETE; only origins that the policy allows",
        parameters: parameters::request(),
    },
}
