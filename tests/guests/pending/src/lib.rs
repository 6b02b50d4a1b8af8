//! Returns `pending`, and can be polled.
//!
//! Input `{handle, bytes?, write?}`; with `bytes` the handle is that many times `h`; `write` is the path of a
//! file that the call writes. `poll` judges by the handle: `write:{path}` writes that file and is finished
//! with the output `true`, `done:{json}` is finished with that output, `fail:{message}` with that error,
//! `next:{handle}` is pending with that handle, `long:{bytes}` with a handle of so many bytes, `spin`
//! never answers, and anything else is pending still. `cancel` writes the handle to `/cancelled`.

use serde_json::Value;

wit_bindgen::generate!({ path: "../../../wit", world: "async-tool", generate_all });

use exports::goondan::tool::{handlers, polling};
use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};

struct Pending;
export!(Pending);

impl handlers::Guest for Pending {
    fn describe() -> Vec<ExportSpec> {
        vec![ExportSpec {
            name: "run".into(),
            description: None,
            parameters: None,
        }]
    }

    fn call(_: String, _: ToolContext, input: String) -> Result<Outcome, ToolError> {
        let input: Value =
            serde_json::from_str(&input).map_err(|reason| error(&reason.to_string()))?;
        let handle = match input["bytes"].as_u64() {
            Some(bytes) => "h".repeat(bytes as usize),
            None => input["handle"].as_str().unwrap_or("handle").to_owned(),
        };
        if let Some(path) = input["write"].as_str() {
            std::fs::write(path, &handle).expect("the workdir can be written");
        }
        Ok(Outcome::Pending(handle))
    }
}

impl polling::Guest for Pending {
    fn poll(_: ToolContext, handle: String) -> Result<Outcome, ToolError> {
        match handle.split_once(':') {
            Some(("write", path)) => {
                std::fs::write(path, "polled").expect("the workdir can be written");
                Ok(Outcome::Output("true".to_owned()))
            }
            Some(("done", output)) => Ok(Outcome::Output(output.to_owned())),
            Some(("fail", message)) => Err(error(message)),
            Some(("next", handle)) => Ok(Outcome::Pending(handle.to_owned())),
            Some(("long", bytes)) => Ok(Outcome::Pending("h".repeat(bytes.parse().unwrap_or(0)))),
            None if handle == "spin" => loop {
                std::hint::spin_loop();
            },
            _ => Ok(Outcome::Pending(handle)),
        }
    }

    fn cancel(_: ToolContext, handle: String) {
        std::fs::write("/cancelled", handle).expect("the workdir can be written");
    }
}

fn error(message: &str) -> ToolError {
    ToolError {
        message: message.into(),
        name: None,
        code: None,
        suggestion: None,
        help_url: None,
    }
}
