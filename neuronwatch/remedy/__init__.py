"""Remedies: policy, budgets, breaker, audit, and a closed set of actions, one file each (docs/design/0011-supervisor.md)."""
