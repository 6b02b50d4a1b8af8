mod approvals;
mod ask;
mod budgets;
mod calls;
mod credentials;
mod grants;
mod http;
mod lock;
mod mcp_servers;
mod oauth_apps;
mod packages;
mod state;
mod workers;

use toolhost_contract::{HttpGrant, HttpRule, WorkdirAccess, WorkdirChanges};

use super::*;
use crate::bundle::Bundle;
use crate::lock::Grade;
use crate::reader::{Cursor, Findings};
use crate::yaml::YamlSource;

/// What a call gets: the grants, with the credentials that the policy names.
fn resolved(policy: &Policy, agent: &str, tool: &ResourceName) -> (Grants, Limits) {
    let (mut grants, limits) = policy.resolve(agent, tool);
    policy.resolve_credentials(agent, tool).add_to(&mut grants);
    (grants, limits)
}

const POLICY: &str = "
registryDirectCall: true
locale: ko
defaults:
  limits: {deadlineMs: 1000, memoryBytes: 64MiB, files: 5}
tools:
  bash:
    limits: {memoryBytes: 128MiB, diskBytes: 0}
    env: {LANG: C, TOKEN: s3cret}
    readOnly: true
agents:
  coder:
    tools:
      bash:
        limits: {deadlineMs: 2000}
        readOnly: false
  reader:
    tools:
      bash: {env: {}}
      text: {limits: {jsonDepth: 3}}
";

fn parse(text: &str) -> Policy {
    Policy::parse(text, "p.yaml").unwrap()
}

/// What is wrong, one line each, without the file's name.
fn found(text: &str) -> Vec<String> {
    let findings = Policy::parse(text, "p.yaml").unwrap_err().diagnostics;
    let shown = |finding: &Diagnostic| {
        let line = finding.to_string();
        line.strip_prefix("p.yaml:")
            .unwrap()
            .trim_start()
            .to_owned()
    };
    findings.iter().map(shown).collect()
}

fn name(name: &str) -> ResourceName {
    ResourceName::parse(name).unwrap()
}

#[test]
fn an_empty_policy_grants_nothing() {
    // tool-spec-v2 §2.3(2), §9.1
    for policy in [
        Policy::default(),
        parse(""),
        parse("# only words\n"),
        parse("{}"),
    ] {
        assert!(!policy.registry_direct_call());
        assert_eq!(policy.locale(), Locale::En);
        let (grants, limits) = resolved(&policy, "default", &name("bash"));
        assert_eq!(grants, Grants::none());
        assert_eq!(limits, Limits::default());
    }
}

#[test]
fn registry_calls_are_allowed_only_by_the_policy() {
    // tool-spec-v2 §2.3(3), §9.1
    assert!(parse("registryDirectCall: true").registry_direct_call());
    assert!(!parse("registryDirectCall: false").registry_direct_call());
    assert_eq!(
        found("registryDirectCall: yes"),
        [
            "1:21: error[E_CONFIG_SCHEMA_INVALID] registryDirectCall: expected true or false but got a string"
        ]
    );
}

#[test]
fn the_rules_of_an_agent_replace_those_of_a_tool() {
    let policy = parse(POLICY);
    assert_eq!(policy.locale(), Locale::Ko);
    let mib = |bytes: u64| bytes >> 20;
    let env = |grants: &Grants| {
        grants
            .env
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };

    let (grants, limits) = resolved(&policy, "somebody", &name("bash"));
    assert_eq!(
        (limits.deadline.as_millis(), mib(limits.memory_bytes)),
        (1000, 128)
    );
    assert_eq!((limits.disk_bytes, limits.files), (0, 5));
    assert_eq!(
        (grants.workdir, env(&grants)),
        (WorkdirAccess::ReadOnly, vec!["LANG".into(), "TOKEN".into()])
    );

    let (grants, limits) = resolved(&policy, "coder", &name("bash"));
    assert_eq!(
        (limits.deadline.as_millis(), mib(limits.memory_bytes)),
        (2000, 128)
    );
    assert_eq!(
        (grants.workdir, env(&grants).len()),
        (WorkdirAccess::ReadWrite, 2)
    );

    let (grants, limits) = resolved(&policy, "reader", &name("bash"));
    assert_eq!(limits.deadline.as_millis(), 1000);
    assert_eq!(
        (grants.workdir, env(&grants)),
        (WorkdirAccess::ReadOnly, vec![]),
        "taken away"
    );

    let (grants, limits) = resolved(&policy, "reader", &name("text"));
    assert_eq!((limits.json_depth, limits.files), (3, 5));
    assert_eq!(grants, Grants::none());
    let (_, limits) = resolved(&policy, "not a name", &name("text"));
    assert_eq!((limits.json_depth, limits.files), (64, 5));
}

