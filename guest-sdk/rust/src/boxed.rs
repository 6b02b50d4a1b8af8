//! Errors in boxes, as errors of a handler.

use std::error::Error;
use std::io;

use crate::ToolError;
use crate::tools::CallError;

impl From<Box<dyn Error + Send + Sync>> for ToolError {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        let error: Box<dyn Error> = error;
        error.into()
    }
}

impl From<Box<dyn Error>> for ToolError {
    fn from(error: Box<dyn Error>) -> Self {
        let of_box = |error: Box<dyn Error>| -> Result<Self, Box<dyn Error>> {
            let error = match error.downcast::<Self>() {
                Ok(own) => return Ok(*own),
                Err(error) => error,
            };
            let error = match error.downcast::<CallError>() {
                Ok(call) => return Ok((*call).into()),
                Err(error) => error,
            };
            let error = match error.downcast::<io::Error>() {
                Ok(io) => return Ok((*io).into()),
                Err(error) => error,
            };
            Ok((*error.downcast::<serde_json::Error>()?).into())
        };
        of_box(error).unwrap_or_else(|error| Self::new(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use crate::ToolError;
    use crate::tools::CallError;

    #[test]
    fn what_is_in_a_box_keeps_its_code() {
        let denied = ToolError::new("denied").code("E_TOOL_DENIED");
        let boxed: [(Box<dyn Error + Send + Sync>, Option<&str>); 5] = [
            (Box::new(denied.clone()), Some("E_TOOL_DENIED")),
            (Box::new(CallError::from(denied)), Some("E_TOOL_DENIED")),
            (
                Box::new(std::io::Error::from(std::io::ErrorKind::NotFound)),
                Some("NOT_FOUND"),
            ),
            (
                Box::new(serde_json::from_str::<bool>("{").unwrap_err()),
                Some("INVALID_JSON"),
            ),
            ("no sheet".into(), None),
        ];
        for (error, code) in boxed {
            let message = error.to_string();
            let error = ToolError::from(error);
            assert_eq!(error.code.as_deref(), code, "{error}");
            assert!(code.is_some() || error.message == message, "{error}");
        }
    }
}
