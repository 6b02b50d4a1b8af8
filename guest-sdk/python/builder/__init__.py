"""Builds a component from a tool's module, in four steps: stage, packages, component, merge."""
