use super::*;

const BUDGETS: &str = "
budgets:
  perDay: {cost: 1000}
  eachInstance: {perHour: {calls: 100}}
tools:
  fetch:
    cost: 5
    budgets: {perHour: {httpRequests: 500, bytesWritten: 1GiB}}
agents:
  coder:
    budgets: {perDay: {wallSeconds: 3600}}
    tools:
      fetch: {cost: 2, budgets: {perHour: {calls: 10}}}
";

/// The paths and limits of the budgets of a tool.
fn of(policy: &Policy, agent: &str, tool: &str) -> (Vec<String>, u64) {
    let of = policy.budgets_of(agent, &ResourceName::parse(tool).unwrap());
    let lines = of.budgets.iter().flat_map(|budget| {
        let limits = budget.limits();
        limits.map(|(_, kind, limit)| format!("{}: {}", budget.path_of(kind), kind.shown(limit)))
    });
    (lines.collect(), of.cost)
}

#[test]
fn a_tool_has_the_budgets_of_all_places_that_name_it_or_its_agent() {
    let policy = parse(BUDGETS);
    let all = [
        "budgets.perDay.cost: 1000",
        "budgets.eachInstance.perHour.calls: 100",
    ];
    let (fetch, cost) = of(&policy, "reader", "fetch");
    assert_eq!(fetch[..2], all);
    assert_eq!(
        fetch[2..],
        [
            "tools.fetch.budgets.perHour.bytesWritten: 1GiB",
            "tools.fetch.budgets.perHour.httpRequests: 500"
        ]
    );
    assert_eq!(cost, 5);
    let (coders, cost) = of(&policy, "coder", "fetch");
    assert_eq!(coders[..4], fetch[..]);
    assert_eq!(
        coders[4..],
        [
            "agents.coder.budgets.perDay.wallSeconds: 3600",
            "agents.coder.tools.fetch.budgets.perHour.calls: 10"
        ]
    );
    assert_eq!(cost, 2);
    assert_eq!(
        of(&policy, "reader", "bash"),
        (all.map(str::to_owned).to_vec(), 0)
    );
    assert_eq!(of(&Policy::default(), "coder", "fetch"), (vec![], 0));
}

#[test]
fn unknown_keys_and_values_out_of_range_are_named() {
    let check = |text: &str, expected: &str| {
        let code = "error[E_CONFIG_SCHEMA_INVALID]";
        assert_eq!(found(text), [expected.replace("error", code)], "{text}");
    };
    check(
        "budgets: {perDya: {calls: 1}}",
        "1:11: error budgets.perDya: unknown key 'perDya'",
    );
    check(
        "tools: {a: {budgets: {perDay: {call: 1}}}}",
        "1:32: error tools.a.budgets.perDay.call: unknown key 'call'",
    );
    let near = Policy::parse("budgets: {perDay: {call: 1}}", "p.yaml").unwrap_err();
    let near = format!("{:?}", near.diagnostics[0].help);
    assert!(near.contains("'calls'"), "{near}");
    check(
        "agents: {a: {budgets: {eachInstance: {perHour: {calls: 0}}}}}",
        "1:56: error agents.a.budgets.eachInstance.perHour.calls: 'calls' must be 1 to 1000000000",
    );
    check(
        "budgets: {perDay: {bytesWritten: 1GB}}",
        "1:34: error budgets.perDay.bytesWritten: '1GB' is not a number of bytes, such as 64MiB",
    );
    check(
        "tools: {a: {cost: 1.5}}",
        "1:19: error tools.a.cost: expected an integer but got a decimal number",
    );
}

#[test]
fn a_policy_that_comes_with_the_tools_lowers_budgets_and_raises_none() {
    let own = "
budgets: {perDay: {cost: 100000, calls: 7}}
tools: {fetch: {cost: 0, budgets: {perHour: {httpRequests: 3}}}}
";
    let within = parse(own).within(&parse(BUDGETS));
    let (budgets, cost) = of(&within, "reader", "fetch");
    assert_eq!(
        budgets,
        [
            "budgets.perDay.calls: 7",
            "budgets.perDay.cost: 1000",
            "tools.fetch.budgets.perHour.bytesWritten: 1GiB",
            "tools.fetch.budgets.perHour.httpRequests: 3",
            "budgets.eachInstance.perHour.calls: 100",
        ]
    );
    assert_eq!(cost, 5);
    let alone = parse("{}").within(&parse(BUDGETS));
    assert_eq!(
        of(&alone, "coder", "fetch"),
        of(&parse(BUDGETS), "coder", "fetch")
    );
}
