# Each target makes the environment that it needs in .venv, from pyproject.toml, and is quick the second time.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.SECONDARY:
.PHONY: help demo docs test test-agents-all test-dialects check check-agents coverage mutants spec-mutants attack bench bench-gateways bench-envoy interop checker-pages soak format clean

help:
	@echo "make demo    one failure without and with toolfault, the ten codes, two retries (ARGS=--all: every call)"
	@echo "make test    run the tests"
	@echo "make test-packages  the tables against the packages that they speak of, in an environment of their own"
	@echo "make test-services  SDKs of services, each for real, against a stub that fails as told"
	@echo "make test-mysqlclient  the driver that needs the C library of MySQL to build"
	@echo "make test-fastmcp   the middleware for FastMCP 4, in an environment of its own"
	@echo "make test-mcp1      servers and clients of mcp 1.x; test-mcp1-lowest: of the lowest that is supported"
	@echo "make test-peers      servers of others, plain and guarded; test-peers-mcp1: those of mcp 1.x"
	@echo "make test-agents-all  the adapters for agent frameworks, in six environments"
	@echo "make test-dialects    A2C-SMCP and A2A against the packages of each release line, in five environments"
	@echo "make test-envoy       the gateway's judgement inside the real Envoy"
	@echo "make docs    build the site of documentation into build/site, and test it"
	@echo "make test-package  the package, built and installed with each extra into empty environments"
	@echo "make check   ruff, mypy, pyright; check-agents: the adapters for agent frameworks"
	@echo "make coverage  the tests again, with branches counted; fails below the minimum"
	@echo "make mutants   break 200 places of the core, and count which the tests notice (an hour)"
	@echo "make spec-mutants  break the library one rule at a time, and show which case of the specification notices"
	@echo "make attack    hostile exceptions, slow inputs, planted secrets, mutated answers (ARGS=--quick: a minute)"
	@echo "make bench   speed, as ratios measured side by side; bench-gateways: beside other bridges; bench-envoy"
	@echo "make interop official clients in other languages (Node; Go, Rust, Java where they are) against our server, and the specification's example in TypeScript"
	@echo "make checker-pages  check public servers, and write what was found to docs/checker (Node, five minutes)"
	@echo "make soak    ten thousand calls, one in three failing (ARGS=--quick: fewer)"
	@echo "make format  let ruff rewrite the code"
	@echo "make clean   remove the environments, and what interop built"

# An environment that a removed or older Python left behind is made anew.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell $(BIN)/python -c 'import sys, pip; print(sys.version_info >= (3, 11))' 2>/dev/null),True)
$(info ==> $(VENV) holds no working Python 3.11 or newer: it is made anew)
$(shell rm -rf $(VENV))
endif
endif

$(BIN)/python:
	@echo "==> making an environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("toolfault needs Python 3.11 or newer, and %s is %s: make PYTHON=python3.12 ..." % (sys.executable, sys.version.split()[0])) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.%.stamp: pyproject.toml | $(BIN)/python
	@echo "==> installing toolfault and what 'make $*' needs into $(VENV) (once, about a minute)"
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --editable . --group $*
	@touch $@

$(VENV)-%/.stamp: pyproject.toml
	@echo "==> making an environment in $(VENV)-$* with what 'make test-$*' needs (once, a minute or two)"
	@$(PYTHON) -m venv $(VENV)-$*
	@$(VENV)-$*/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(VENV)-$*/bin/python -m pip install --quiet --editable . --group $*
	@touch $@

demo: $(VENV)/.demo.stamp
	@$(BIN)/python example_server/demo.py $(ARGS)

test: $(VENV)/.test.stamp
	@echo "==> running the tests"
	@$(BIN)/python -m pytest -q $(ARGS)

# Strict: a dead link or anchor fails, and so does a page that the navigation forgets.
docs: $(VENV)-docs/.stamp
	@echo "==> building the site into build/site"
	@NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --strict --quiet
	@$(VENV)-docs/bin/python -m pytest -q tests/site $(ARGS)

# The folder with the tests of an environment whose name is not its folder's.
FOLDER_mcp1-lowest        := mcp1
FOLDER_agents-lowest      := agents
FOLDER_agents-mcp1        := agents_mcp1
FOLDER_agents-mcp1-lowest := agents_mcp1
FOLDER_agents-mcp2        := agents_mcp2
FOLDER_agents-crewai      := agents_crewai
FOLDER_peers-mcp1         := peers
FOLDER_a2c-2              := dialects/a2c
FOLDER_a2c-3              := dialects/a2c
FOLDER_a2c-4              := dialects/a2c
FOLDER_a2a-0              := dialects/a2a
FOLDER_a2a-1              := dialects/a2a

test-%: $(VENV)-%/.stamp
	@echo "==> running the tests of tests/$(or $(FOLDER_$*),$*) in an environment of their own"
	@$(VENV)-$*/bin/python -m pytest -q tests/$(or $(FOLDER_$*),$*) $(ARGS)

