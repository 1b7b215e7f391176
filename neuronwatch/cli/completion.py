"""`neuronwatch completion bash|zsh|fish`: shell completion, generated from the parsers themselves."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(args: argparse.Namespace) -> int:
    tree = _tree()
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](tree), end="")
    return 0


def _tree() -> dict[str, list[str]]:
    """Words after `neuronwatch` (key "") and after each verb: options and sub-actions."""
    from neuronwatch.cli.main import VERBS, build_parser

    words: dict[str, list[str]] = {"": [*VERBS, "--help", "--version"]}
    for verb in VERBS:
        top = build_parser(verb)
        subs = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
        words[verb] = _words(subs.choices[verb])
    return words


def _words(parser: argparse.ArgumentParser) -> list[str]:
    found: list[str] = []
    for action in parser._actions:
        found += [text for text in action.option_strings if text.startswith("--")]
        if isinstance(action, argparse._SubParsersAction):
            found += list(action.choices)
    return sorted(set(found))


def _bash(tree: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    {verb}) words="{" ".join(words)}" ;;' for verb, words in tree.items() if verb)
    return f"""_neuronwatch() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words="{" ".join(tree[""])}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _neuronwatch neuronwatch
"""


def _zsh(tree: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(tree)


def _fish(tree: dict[str, list[str]]) -> str:
    lines = [f"complete -c neuronwatch -n __fish_use_subcommand -f -a '{' '.join(tree[''])}'"]
    for verb, words in tree.items():
        if verb:
            lines.append(f"complete -c neuronwatch -n '__fish_seen_subcommand_from {verb}' -a '{' '.join(words)}'")
    return "\n".join(lines) + "\n"
