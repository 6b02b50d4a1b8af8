//! The names of toolhost's packages: at PyPI, `toolhost` belongs to others.

use std::fs;

use super::pages::pages;
use crate::terminal::{Ran, Terminal, root};

/// The packages of toolhost in registries of programs and clients.
const OWN: [&str; 3] = [
    "toolhost-cli",
    "toolhost-cli-linux-x64-gnu",
    "toolhost-client",
];

/// Words that are followed by the names of packages.
const INSTALLERS: [&[&str]; 17] = [
    &["pip", "install"],
    &["pip3", "install"],
    &["pipx", "install"],
    &["pipx", "run"],
    &["uv", "add"],
    &["uv", "tool", "install"],
    &["uvx"],
    &["poetry", "add"],
    &["npm", "install"],
    &["npm", "i"],
    &["npm", "exec"],
    &["npx"],
    &["pnpm", "add"],
    &["pnpm", "dlx"],
    &["yarn", "add"],
    &["bun", "add"],
    &["bunx"],
];

/// Files besides the pages that tell people or machines what to install.
const OTHERS: [&str; 5] = [
    ".github/workflows/release.yml",
    "clients/python/pyproject.toml",
    "clients/typescript/package.json",
    "docs/ci-example.yml",
    "xtask/dist/toolhost.js",
];

/// Returns the packages with toolhost's name that a text installs, and that are not toolhost's.
fn strangers(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || "'\"()".contains(c);
    let mut strangers = Vec::new();
    // What follows `--` is a command of its own.
    let text = text.replace(" -- ", "\n");
    for command in text.split(['\n', '`', ',', ';', '|', '#']) {
        let words = command.split(is_between).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let installs = |at: &usize| {
            INSTALLERS
                .iter()
                .any(|words_of| words[..*at].ends_with(words_of))
        };
        for at in (1..=words.len()).filter(installs) {
            let packages = &words[at..];
            // What follows the package of `--from` is a program in it.
            let from = packages
                .iter()
                .position(|word| ["--from", "--spec", "-p"].contains(word));
            let packages = match from {
                Some(from) => &packages[from + 1..packages.len().min(from + 2)],
                None => packages,
            };
            let named = packages.iter().map(|word| {
                let name = word.split(['=', '<', '>', '~', '[']).next().unwrap();
                let (scope, name) = name
                    .strip_prefix('@')
                    .map_or(("", name), |name| ("@", name));
                scope.to_owned() + name.split('@').next().unwrap()
            });
            let ours =
                |name: &String| name.starts_with("toolhost") || name.starts_with("@toolhost");
            let is_other = |name: &String| !OWN.contains(&name.as_str()) && !is_file(name);
            strangers.extend(named.filter(ours).filter(is_other));
        }
    }
    strangers
}

fn is_file(name: &str) -> bool {
    [".whl", ".tgz", ".deb"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[test]
fn no_text_installs_a_package_of_somebody_else() {
    let read = |path: &str| fs::read_to_string(root(path)).unwrap();
    let others = OTHERS.iter().map(|path| (*path).to_owned());
    for path in pages().into_iter().chain(others) {
        assert_eq!(strangers(&read(&path)), Vec::<String>::new(), "{path}");
    }
    let terminal = Terminal::new();
    terminal.run(["man", "pages"]).exits(0);
    for page in terminal.names("here/pages") {
        let text = fs::read_to_string(terminal.path("here/pages").join(&page)).unwrap();
        let text = text.replace("\\-", "-");
        assert_eq!(strangers(&text), Vec::<String>::new(), "{page}");
    }
}

#[test]
fn the_packages_of_others_are_recognized() {
    for text in [
        "`pip install toolhost`",
        "python3 -m pip install --user toolhost==0.2.1",
        "pip install 'toolhost[all]'",
        "uvx toolhost serve base",
        "uvx --from toolhost toolhost serve base",
        "pipx run --spec toolhost toolhost",
        "uv tool install toolhost@latest",
        "npx -y toolhost serve",
        "npm i -g toolhost@1",
        "npm install @toolhost/cli",
        "install it: npm install left-pad toolhost",
    ] {
        assert_eq!(strangers(text).len(), 1, "{text}: {:?}", strangers(text));
    }
    for text in [
        "uvx --from toolhost-cli toolhost serve base",
        "uvx --from toolhost-cli@0.1.0 toolhost serve base",
        "npx -y toolhost-cli serve base",
        "pip install toolhost-cli toolhost-client",
        "pip install ./toolhost_cli-0.1.0-*.whl",
        "npm install left-pad, then `toolhost build`",
        "cargo install --locked --path host/toolhost-cli",
    ] {
        assert_eq!(strangers(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_line_of_the_readme_is_what_a_program_of_uvx_prints() {
    let terminal = Terminal::new();
    let cache = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = cache.path().join("archive-v0/x1/bin/toolhost");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::hard_link(crate::terminal::TOOLHOST, &program).unwrap();
    let mut command = std::process::Command::new(program);
    command
        .args([
            "serve",
            "base",
            "--workdir",
            ".",
            "--print-config",
            "claude-code",
        ])
        .env_clear()
        .env("HOME", terminal.path("home"))
        .current_dir(terminal.path("here"));
    let printed = Ran::of(&mut command).exits(0).stdout;
    let here = terminal.path("here");
    let line = printed.replace(here.to_str().unwrap(), ".");
    let readme = fs::read_to_string(root("README.md")).unwrap();
    assert!(readme.contains(&format!("```sh\n{line}```\n")), "{line}");
}
