//! Mistakes of an author at run time, a handler for each.

use std::fs;
use std::hint::black_box;

use toolhost_guest::{Context, ToolError, Value, handlers, json};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

handlers! {
    "throw" => throw { description: "Reads beyond the end of a list" },
    "loop" => spin { description: "Never ends" },
    "memory" => memory { description: "Keeps all that it allocates" },
    "escape" => escape { description: "Reads a file above the workdir" },
    "request" => request { description: "Sends a request that no policy grants" },
}

fn throw(_ctx: &Context, _input: Value) -> Result<Value, ToolError> {
    let numbers: Vec<u32> = Vec::new();
    Ok(json!(numbers[3]))
}

fn spin(_ctx: &Context, _input: Value) -> Result<Value, ToolError> {
    loop {
        black_box(0);
    }
}

fn memory(_ctx: &Context, _input: Value) -> Result<Value, ToolError> {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![1_u8; 1 << 20]);
        black_box(&kept);
    }
}

fn escape(_ctx: &Context, _input: Value) -> Result<Value, ToolError> {
    Ok(json!(fs::read_to_string("../secret.txt")?))
}

fn request(_ctx: &Context, _input: Value) -> Result<Value, ToolError> {
    let request = OutgoingRequest::new(Fields::new());
    let _ = request.set_scheme(Some(&Scheme::Http));
    let _ = request.set_path_with_query(Some("/"));
    let _ = request.set_authority(Some("example.org"));
    match outgoing_handler::handle(request, None) {
        Ok(_) => Ok(json!("sent")),
        Err(error) => Err(ToolError::new(format!("the request failed: {error}"))),
    }
}
