"""Build hook: the wheel carries the rule table compiled, so that a read-only installation starts fast without a cache."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledRules(BuildHookInterface):  # type: ignore[type-arg]
    """Writes `rules.compiled.json` and adds it to the wheel (not to an editable one, which reads the checkout)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from neuronwatch.source.rule_files import COMPILED, compiled_table

        self.made = Path(tempfile.mkdtemp(prefix="neuronwatch-build-"))
        target = self.made / COMPILED
        target.write_bytes(compiled_table(Path(self.root) / "rules"))
        build_data["force_include"][str(target)] = f"neuronwatch/_bundled/{COMPILED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.made, ignore_errors=True)
