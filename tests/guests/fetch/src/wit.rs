//! `wasi:http`, which no other guest imports.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: r#"
        package guests:fetch;

        world fetch {
            import wasi:http/outgoing-handler@0.2.12;
        }
    "#,
    world: "guests:fetch/fetch",
    generate_all,
});
