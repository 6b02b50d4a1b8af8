//! The tools that the conformance suite of MCP expects of a server, under its names.
//!
//! What each does is the suite's description of it. Images, audio and resources are files of the workdir
//! that outputs name; progress is what a tool logs; a task is a pending call.

mod content;
mod jobs;
mod reports;

use toolhost_guest::{ToolError, handlers};

handlers! {
    "test_simple_text" => content::simple_text,
    "test_image_content" => content::image,
    "test_audio_content" => content::audio,
    "test_embedded_resource" => content::embedded_resource,
    "test_multiple_content_types" => content::mixed,
    "json_schema_2020_12_tool" => content::echo,
    "test_header_param" => content::echo,
    "test_error_handling" => reports::fail,
    "test_tool_with_logging" => reports::log,
    "test_logging_tool" => reports::log,
    "test_tool_with_progress" => reports::log,
    "test_reconnection" => reports::log,
    "test_trigger_tool_change" => reports::nothing,
    "greet" => jobs::greet,
    "slow_compute" => jobs::slow_compute,
    "failing_job" => jobs::failing_job,
    "protocol_error_job" => jobs::panicking_job,
    ; poll: jobs::poll, cancel: jobs::cancel
}

fn written(path: &str, bytes: &[u8]) -> Result<(), ToolError> {
    std::fs::write(path, bytes).map_err(|error| ToolError::from(error).at(path))
}
