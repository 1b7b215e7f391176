"""The rule table: load (and lint), expressions, evaluation, explanation. Format: docs/design/0001-rule-format.md."""
