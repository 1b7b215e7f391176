# Everything a developer runs. `make demo` and `make test` work on an empty machine with Python 3.10 or newer.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= .venv-jobs

.PHONY: demo test check torture bench docs clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# The Python of training and serving, without neuronwatch, as on an instance. torch comes first: others would bring another one.
$(JOBS)/.ready: training/requirements.txt
	$(PYTHON) -m venv $(JOBS)
	$(JOBS)/bin/python -m pip install --quiet --upgrade pip
	$(JOBS)/bin/python -m pip install --quiet $$(grep '^torch==' training/requirements.txt)
	$(JOBS)/bin/python -m pip install --quiet --requirement training/requirements.txt
	touch $@

demo: $(VENV)/.ready  ## sets everything up and shows a real diagnosis
	@$(BIN)/neuronwatch diagnose fixtures/cases/driver-229-needs-runtime-233/evidence || true

test: $(VENV)/.ready $(JOBS)/.ready  ## the tests of every change (at most 15 minutes)
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.ready  ## types, lint, architecture, rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/neuronwatch rules lint
	$(BIN)/neuronwatch rules test

torture: $(VENV)/.ready  ## long seeded campaigns; results go to docs/torture.md by hand
	$(BIN)/python -m pytest tests/torture -n 2 -m torture

bench: $(VENV)/.ready  ## ratios against ripgrep, side by side
	$(BIN)/python bench/run.py

docs: $(VENV)/.ready
	$(BIN)/neuronwatch rules docs docs/rules

clean:
	rm -rf $(VENV) $(JOBS) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
