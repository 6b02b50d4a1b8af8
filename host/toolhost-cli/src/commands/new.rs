//! `toolhost new`: creates a folder with a tool that builds and passes its test.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use toolhost::text::shell_word;
use toolhost::{ResourceName, ToolName};
use toolhost_manifest::bundle::built::Language;

use crate::args::{Lang, NewArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{stdin, stdout, text};
use crate::toolchains::kit::{Kit, KitFile};
use crate::toolchains::{write_editor_types, write_package, write_sdk};

/// The placeholder for the tool's name in templates.
const NAME: &str = "{{name}}";

/// The export of every template.
const EXPORT: &str = "count";

/// The name in the question about a name.
const DEFAULT_NAME: &str = "my-tool";

pub(crate) async fn new(args: &NewArgs, settings: &Settings) -> Result<Exit, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => ask_name(args.lang, settings).await?,
    };
    let lang = match args.lang {
        Some(lang) => lang,
        None => ask_lang(settings).await?,
    };
    let name = parse_name(&name, Some(lang))?;
    let folder = match &args.path {
        Some(path) => path.clone(),
        None => PathBuf::from(name.as_str()),
    };
    check_empty(&folder)?;
    create(&folder, &name, lang)?;
    let display = text::path(&folder);
    let word = text::line(&shell_word(&folder.to_string_lossy()));
    stdout::write(&format!(
        "created {display}: next\n  cd {word}\n  toolhost build\n  toolhost check\n  toolhost test"
    ))?;
    Ok(Exit::Done)
}

/// Asks for a name until it is valid.
async fn ask_name(lang: Option<Lang>, settings: &Settings) -> Result<String, Failure> {
    loop {
        let name = stdin::ask("name of the tool", DEFAULT_NAME).await?;
        match parse_name(&name, lang) {
            Ok(_) => return Ok(name),
            Err(failure) => failure.print(settings.style),
        }
    }
}

/// Asks for a language until it is one.
async fn ask_lang(settings: &Settings) -> Result<Lang, Failure> {
    let names = Lang::value_variants()
        .iter()
        .filter_map(Lang::to_possible_value)
        .map(|value| value.get_name().to_owned());
    let names: Vec<_> = names.collect();
    let (question, default) = (
        format!("language: {}", names.join(", ")),
        names.first().map_or("", String::as_str),
    );
    loop {
        let answer = stdin::ask(&question, default).await?;
        match Lang::from_str(&answer, true) {
            Ok(lang) => return Ok(lang),
            Err(_) => {
                let error = anyhow!("'{}' is not a language of tools", text::line(&answer));
                let hint = format!("Write one of {}.", names.join(", "));
                Failure::from(error).hint(hint).print(settings.style);
            }
        }
    }
}

/// Parses a name. The rules of a language apply if it is known.
fn parse_name(name: &str, lang: Option<Lang>) -> Result<ResourceName, Failure> {
    let refusal = |why: String| {
        let error = anyhow!("'{}' is not a valid tool name: {why}", text::line(name));
        Failure::from(error).hint("Write lower-case letters, digits, - and _, such as word-count.")
    };
    let resource = ResourceName::parse(name).map_err(|error| refusal(error.to_string()))?;
    let whole = format!("{name}__{EXPORT}");
    ToolName::parse(&whole).map_err(|error| refusal(error.to_string()))?;
    if lang == Some(Lang::Rust) {
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(refusal("a Cargo package begins with a letter".to_owned()));
        }
        if name == "toolhost-guest" {
            return Err(refusal("the SDK package has this name".to_owned()));
        }
    }
    Ok(resource)
}

fn check_empty(folder: &Path) -> Result<(), Failure> {
    let display = folder.display();
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            let error = anyhow::Error::new(error).context(format!("{display} cannot be used"));
            return Err(Failure::from(error).hint("Name a folder that is empty or does not exist."));
        }
    };
    if entries.next().is_some() {
        let error = anyhow!("{display} exists and is not empty");
        return Err(Failure::from(error).hint("Pass --path DIR with another folder."));
    }
    Ok(())
}

fn create(folder: &Path, name: &ResourceName, lang: Lang) -> Result<()> {
    let language = match lang {
        Lang::Rust => Language::Rust,
        Lang::Typescript => Language::TypeScript,
        Lang::Python => Language::Python,
    };
    let kit = Kit::of(language);
    for KitFile { path, bytes } in kit.template() {
        let text = std::str::from_utf8(bytes).context("a template is not text")?;
        let text = text.replace(NAME, name.as_str());
        write(&folder.join(path), text.as_bytes())?;
    }
    match language {
        Language::Rust => write_sdk(folder),
        Language::Python => write_editor_types(folder),
        Language::TypeScript => write_package(folder),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let cannot = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(path, bytes).with_context(cannot)
}