#[test]
fn limits_have_ranges_and_units() {
    let check = |limit: &str, message: &str| {
        let key = limit.split(':').next().unwrap();
        let text = format!("defaults:\n  limits:\n    {limit}\n");
        let column = limit.find(": ").unwrap() + 7;
        let code = "error[E_CONFIG_SCHEMA_INVALID]";
        assert_eq!(
            found(&text),
            [format!(
                "3:{column}: {code} defaults.limits.{key}: {message}"
            )]
        );
    };
    check("deadlineMs: 0", "'deadlineMs' must be 1 to 86400000");
    check("deadlineMs: 86400001", "'deadlineMs' must be 1 to 86400000");
    check("deadlineMs: -1", "'deadlineMs' must be 1 to 86400000");
    check(
        "deadlineMs: 1.5",
        "expected an integer but got a decimal number",
    );
    check("deadlineMs: 30s", "expected an integer but got a string");
    check("memoryBytes: 65535", "'memoryBytes' must be 64KiB to 4GiB");
    check("memoryBytes: 5GiB", "'memoryBytes' must be 64KiB to 4GiB");
    check(
        "memoryBytes: 64MB",
        "'64MB' is not a number of bytes, such as 64MiB",
    );
    check("jsonDepth: 65", "'jsonDepth' must be 1 to 64");
    check("openFiles: 1KiB", "expected an integer but got a string");
    check(
        "diskBytes: ~",
        "expected a number of bytes, such as 1048576 or 1MiB, but got nothing",
    );
    check(
        "diskBytes: true",
        "expected a number of bytes, such as 1048576 or 1MiB, but got a boolean",
    );
}

#[test]
fn every_key_is_known_or_an_error() {
    let text = "
registryDirectCalls: true
defaults:
  limit: {}
  limits: {deadlineMS: 5, memory: 1}
tools:
  bash: {readonly: true}
  Bash: {}
agents:
  coder: {limits: {}}
  a__b: {tools: {_x: {}}}
";
    assert_eq!(
        found(text),
        [
            "2:1: error[E_CONFIG_SCHEMA_INVALID] registryDirectCalls: unknown key 'registryDirectCalls'",
            "4:3: error[E_CONFIG_SCHEMA_INVALID] defaults.limit: unknown key 'limit'",
            "5:12: error[E_CONFIG_SCHEMA_INVALID] defaults.limits.deadlineMS: unknown key 'deadlineMS'",
            "5:27: error[E_CONFIG_SCHEMA_INVALID] defaults.limits.memory: unknown key 'memory'",
            "7:10: error[E_CONFIG_SCHEMA_INVALID] tools.bash.readonly: unknown key 'readonly'",
            "8:3: error[E_CONFIG_INVALID_NAME] tools.Bash: \
             'Bash' contains 'B': only a-z, 0-9, '_' and '-' are allowed",
            "10:11: error[E_CONFIG_SCHEMA_INVALID] agents.coder.limits: unknown key 'limits'",
            "11:3: error[E_CONFIG_INVALID_NAME] agents.a__b: \
             'a__b' must not contain '__', which separates the tool from its export",
            "11:18: error[E_CONFIG_INVALID_NAME] agents.a__b.tools._x: \
             '_x' must start with a letter or a digit",
        ]
    );
    let help: Vec<String> = Policy::parse(text, "p")
        .unwrap_err()
        .diagnostics
        .into_iter()
        .map(|f| f.help)
        .collect();
    assert_eq!(help[0], "Did you mean 'registryDirectCall'?");
    assert_eq!(help[2], "Did you mean 'deadlineMs'?");
    assert_eq!(help[4], "Did you mean 'readOnly'?");
}

