# `make demo` and `make test` are each complete on a machine that has Python 3.11 or newer, git and gcc: they set up .venv first.
# PYTHON=... chooses the interpreter, PYTEST_ARGS=... reaches pytest, TOX_ARGS=... reaches tox.

PYTHON =
WORKERS = auto
PYTEST_ARGS =
TOX_ARGS =

# Relative on purpose: make cannot handle a space in a target, and the checkout may lie under a path that has one.
VENV = .venv
RUN = $(VENV)/bin/python
PIP = $(RUN) -m pip --disable-pip-version-check install --quiet
PROJECTS = -e './tjcore[cli]' -e ./tjbackend_gcc -e ./tjbackend_clang
SETTINGS = pyproject.toml tjcore/pyproject.toml tjbackend_gcc/pyproject.toml tjbackend_clang/pyproject.toml

# Interpreters that pyenv has installed but not made global answer to no name on the PATH: tox is told where they are.
PYENV_ROOT ?= $(HOME)/.pyenv
PYTHONS = $(wildcard $(PYENV_ROOT)/versions/3.1[1-3].*/bin/python)

.PHONY: help demo test lint matrix sanitize clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo    train a digit classifier through generated C, and show its kernels and its memory plan'
	@echo 'make test    every test, with each toolchain that is found'
	@echo 'make lint    ruff, mypy and the import layers'
	@echo 'make matrix  tox: each Python with each toolchain from wheels, the core alone, a foreign plugin, lint'
	@echo 'make sanitize  the suite of toolchains under the address and undefined-behaviour sanitizers: half an hour'
	@echo 'make clean   remove everything that these made'

demo: $(VENV)/demo.stamp
	$(RUN) -m tjcore

test: $(VENV)/test.stamp
	$(RUN) -m pytest -n $(WORKERS) --maxprocesses=8 $(PYTEST_ARGS)

lint: $(VENV)/dev.stamp
	$(RUN) -m ruff check
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports --no-logo

matrix: $(VENV)/dev.stamp
	$(RUN) -m tox run $(if $(PYTHONS),--discover $(PYTHONS)) $(TOX_ARGS)

sanitize: $(VENV)/dev.stamp
	$(RUN) -m tox run -e sanitize $(TOX_ARGS)

# A stamp says that what it is named after has been installed since the settings last changed.
$(VENV)/python.stamp:
	@echo 'Setting up .venv; this happens once.'
	@set -eu; \
	for python in $(if $(PYTHON),'$(PYTHON)',python3 python3.13 python3.12 python3.11 python); do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
	done; \
	if [ -z "$${found-}" ]; then \
	  echo 'tjcore needs Python 3.11 or newer, and $(if $(PYTHON),$(PYTHON) is not,none of python3, python3.13, python3.12, python3.11 and python is).' >&2; \
	  echo 'Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3' >&2; \
	  exit 1; \
	fi; \
	rm -rf $(VENV); \
	if "$$found" -c 'import ensurepip' 2>/dev/null; then "$$found" -m venv $(VENV); \
	else "$$found" -m venv --without-pip $(VENV) && "$$found" -m pip --python $(VENV)/bin/python install --quiet pip; fi
	@$(PIP) --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/demo.stamp: $(VENV)/python.stamp $(SETTINGS)
	@$(PIP) $(PROJECTS)
	@touch $@

$(VENV)/test.stamp: $(VENV)/demo.stamp pyproject.toml
	@$(PIP) --group test
	@touch $@

$(VENV)/dev.stamp: $(VENV)/test.stamp pyproject.toml
	@$(PIP) --group dev
	@touch $@

clean:
	rm -rf $(VENV) .tox .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
