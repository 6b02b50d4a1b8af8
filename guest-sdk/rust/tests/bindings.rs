//! `src/bindings` holds what `wit-bindgen` makes of wit/.

use std::path::PathBuf;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};

const WORLDS: &str = "
    package toolhost:guest;

    world modes {
        import goondan:tool/modes@2.0.0;
    }

    world outputs {
        export goondan:tool/outputs@2.0.0;
    }

    world polling {
        export goondan:tool/polling@2.0.0;
    }

    world tools {
        import goondan:tool/tools@2.0.0;
    }
";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no other way to be given an option"
)]
fn the_bindings_are_those_that_wit_bindgen_makes_of_the_contract() {
    let tool = generate("goondan:tool/tool", "tool", Vec::new());
    let types = (
        "goondan:tool/types@2.0.0".to_owned(),
        WithOption::Path("crate::bindings::tool::goondan::tool::types".to_owned()),
    );
    let outputs = generate("toolhost:guest/outputs", "outputs", vec![types.clone()]);
    let polling = generate("toolhost:guest/polling", "polling", vec![types.clone()]);
    let tools = generate("toolhost:guest/tools", "tools", vec![types]);
    let modes = generate("toolhost:guest/modes", "modes", Vec::new());
    for (name, generated) in [
        ("tool", tool),
        ("outputs", outputs),
        ("polling", polling),
        ("modes", modes),
        ("tools", tools),
    ] {
        let path = package().join(format!("src/bindings/{name}.rs"));
        if std::env::var_os("UPDATE_BINDINGS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == generated,
            "src/bindings/{name}.rs is out of date. Run in guest-sdk/rust: UPDATE_BINDINGS=1 cargo test --test bindings"
        );
    }
}

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Makes the bindings of a world. `name` is that of the module and of the macro that exports it.
fn generate(world: &str, name: &str, with: Vec<(String, WithOption)>) -> String {
    let mut resolve = Resolve::default();
    let (contract, _) = resolve.push_path(package().join("../../wit")).unwrap();
    let worlds = resolve.push_str("worlds", WORLDS).unwrap();
    let world = resolve
        .select_world(&[contract, worlds], Some(world))
        .unwrap();
    let options = Opts {
        format: true,
        with,
        generate_all: true,
        pub_export_macro: true,
        export_macro_name: Some(format!("export_{name}")),
        default_bindings_module: Some(format!("toolhost_guest::expanded::{name}")),
        runtime_path: Some("toolhost_guest::expanded::wit_bindgen::rt".to_owned()),
        ..Opts::default()
    };
    let mut files = Files::default();
    let mut generator = options.build();
    generator.generate(&mut resolve, world, &mut files).unwrap();
    let (_, text) = files.iter().next().unwrap();
    format!(
        "#![allow(missing_docs, reason = \"generated; wit/ documents it\")]\n{}",
        std::str::from_utf8(text).unwrap()
    )
}
