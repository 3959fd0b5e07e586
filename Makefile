# Each target makes the environment that it needs in .venv, from pyproject.toml, and is quick the second time.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-packages check bench format clean

help:
	@echo "make demo    run the example server and call every tool that fails"
	@echo "make test    run the tests"
	@echo "make test-packages  run the tests of the tables for other packages, in an environment of their own"
	@echo "make check   ruff, mypy, pyright"
	@echo "make bench   speed, as ratios measured side by side"
	@echo "make format  let ruff rewrite the code"
	@echo "make clean   remove the environment"

$(BIN)/python:
	@echo "==> making an environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("toolfault needs Python 3.11 or newer, and %s is %s: make PYTHON=python3.12 ..." % (sys.executable, sys.version.split()[0])) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.%.stamp: pyproject.toml | $(BIN)/python
	@echo "==> installing toolfault and what 'make $*' needs into $(VENV) (once, about a minute)"
	@$(BIN)/python -m pip install --quiet --editable . --group $*
	@touch $@

$(VENV)-packages/.packages.stamp: pyproject.toml
	@echo "==> making an environment in $(VENV)-packages with the packages that the tables speak of (once, about two minutes)"
	@$(PYTHON) -m venv $(VENV)-packages
	@$(VENV)-packages/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(VENV)-packages/bin/python -m pip install --quiet --editable . --group packages
	@touch $@

demo: $(VENV)/.demo.stamp
	@$(BIN)/python example_server/demo.py

test: $(VENV)/.test.stamp
	@echo "==> running the tests"
	@$(BIN)/python -m pytest -q $(ARGS)

test-packages: $(VENV)-packages/.packages.stamp
	@echo "==> running the tests of the tables for other packages, against those packages"
	@$(VENV)-packages/bin/python -m pytest -q tests/packages $(ARGS)

check: $(VENV)/.check.stamp
	@echo "==> ruff check"
	@$(BIN)/ruff check
	@echo "==> ruff format"
	@$(BIN)/ruff format --check
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> pyright"
	@$(BIN)/pyright

bench: $(VENV)/.test.stamp
	@$(BIN)/python bench/run.py $(ARGS)

format: $(VENV)/.check.stamp
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

clean:
	rm -rf $(VENV) $(VENV)-packages
