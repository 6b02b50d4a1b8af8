"""From a tool's module to a component, in three steps: stage, packages, component."""
