//! `toolhost inspect`: describes a component, and whether it would load.

use std::fmt::Write;
use std::path::Path;

use anyhow::anyhow;
use serde_json::{Value, json};
use toolhost::tool::JsonLimits;
use toolhost::{
    ToolErrorCode,
    sandbox::{HandlerSpec, Inspection, PrepareError, prepare_error_code, prepare_error_help},
};

use crate::args::InspectArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::host_context;
use crate::settings::Settings;
use crate::terminal::progress::{Progress, size};
use crate::terminal::{stdout, text};

pub(crate) async fn inspect(args: &InspectArgs, settings: &Settings) -> Result<Exit, Failure> {
    let sandbox = host_context::sandbox(settings)?;
    let most = sandbox.compile_limits().bytes;
    let bytes = files::read_async("the component", &args.file, most)
        .await
        .hint("Name a .wasm file, such as cargo builds for wasm32-wasip2.")?;
    let inspection = {
        let progress = Progress::start(settings.verbosity);
        let name = args.file.file_name().unwrap_or_default().to_string_lossy();
        let _phase = progress.compiling(&name, bytes.len() as u64);
        toolhost::sandbox::inspect(&sandbox, bytes).await
    };
    let (inspection, refusal) = match &inspection {
        Ok(inspection) => (Some(inspection), Refusal::of(inspection)),
        Err(error) => (None, Some(Refusal::from(error))),
    };
    let refusal = refusal.as_ref();
    if args.wit
        && let Some(inspection) = inspection
    {
        stdout::write(&world(inspection))?;
        return Ok(Exit::Done);
    }
    if args.manifest {
        return manifest(&args.file, inspection, refusal);
    }
    if args.json {
        stdout::json(&as_json(&args.file, inspection, refusal))?
    } else {
        stdout::write(&as_text(&args.file, inspection, refusal))?
    }
    Ok(match refusal {
        None => Exit::Done,
        Some(_) => Exit::Refused,
    })
}

/// Why a bundle with the component would not load.
struct Refusal {
    code: ToolErrorCode,
    message: String,
    help: String,
}

impl Refusal {
    fn of(inspection: &Inspection) -> Option<Self> {
        if let Err(error) = &inspection.handlers {
            return Some(error.into());
        }
        let first = inspection.faults.first()?;
        let messages = inspection.faults.iter().map(|fault| fault.message.as_str());
        Some(Self {
            code: ToolErrorCode::ComponentDescribe,
            message: messages.collect::<Vec<_>>().join("; "),
            help: first.help.clone(),
        })
    }
}

impl From<&PrepareError> for Refusal {
    fn from(error: &PrepareError) -> Self {
        Self {
            code: prepare_error_code(error),
            message: error.to_string(),
            help: prepare_error_help(error).to_owned(),
        }
    }
}

/// Formats the world of a component.
fn world(inspection: &Inspection) -> String {
    let mut wit = String::from("package root:component;\n\nworld root {\n");
    let facts = &inspection.facts;
    for (way, names) in [("import", &facts.imports), ("export", &facts.exports)] {
        for name in names {
            // An item that is not an interface has a type that its name does not give.
            let comment = if name.contains('/') { "" } else { "// " };
            let _ = writeln!(wit, "  {comment}{way} {};", text::line(name));
        }
    }
    wit + "}"
}

/// Prints the manifest of a component that would load.
fn manifest(
    file: &Path,
    inspection: Option<&Inspection>,
    refusal: Option<&Refusal>,
) -> Result<Exit, Failure> {
    let path = text::path(file);
    if let Some(refusal) = refusal {
        let error = anyhow!("{path} would not load: {}", text::line(&refusal.message));
        return Err(Failure::from(error).hint(refusal.help.clone()));
    }
    let handlers = inspection.and_then(|inspection| inspection.handlers.as_ref().ok());
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let manifest = handlers.and_then(|handlers| toolhost_manifest::manifest(&name, handlers));
    let manifest = manifest.ok_or_else(|| {
        let error = anyhow!("{path} has no handler that a model can call");
        let hint = if handlers.is_none_or(Vec::is_empty) {
            "Its describe returns no handlers: return one for each function that call serves."
        } else {
            "Shorten the names of its handlers, and begin them with a letter or a digit."
        };
        Failure::from(error).hint(hint)
    })?;
    stdout::write(manifest.trim_end())?;
    Ok(Exit::Done)
}

fn as_json(file: &Path, inspection: Option<&Inspection>, refusal: Option<&Refusal>) -> Value {
    let mut json = json!({"file": file.to_string_lossy(), "loads": refusal.is_none()});
    if let Some(refusal) = refusal {
        let Refusal {
            code,
            message,
            help,
        } = refusal;
        let error = json!({"code": code.as_str(), "message": message, "help": help});
        stdout::set(&mut json, "error", error);
    }
    if let Some(inspection) = inspection {
        let facts = &inspection.facts;
        stdout::set(&mut json, "bytes", facts.bytes);
        stdout::set(&mut json, "sha256", facts.sha256.as_str());
        if let Ok(handlers) = &inspection.handlers {
            let handlers: Value = handlers.iter().map(handler_json).collect();
            stdout::set(&mut json, "handlers", handlers);
        }
        stdout::set(&mut json, "asks", json!(inspection.import_descriptions));
        stdout::set(&mut json, "imports", json!(facts.imports));
        stdout::set(&mut json, "exports", json!(facts.exports));
    }
    json
}

fn handler_json(handler: &HandlerSpec) -> Value {
    let parameters = handler.parameters.as_deref();
    // Parameters that are not JSON are printed as text.
    let parameters = parameters.map(|text| {
        JsonLimits::SCHEMA
            .parse(text)
            .unwrap_or_else(|_| text.into())
    });
    json!({
        "name": handler.name.as_str(),
        "description": handler.description,
        "parameters": parameters.unwrap_or(Value::Null),
    })
}

fn as_text(file: &Path, inspection: Option<&Inspection>, refusal: Option<&Refusal>) -> String {
    let mut text = text::path(file);
    match refusal {
        None => text += "\n  loads   yes",
        Some(refusal) => {
            let _ = write!(text, "\n  loads   no: {}", text::line(&refusal.message));
            let _ = write!(text, "\n  code    {}", refusal.code.as_str());
            let _ = write!(text, "\n  next    {}", text::line(&refusal.help));
        }
    }
    let Some(Inspection {
        facts,
        import_descriptions,
        handlers,
        ..
    }) = inspection
    else {
        return text;
    };
    let _ = write!(
        text,
        "\n  size    {} ({} bytes)",
        size(facts.bytes),
        facts.bytes
    );
    let _ = write!(text, "\n  sha256  {}", facts.sha256);
    if let Ok(handlers) = handlers {
        let rows = handlers.iter().map(handler_row).collect::<Vec<_>>();
        section(&mut text, "serves", &rows);
    }
    section(&mut text, "asks for", import_descriptions);
    section(&mut text, "imports", &facts.imports);
    section(&mut text, "exports", &facts.exports);
    text
}

fn handler_row(handler: &HandlerSpec) -> String {
    let description = handler.description.as_deref().unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    format!("{:<12} {first}", handler.name.as_str())
}

fn section<T: AsRef<str>>(text: &mut String, title: &str, rows: &[T]) {
    let _ = write!(text, "\n\n{title}");
    if rows.is_empty() {
        text.push_str("\n  nothing");
    }
    for row in rows {
        let _ = write!(text, "\n  {}", text::line(row.as_ref()).trim_end());
    }
}
