//! Tools that return text, images, audio and resources.

use toolhost_guest::{Context, ToolError, Value, json};

use crate::written;

/// One red pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
\0\0\0\x0cIDATx\xdac\xf8\xcf\xc0\0\0\x03\x01\x01\0\xf7\x03AC\0\0\0\0IEND\xaeB`\x82";

/// Two samples of silence: PCM, mono, 8 kHz, 8 bits.
const WAV: &[u8] =
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\
\x02\0\0\0\x80\x80";

pub(crate) fn simple_text(_: &Context, _: Value) -> Result<&'static str, ToolError> {
    Ok("This is a simple text response for testing.")
}

pub(crate) fn image(_: &Context, _: Value) -> Result<Value, ToolError> {
    written("/red.png", PNG)?;
    Ok(json!({ "image": { "$file": "red.png" } }))
}

pub(crate) fn audio(_: &Context, _: Value) -> Result<Value, ToolError> {
    written("/silence.wav", WAV)?;
    Ok(json!({ "audio": { "$file": "silence.wav" } }))
}

pub(crate) fn embedded_resource(_: &Context, _: Value) -> Result<Value, ToolError> {
    written("/embedded.txt", b"This is an embedded resource content.")?;
    Ok(json!({ "resource": { "$file": "embedded.txt" } }))
}

pub(crate) fn mixed(_: &Context, _: Value) -> Result<Value, ToolError> {
    written("/red.png", PNG)?;
    written("/mixed.json", br#"{"test":"data","value":123}"#)?;
    Ok(json!({
        "text": "Multiple content types test:",
        "image": { "$file": "red.png" },
        "resource": { "$file": "mixed.json" },
    }))
}

pub(crate) fn echo(_: &Context, input: Value) -> Result<Value, ToolError> {
    Ok(input)
}
