"""Jobs: the shim, the tree, the owner, phases and restarts (docs/design/0011-supervisor.md)."""