#[test]
fn a_rule_sets_when_changes_of_the_workdir_take_effect() {
    let policy = parse(
        "
defaults: {workdir: transactional}
tools: {bash: {workdir: direct}}
agents: {coder: {tools: {bash: {workdir: durable}}}}
",
    );
    let changes = |agent, tool| policy.workdir_changes(agent, &name(tool)).as_str();
    assert_eq!(changes("coder", "bash"), "durable");
    assert_eq!(changes("other", "bash"), "direct");
    assert_eq!(changes("coder", "text"), "transactional");
    assert!(policy.has_transactions());
    let direct = parse("{defaults: {workdir: direct}, tools: {bash: {readOnly: true}}}");
    assert!(!direct.has_transactions());
    assert_eq!(
        direct.workdir_changes("a", &name("bash")).as_str(),
        "direct"
    );
    assert_eq!(
        found("tools: {bash: {workdir: transactionel}}"),
        [
            "1:25: error[E_CONFIG_SCHEMA_INVALID] tools.bash.workdir: workdir must be 'direct', \
          'transactional' or 'durable', not 'transactionel'; did you mean 'transactional'?"
        ]
    );
    assert_eq!(
        found("defaults: {workDir: direct}"),
        ["1:12: error[E_CONFIG_SCHEMA_INVALID] defaults.workDir: unknown key 'workDir'"]
    );
}

#[test]
fn a_rule_sets_which_outputs_are_committed_and_replaces_the_one_of_the_manifest() {
    let policy = parse(
        "
defaults: {workdir: transactional}
tools:
  bash: {commitWhen: {pointer: /exitCode, equals: 0}}
  other: {commitWhen: always}
agents: {coder: {tools: {bash: {commitWhen: {pointer: /ok, equals: true}}}}}
",
    );
    let of_export = CommitCondition::new("/done", &serde_json::json!("yes")).unwrap();
    let when = |agent, tool| {
        let when = policy.commit_when(agent, &name(tool), Some(&of_export));
        when.map(ToString::to_string)
    };
    assert_eq!(when("a", "bash").unwrap(), "`/exitCode` is 0");
    assert_eq!(when("coder", "bash").unwrap(), "`/ok` is true");
    assert_eq!(when("a", "other"), None);
    assert_eq!(when("a", "text").unwrap(), "`/done` is \"yes\"");
    assert!(policy.commit_when("a", &name("text"), None).is_none());
}

#[test]
fn a_condition_of_a_commit_that_cannot_be_met_or_has_no_effect_is_an_error() {
    for (rule, finding) in [
        (
            "workdir: durable, commitWhen: {pointer: exitCode, equals: 0}",
            "'pointer' must be a JSON pointer",
        ),
        (
            "workdir: durable, commitWhen: {pointer: /a, equals: [0]}",
            "'equals' must be a boolean",
        ),
        (
            "workdir: durable, commitWhen: {pointer: /a}",
            "'equals' is missing",
        ),
        (
            "workdir: durable, commitWhen: {pointer: /a, equal: 0}",
            "unknown key 'equal'",
        ),
        (
            "workdir: durable, commitWhen: never",
            "commitWhen must be 'always'",
        ),
        (
            "commitWhen: {pointer: /a, equals: 0}",
            "'commitWhen' of bash has no effect",
        ),
        (
            "workdir: direct, commitWhen: always",
            "'commitWhen' of bash has no effect",
        ),
    ] {
        let findings = found(&format!("tools: {{bash: {{{rule}}}}}"));
        assert!(
            findings.iter().any(|it| it.contains(finding)),
            "{rule}: {findings:?}"
        );
    }
    // Where the calls of one agent are transactions, the rule of all has an effect.
    parse(
        "
tools: {bash: {commitWhen: {pointer: /exitCode, equals: 0}}}
agents: {coder: {tools: {bash: {workdir: transactional}}}}
",
    );
    let direct =
        "{defaults: {workdir: durable}, tools: {bash: {workdir: direct, commitWhen: always}}}";
    assert!(!found(direct).is_empty());
}