# The example server needs the SDK's second major; these frameworks, its clients, the first.
test-agents-lowest test-agents-mcp1 test-agents-mcp1-lowest test-agents-crewai: $(VENV)/.demo.stamp
test-agents-lowest test-agents-mcp1 test-agents-mcp1-lowest test-agents-crewai: export TOOLFAULT_SERVER_PYTHON = $(CURDIR)/$(BIN)/python

test-agents-all: test-agents test-agents-lowest test-agents-mcp1 test-agents-mcp1-lowest test-agents-mcp2 test-agents-crewai
test-dialects: test-a2c-2 test-a2c-3 test-a2c-4 test-a2a-0 test-a2a-1

check: $(VENV)/.check.stamp
	@echo "==> ruff check"
	@$(BIN)/ruff check
	@echo "==> ruff format"
	@$(BIN)/ruff format --check
	@echo "==> mypy"
	@$(BIN)/mypy
	@echo "==> pyright"
	@$(BIN)/pyright
	@echo "==> the types of the pages' code"
	@$(BIN)/python tests/typing/pages.py

# Each framework's adapter is checked against that framework.
check-agents: $(VENV)/.check.stamp $(VENV)-agents/.stamp $(VENV)-agents-mcp1/.stamp $(VENV)-agents-mcp2/.stamp $(VENV)-agents-crewai/.stamp
	@for env in agents agents_mcp1 agents_mcp2 agents_crewai; do \
		echo "==> mypy and pyright with the frameworks of tests/$$env"; \
		files=$$($(BIN)/python -c 'import json, sys; print(*(name.removeprefix("../../") for name in json.load(open(sys.argv[1]))["include"]))' tests/$$env/pyrightconfig.json); \
		$(BIN)/mypy --python-executable $(VENV)-$$(echo $$env | tr _ -)/bin/python $$files && \
		$(BIN)/pyright -p tests/$$env || exit 1; \
	done

# The minimum is what the suite covers without the modules whose framework is in another environment.
COVERED := mcp1 fastmcp envoy
coverage: $(VENV)/.test.stamp $(COVERED:%=$(VENV)-%/.stamp)
	@echo "==> running the tests with branches counted"
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(ARGS)
	@for env in $(COVERED); do \
		echo "==> and those of tests/$$env"; \
		$(VENV)-$$env/bin/python -m coverage run -m pytest -q tests/$$env || exit 1; \
	done
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=96

mutants: $(VENV)/.test.stamp
	@$(BIN)/python tests/mutants.py $(ARGS)

spec-mutants: $(VENV)/.test.stamp
	@$(BIN)/python tests/spec_mutants.py $(ARGS)

attack: $(VENV)/.test.stamp
	@$(BIN)/python tests/support/attack.py $(ARGS)

bench: $(VENV)/.test.stamp
	@$(BIN)/python tests/bench/run.py $(ARGS)
	@PYTHONPATH=tests/support $(BIN)/python tests/bench/gateways.py $(if $(findstring --quick,$(ARGS)),--quick)

# The gateway again, beside other bridges, each in an environment of its own.
bench-gateways: $(VENV)/.test.stamp $(VENV)-fastmcp/.stamp $(VENV)-mcp-proxy/.stamp
	@PYTHONPATH=tests/support $(BIN)/python tests/bench/gateways.py --fastmcp $(VENV)-fastmcp/bin/python --mcp-proxy $(VENV)-mcp-proxy/bin/mcp-proxy $(ARGS)

# The same for the gateway's judgement inside Envoy.
bench-envoy: $(VENV)-envoy/.stamp
	@PYTHONPATH=tests/support $(VENV)-envoy/bin/python tests/envoy/cost.py

interop: $(VENV)/.test.stamp
	@echo "==> clients in other languages against our server (the first time, they are installed and built)"
	@$(BIN)/python -m pytest -q -rs tests/interop $(ARGS)

checker-pages: $(VENV)/.test.stamp $(VENV)-peers/.stamp $(VENV)-peers-mcp1/.stamp
	@echo "==> checking public servers for docs/checker (about five minutes)"
	@cd tests/checked && npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts
	@$(BIN)/python tests/checked/write_pages.py $(ARGS)

soak: $(VENV)/.test.stamp
	@PYTHONPATH=tests/support $(BIN)/python tests/soak/soak.py $(ARGS)
	@PYTHONPATH=tests/support $(BIN)/python tests/soak/gateway.py $(ARGS)

format: $(VENV)/.check.stamp
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

clean:
	rm -rf $(VENV) $(VENV)-* build specs/examples/typescript/build specs/examples/typescript/node_modules tests/interop/node/*/node_modules tests/checked/node_modules tests/interop/go/build tests/interop/*/target
