"""Builds a component from a tool's module, in three steps: stage, packages, component."""