#[test]
fn secrets_are_read_from_variables_and_files() {
    let text = "tools: {t: {env: {A: {fromEnv: TOKEN}, B: {fromFile: token.txt}}}}";
    let secrets = |source: SecretSource<'_>| match source {
        SecretSource::Env("TOKEN") => Ok("sk-of-env".to_owned()),
        SecretSource::File("token.txt") => Ok("sk-of-file".to_owned()),
        SecretSource::Env(other) | SecretSource::File(other) => Err(format!("no {other}")),
    };
    let policy = Policy::parse_with(text, "p.yaml", &secrets).unwrap();
    let (grants, _) = resolved(&policy, "a", &name("t"));
    let values: Vec<_> = grants.env.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["sk-of-env", "sk-of-file"]);
    let redacted = policy.redactor().text("sk-of-env sk-of-file").into_owned();
    assert_eq!(redacted, "[redacted:A] [redacted:B]");
    let other = text.replace("TOKEN", "OTHER");
    let refused = Policy::parse_with(&other, "p.yaml", &secrets).unwrap_err();
    assert!(
        refused.to_string().contains("1:32: ")
            && refused
                .to_string()
                .ends_with("the secret could not be read: no OTHER"),
        "{refused}"
    );
    assert_eq!(found(text).len(), 2, "a host that reads none");
}

#[test]
fn other_agents_are_denied_unless_the_policy_grants_them() {
    let policy = parse(
        "tools: {t: {agents: true}, u: {}}\nagents: {a: {tools: {t: {agents: false}, u: {agents: true}}}}",
    );
    let granted = |agent: &str, tool: &str| policy.grants_agents(agent, &name(tool));
    assert!(granted("somebody", "t") && !granted("a", "t"));
    assert!(granted("a", "u") && !granted("somebody", "u"));
    assert!(!Policy::default().grants_agents("a", &name("t")));
}

#[test]
fn secrets_are_redacted_and_other_variables_are_not() {
    let policy = parse(
        "tools: {t: {env: {A: plain, B: {secret: sk-1}}}}\nagents: {a: {tools: {t: {env: {C: {secret: sk-2}}}}}}",
    );
    let (grants, _) = resolved(&policy, "b", &name("t"));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(grants.env, [pair("A", "plain"), pair("B", "sk-1")]);
    let redacted = policy.redactor().text("plain sk-1 sk-2").into_owned();
    assert_eq!(redacted, "plain [redacted:B] [redacted:C]");
    assert_eq!(
        found("tools: {t: {env: {A: {secret: abc}}}}").len(),
        1,
        "too short"
    );
    assert_eq!(
        found("tools: {t: {env: {A: {secrt: x}}}}").len(),
        2,
        "unknown key, and the one that is missing"
    );
}

#[test]
fn environment_variables_are_strings_and_their_values_stay_secret() {
    let path = "error[E_CONFIG_SCHEMA_INVALID] tools.t.env";
    let env = |env: &str| found(&format!("tools: {{t: {{env: {env}}}}}"));
    assert_eq!(
        env("{A: 5}"),
        [format!(
            "1:22: {path}.A: expected a string but got an integer"
        )]
    );
    assert_eq!(
        env("[A=5]"),
        [format!("1:18: {path}: expected a mapping but got a list")]
    );
    assert_eq!(
        env("{'A=B': x}"),
        [format!(
            "1:19: {path}.A=B: 'A=B' cannot be the name of an environment variable"
        )]
    );
    let nul = env("{A: \"s3cret\\0\"}");
    assert_eq!(
        nul,
        [format!(
            "1:22: {path}.A: an environment variable cannot contain a NUL character"
        )]
    );
    let shown = format!("{:?}", parse(POLICY));
    assert!(
        shown.contains("TOKEN") && !shown.contains("s3cret"),
        "{shown}"
    );
}

