# Everything a person types in this checkout. `make demo` and `make test` do their own set-up; twice is quick.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

BIN := .venv/bin
DEMO := .venv/.installed-demo
DEV := .venv/.installed-dev

# bytecode is written and kept: without it every process that imports Dagster starts three times as slowly
export PYTHONDONTWRITEBYTECODE :=
# the arithmetic is small; threads of its own only get in the way of processes side by side
export OPENBLAS_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export DAGSTER_HOME ?= $(CURDIR)/.s2s/dagster

.PHONY: help
help: ## list what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

.PHONY: demo
demo: $(DEMO) dagster-home ## run the demo study from recordings to a published board
	$(BIN)/s2s demo

.PHONY: test
test: $(DEV) system ## run all tests, on real services; ARGS="-k name" for some
	$(BIN)/pytest -n 2 --dist loadgroup $(ARGS)

.PHONY: check
check: $(DEV) ## format, lint, types, import rules, links and generated pages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/build.py --check

.PHONY: fix
fix: $(DEV) ## format, and repair what the linter can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(DEV) system ## time exchanges, the ranking beside its peers, handing out, and 200 raters at once; LARGE=1: and a database of 2 million answers
	$(BIN)/python s2s_assets_tests/bench_exchange.py
	$(BIN)/python s2s_assets_tests/bench.py --large
	$(BIN)/python s2s_assets_tests/bench_handing.py
	$(BIN)/python s2s_assets_tests/bench_load.py
	test -z "$(LARGE)" || $(BIN)/python s2s_assets_tests/bench_ratings.py

.PHONY: docs
docs: $(DEV) ## write docs/cli.md from the commands' help, and check every link
	$(BIN)/python docs/build.py

.PHONY: dev
dev: $(DEV) dagster-home ## open Dagster's UI on the study in S2S_STUDY
	$(BIN)/dg dev

.PHONY: materialize
materialize: $(DEMO) dagster-home ## add the study's partitions, then materialize every asset
	$(BIN)/s2s materialize

.PHONY: backfill
backfill: $(DEMO) dagster-home ## materialize one partition: KEY='model|voice|thinking'
	@test -n "$(KEY)" || { echo "make backfill: expected KEY='model|voice|thinking'" >&2; exit 2; }
	$(BIN)/s2s materialize --partition '$(KEY)'

.PHONY: lock
lock: $(DEV) ## write the lock files anew from pyproject.toml
	PATH="$(CURDIR)/$(BIN):$$PATH" requirements/lock

.PHONY: setup
setup: $(DEV) system ## all the set-up, and nothing else

.PHONY: clean
clean: ## remove the environment and caches; the studies' state in .s2s stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Dagster reads its settings from its home: this checkout's, with the home in the place of .s2s/dagster
.PHONY: dagster-home
dagster-home:
	@mkdir -p "$(DAGSTER_HOME)"
	@sed 's|: \.s2s/dagster|: $(DAGSTER_HOME)|' dagster.yaml > "$(DAGSTER_HOME)/dagster.yaml"

.venv/.created: requirements/bootstrap.txt
	infra/setup python
	@touch $@

$(DEMO): .venv/.created requirements/demo.txt pyproject.toml
	infra/setup packages demo
	@touch $@

$(DEV): .venv/.created requirements/dev.txt pyproject.toml
	infra/setup packages dev
	@touch $@

# looked for each time: it takes no time where all are there, and what is missing may be installed by then
.PHONY: system
system:
	@infra/setup system
