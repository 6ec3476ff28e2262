# The everyday commands; `make help` lists them. Everything is installed into .venv.
PYTHON ?= python3
BIN = .venv/bin
INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
# A pipe hides an error of git, which `check` therefore runs alone first.
TEMPLATES = git ls-files -co --exclude-standard 'templates/*.html' | xargs -r
# A file's tests stay together, and long groups start first.
SPREAD = --numprocesses auto
FLOOR = $(BIN)/coverage report --include='jpweb/stream/*,jpweb/agent/*' --fail-under=100

.PHONY: help run run-team test chaos proof check bench pictures clean

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-16s%s\n", $$1, $$2 }'

run: .venv/runtime ## serve on 127.0.0.1; WORKSPACE=/some/repo also shows that JP workspace
	@exec $(BIN)/python manage.py serve $(if $(WORKSPACE),--workspace "$(WORKSPACE)")

run-team: .venv/runtime ## as a team has it: PostgreSQL, Redis, two web servers, two workers
	@exec $(BIN)/python manage.py team $(if $(WORKSPACE),--workspace "$(WORKSPACE)")

test: export JPWEB_SYNC ?= normal
test: .venv/dev ## run all tests but proof and chaos, at a quick size; ARGS=... runs pytest with these alone
	@$(BIN)/python -m tests.machine
	@$(BIN)/python -m pytest $(if $(ARGS),$(ARGS),$(SPREAD) -m "not proof and not chaos")

chaos: export JPWEB_SYNC ?= normal
chaos: .venv/dev ## kill, cut and fill what a team runs on, for six minutes
	@$(BIN)/python -m tests.machine
	@$(BIN)/python -m pytest $(SPREAD) -m "chaos and not proof"

proof: export JPWEB_PROOF = 1
proof: export JPWEB_FUZZ_SECONDS ?= 60
proof: .venv/dev ## run all tests at full size, and the coverage floors
	@$(BIN)/python -m tests.machine
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(SPREAD) -m "not chaos"
	@$(BIN)/coverage run -m pytest -m chaos
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report
	@$(FLOOR)

test chaos proof check: export JPWEB_SECRET_KEY = only-for-tests
check: export DATABASE_URL = sqlite://:memory:
check: .venv/dev ## format, lint, types, layers, templates, migrations, settings
	@git ls-files --error-unmatch Makefile >/dev/null
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(TEMPLATES) $(BIN)/djade --check --target-version 5.2
	$(TEMPLATES) $(BIN)/djlint --lint --quiet
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check --fail-level WARNING

bench: .venv/dev ## measure against floors of the same run; ONLY=a,b picks, TOY=1 is quick
	@$(BIN)/python -m tests.load $(if $(ONLY),--only "$(ONLY)") $(if $(TOY),--toy)

pictures: .venv/dev ## take the pictures of README and docs again
	@$(BIN)/python -m tests.browser.pictures

clean: ## remove .venv and caches; your data (var/) stays
	rm -rf .venv .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache *.egg-info
	find jpweb tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "jpweb needs Python 3.11 or newer; name one with PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv .venv

.venv/runtime: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing jpweb into .venv ..."
	@$(INSTALL) -e .
	@touch $@

.venv/dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing jpweb and its development tools into .venv ..."
	@$(INSTALL) -e '.[dev]'
	@touch .venv/runtime $@