#[test]
fn a_policy_is_one_small_mapping_of_yaml() {
    let schema = "error[E_CONFIG_SCHEMA_INVALID]";
    assert_eq!(
        found("- 1"),
        [format!("1:1: {schema} expected a mapping but got a list")]
    );
    assert_eq!(
        found("locale: fr"),
        [format!(
            "1:9: {schema} locale: locale must be 'en' or 'ko', not 'fr'"
        )]
    );
    assert_eq!(
        found("tools: [bash]"),
        [format!(
            "1:8: {schema} tools: expected a mapping but got a list"
        )]
    );
    assert_eq!(
        found("a: ["),
        ["1:4: error[E_CONFIG_PARSE_ERROR] unclosed bracket '['"]
    );
    assert_eq!(
        found("locale: en\nlocale: ko\n"),
        ["2:1: error[E_CONFIG_PARSE_ERROR] duplicate key 'locale'"]
    );
    assert_eq!(
        found("locale: en\n---\nlocale: ko\n"),
        ["error[E_CONFIG_TOO_MANY_DOCUMENTS] a policy is one document"]
    );
    assert_eq!(
        found(&"#".repeat(read::FILE_MAX + 1)),
        ["error[E_CONFIG_FILE_TOO_LARGE] the file is larger than 1048576 bytes"]
    );
}

#[test]
fn a_name_that_the_bundle_does_not_have_is_an_error_unless_several_bundles_share_the_policy() {
    let bundle = |others: &str| {
        let tool = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: bash}\n\
                    spec: {entry: t.wasm, exports: [{name: x}]}\n";
        Bundle::parse(&YamlSource::new("b.yaml", &format!("{tool}---\n{others}"))).unwrap()
    };
    let coder = "apiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {name: coder}\nspec: {}\n";
    let shown =
        |findings: &[Diagnostic]| findings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let check = |policy: &str, bundle: &Bundle, expected: &[&str]| {
        let errors = parse(policy).unknown_names(bundle);
        assert!(errors.iter().all(Diagnostic::is_error), "{policy}");
        let shared = parse(&format!("{policy}\nstrict: false")).unknown_names(bundle);
        assert!(!shared.iter().any(Diagnostic::is_error), "{policy}");
        assert_eq!(shown(&errors), expected, "{policy}");
        let as_warnings = expected
            .iter()
            .map(|line| line.replacen("error", "warning", 1));
        assert_eq!(shown(&shared), as_warnings.collect::<Vec<_>>(), "{policy}");
        let stated = parse(&format!("{policy}\nstrict: true"));
        assert_eq!(stated.unknown_names(bundle), errors, "{policy}");
    };
    check(
        POLICY,
        &bundle(coder),
        &[
            "p.yaml:17:3: error[E_CONFIG_REF_NOT_FOUND] agents.reader: Agent/reader is not in the bundle",
            "p.yaml:20:7: error[E_CONFIG_REF_NOT_FOUND] agents.reader.tools.text: Tool/text is not in the bundle",
        ],
    );
    let endpoints = "{authorizationUrl: 'https://a.example/a', tokenUrl: 'https://a.example/t'}";
    check(
        &format!(
            "mcpServers: {{files: {{command: [x]}}}}\noauthApps: {{tracker: {{endpoints: {endpoints}, origins: ['https://a.example']}}}}\n\
             tools: {{bash: {{oauth: {{mail: {{}}}}}}}}"
        ),
        &bundle(coder),
        &[
            "p.yaml:1:14: error[E_CONFIG_REF_NOT_FOUND] mcpServers.files: McpServer/files is not in the bundle",
            "p.yaml:2:13: error[E_CONFIG_REF_NOT_FOUND] oauthApps.tracker: OAuthApp/tracker is not in the bundle",
            "p.yaml:3:24: error[E_CONFIG_REF_NOT_FOUND] tools.bash.oauth.mail: OAuthApp/mail is not in the bundle",
        ],
    );
    // The implicit agent, and the tools that runtimes add.
    check("agents: {default: {}}", &bundle(""), &[]);
    check("tools: {agents: {}, changeset: {}}", &bundle(""), &[]);
    let server = "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {name: files}\n\
                  spec: {prefix: fs, transport: {stdio: {command: [x]}}}\n";
    check(
        "tools: {fs: {limits: {deadlineMs: 5}}}",
        &bundle(server),
        &[],
    );
    let help = |policy: &str| parse(policy).unknown_names(&bundle(coder))[0].help.clone();
    assert_eq!(help("tools: {bahs: {}}"), "Did you mean 'bash'?");
    assert!(help("tools: {other: {}}").ends_with("has the line `strict: false`."));
    assert_eq!(
        found("strict: no"),
        ["1:9: error[E_CONFIG_SCHEMA_INVALID] strict: expected true or false but got a string"]
    );
}

