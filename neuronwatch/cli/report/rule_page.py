"""One rule as a Markdown page: for `rules show` and the generated reference in docs/rules/."""

from __future__ import annotations

from neuronwatch.judge.rules.model import Rule


def page(rule: Rule) -> str:
    """The page of a rule; stable text, so that the generated reference only changes with the rules."""
    lines = [f"# {rule.id}", "", f"**{rule.title}**", "",
             f"fault `{rule.fault or '-'}` · role {rule.role} · severity {rule.severity} · {rule.maturity} · action {rule.action}",
             "", rule.cause, ""]  # fmt: skip
    for title, items in (("Fix", rule.fix), ("Confirm", rule.confirm)):
        if items:
            lines += [f"## {title}", "", *[f"{number}. {item}" for number, item in enumerate(items, 1)], ""]
    lines += ["## Fires on", ""]
    for item in rule.signatures:
        kinds = f" in {', '.join(item.on)}" if item.on else ""
        lines.append(f"- text `{item.name}`{kinds}{' (a clue only)' if item.weak else ''}:")
        lines += ["", "  ```", f"  {item.pattern}", "  ```", ""]
        lines += [f"  when `{when}`" for when in item.when]
    for join in rule.joins:
        lines.append(f"- facts `{join.name}`: " + " and ".join(f"`{when}`" for when in join.when))
    lines += [f"- only if `{item}`" for item in rule.require]
    lines += [f"- not if {' and '.join(f'`{when}`' for when in item.when)}: {item.why}" for item in rule.unless]
    lines += ["", "## Also", ""]
    if rule.yields_to:
        lines.append(f"- follows from, where found too: {', '.join(f'`{name}`' for name in rule.yields_to)}")
    lines.append(f"- ends: {rule.ends.how}")
    lines += [f"- reference: <{url}>" for url in rule.references]
    return "\n".join(lines).rstrip() + "\n"
