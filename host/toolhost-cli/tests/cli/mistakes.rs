//! What an author reads after a mistake, in each language: code, message and suggestion. The seconds until
//! it is printed are written to `target/mistakes/LANGUAGE.seconds`.
//!
//! `cargo xtask test` builds the components of the languages without a kit.

mod answer;
mod project;

use std::fs;

use answer::Answers;
use project::{Broken, Project};

use crate::terminal::root;

/// Mistakes at run time: handlers of one component.
const AT_RUN_TIME: [&str; 6] = ["type-error", "throw", "loop", "memory", "escape", "request"];

/// Compares the answers to all mistakes in a language with a snapshot.
fn check(language: &str, is_kit: bool, served: &[&str], broken: &[Broken]) {
    let Some(project) = Project::of(language, is_kit, served) else {
        return;
    };
    let mut answers = Answers::default();
    for mistake in broken {
        answers.add(mistake.name, || project.build_broken(mistake));
    }
    let manifest = project.manifest(served);
    answers.add("missing export", || {
        project.load(&manifest.replacen("name: throw", "name: thrwo", 1))
    });
    answers.add("wrong schema", || {
        project.load(&manifest.replacen(
            "additionalProperties",
            "requird: [x], additionalProperties",
            1,
        ))
    });
    project.write_manifest(&manifest);
    for name in served {
        answers.add(name, || project.call(name));
    }
    let seconds = root("target/mistakes").join(format!("{language}.seconds"));
    fs::create_dir_all(root("target/mistakes")).unwrap();
    fs::write(seconds, answers.seconds()).unwrap();
    let name = format!("mistakes_in_{language}");
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, project.redacted(&answers.table()));
    });
}

/// All mistakes at run time but those that a compiler finds.
fn without_type_error() -> Vec<&'static str> {
    let all = AT_RUN_TIME.into_iter();
    all.filter(|name| *name != "type-error").collect()
}

#[test]
fn the_answers_to_mistakes_in_rust() {
    let broken = [
        Broken {
            name: "type error",
            file: "src/lib.rs",
            before: "chars: text.chars().count(),",
            after: "chars: text,",
        },
        Broken {
            name: "missing dependency",
            file: "src/lib.rs",
            before: "use std::fs;",
            after: "use std::fs;\nuse regex::Regex;",
        },
        Broken {
            name: "syntax error",
            file: "src/lib.rs",
            before: "Ok(counts(&text))",
            after: "Ok(counts(&text)",
        },
    ];
    check("rust", true, &without_type_error(), &broken);
}

#[test]
fn the_answers_to_mistakes_in_typescript() {
    let broken = [
        Broken {
            name: "missing dependency",
            file: "index.ts",
            before: "export const handlers",
            after: "import pad from 'left-pad';\npad();\nexport const handlers",
        },
        Broken {
            name: "syntax error",
            file: "index.ts",
            before: "export const handlers",
            after: "const x = ;\nexport const handlers",
        },
    ];
    // Its request is in the example `fetch`, as `fetch` takes another engine.
    check(
        "typescript",
        true,
        &["type-error", "throw", "loop", "memory", "escape"],
        &broken,
    );
}

#[test]
fn the_answers_to_mistakes_in_python_with_the_kit() {
    let broken = [
        Broken {
            name: "missing dependency",
            file: "tool.py",
            before: "from typing import TypedDict",
            after: "from typing import TypedDict\nimport left_pad",
        },
        Broken {
            name: "syntax error",
            file: "tool.py",
            before: "from typing import TypedDict",
            after: "from typing import TypedDict\ndef (",
        },
    ];
    check("python_kit", true, &AT_RUN_TIME, &broken);
}

#[test]
fn the_answers_to_mistakes_in_c() {
    check("c", false, &without_type_error(), &[]);
}

#[test]
fn the_answers_to_mistakes_in_go() {
    check("go", false, &without_type_error(), &[]);
}

#[test]
fn the_answers_to_mistakes_in_javascript() {
    check("javascript", false, &AT_RUN_TIME, &[]);
}

#[test]
fn the_answers_to_mistakes_in_python() {
    check("python", false, &AT_RUN_TIME, &[]);
}