#[test]
fn a_policy_names_the_workspaces_of_instances() {
    let policy = parse("workspace: shop");
    assert_eq!(policy.workspace(), Some(&name("shop")));
    assert_eq!(Policy::default().workspace(), None);
    assert_eq!(
        found("workspace: ../x"),
        ["1:12: error[E_CONFIG_INVALID_NAME] workspace: \
          '../x' contains '.': only a-z, 0-9, '_' and '-' are allowed"]
    );
    // A policy that comes with the tools does not choose the files that they get.
    let own = parse("workspace: other").within(&policy);
    assert_eq!(own.workspace(), Some(&name("shop")));
}

#[test]
fn changesets_are_granted_to_agents_by_name_and_by_path() {
    // requirements-v1 §12.4
    let policy = parse(
        "agents: {a: {changesets: true}, b: {changesets: [./goondan.yaml, tools/]}, c: {changesets: false}, d: {}}",
    );
    let allows = |agent: &str, path: &str| {
        let grant = policy.changesets(agent);
        grant.is_some_and(|grant| grant.allows(path))
    };
    assert!(allows("a", "goondan.yaml") && allows("a", "deep/x"));
    assert!(allows("b", "goondan.yaml") && allows("b", "tools/deep/x"));
    assert!(!allows("b", "tools") && !allows("b", "toolsx/a") && !allows("b", "goondan.yaml.bak"));
    let paths = |agent: &str| policy.changesets(agent).unwrap().paths();
    assert_eq!(paths("a"), None);
    let expected = ["goondan.yaml", "tools/"].map(String::from);
    assert_eq!(paths("b"), Some(&expected[..]));
    for agent in ["c", "d", "e"] {
        assert!(policy.changesets(agent).is_none(), "{agent}");
    }
    assert!(Policy::default().changesets("a").is_none());
    // A policy that comes with the tools does not say what the lock stops.
    let policy_of_bundle = parse("lock: none").within(&parse("lock: {stops: all, required: true}"));
    assert!(
        policy_of_bundle.lock().required && policy_of_bundle.lock().stops.len() == Grade::ALL.len()
    );
    // A policy that comes with the tools grants none, whatever it says.
    let policy_of_bundle = parse("agents: {d: {changesets: true}}").within(&policy);
    assert!(policy_of_bundle.changesets("d").is_none());
    for invalid in [
        "yes please",
        "[..]",
        "[/etc/]",
        "[a/../b]",
        "['']",
        "[1]",
        "{}",
    ] {
        let text = format!("agents: {{a: {{changesets: {invalid}}}}}");
        assert_eq!(found(&text).len(), 1, "{invalid}");
    }
}
