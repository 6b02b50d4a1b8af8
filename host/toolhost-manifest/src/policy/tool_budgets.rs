//! The budgets that a policy sets for the calls of a tool.

use toolhost_contract::ResourceName;

use super::Policy;
use super::budgets::{BUDGET_KINDS, Budget, BudgetInfo, KINDS, ToolBudgets};

impl Policy {
    /// Returns the keys beneath `perHour` and `perDay` of `budgets`.
    pub fn budget_kinds() -> &'static [BudgetInfo; BUDGET_KINDS] {
        &KINDS
    }

    /// Returns the budgets of the calls of a tool by an agent, and what a call costs. A policy that comes with the tools
    /// may lower those of the [operator's](Self::within), and never raise them. Default: none, and a call costs nothing.
    pub fn budgets_of(&self, agent: &str, tool: &ResourceName) -> ToolBudgets {
        let budgets = self.budgets().into_iter().filter(|budget| {
            let is_agents = |name: &ResourceName| name.as_str() == agent;
            budget.agent.as_ref().is_none_or(is_agents)
                && budget.tool.as_ref().is_none_or(|name| name == tool)
        });
        ToolBudgets {
            budgets: budgets.collect(),
            cost: self.cost_of(agent, tool),
        }
    }

    fn cost_of(&self, agent: &str, tool: &ResourceName) -> u64 {
        let cost = self.last(agent, tool, |rule| rule.cost).unwrap_or(0);
        let operators = self.operators.as_ref();
        operators.map_or(cost, |policy| cost.max(policy.cost_of(agent, tool)))
    }

    /// Returns all budgets: those of all tools first, then those of tools, then those of agents.
    pub fn budgets(&self) -> Vec<Budget> {
        let mut budgets: Vec<Budget> = self.budgets.of(None, None).collect();
        for (tool, rule) in &self.tools {
            budgets.extend(rule.budgets.of(None, Some(tool)));
        }
        for (agent, rules) in &self.agents {
            budgets.extend(rules.budgets.of(Some(agent), None));
            for (tool, rule) in &rules.tools {
                budgets.extend(rule.budgets.of(Some(agent), Some(tool)));
            }
        }
        let operators = self.operators.as_ref().map(|policy| policy.budgets());
        for budget in operators.into_iter().flatten() {
            match budgets.iter_mut().find(|own| own.is_alike(&budget)) {
                Some(own) => own.lower(&budget),
                None => budgets.push(budget),
            }
        }
        budgets
    }
}
