"""See docs/design/0002-facts-and-parsers.md."""
