//! The contract's types and traits, made from wit/.
//!
//! Two worlds, with the same types: a component exports what its crate expands the `export!` of.

#![expect(missing_docs, reason = "generated; wit/ documents it")]

pub mod tool {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "goondan:tool/tool",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_tool",
        default_bindings_module: "toolhost_guest::expanded::tool",
        runtime_path: "toolhost_guest::expanded::wit_bindgen::rt",
    });
}

pub mod polling {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package toolhost:guest;

            world polling {
                export goondan:tool/polling@2.0.0;
            }
        ",
        world: "toolhost:guest/polling",
        with: { "goondan:tool/types@2.0.0": crate::bindings::tool::goondan::tool::types },
        pub_export_macro: true,
        export_macro_name: "export_polling",
        default_bindings_module: "toolhost_guest::expanded::polling",
        runtime_path: "toolhost_guest::expanded::wit_bindgen::rt",
    });
}
