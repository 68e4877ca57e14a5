# Every target does its own set-up (tools/setup), so a fresh clone needs no other command.
BIN := .venv/bin
ARGS ?=

# Python keeps what it compiled, even where a machine says otherwise: each of the many
# processes of the tests would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test check trust bench format dist fresh

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile

setup: ## .venv with everything developers need
	@tools/setup test

run: ## the service with a demo store, on this machine
	@tools/setup run
	@exec $(BIN)/productrecs demo $(ARGS)

test: ## the whole suite, on SQLite and PostgreSQL (ARGS goes to pytest)
	@tools/setup test
	@$(BIN)/python -m pytest -q -n 3 --dist worksteal $(ARGS)

check: ## format, lint, types, import contracts, dead code, file sizes
	@tools/setup check
	@$(BIN)/python tools/check.py

trust: ## the long forms of the trust tests; takes as long as it takes
	@tools/setup trust
	@$(BIN)/python -m pytest -v -m trust --timeout=0 --hypothesis-profile=trust $(ARGS)
	@[ "$$(id -u)" -ne 0 ] || $(BIN)/python tools/fresh.py

bench: ## speed and quality, as JSON lines and one table
	@tools/setup bench
	@$(BIN)/python -m benchmarks $(ARGS)

dist: ## what a release consists of, into dist/, and tried
	@tools/setup check
	@$(BIN)/python tools/dist.py $(ARGS)

fresh: ## make run and make test on minimal Debian 12 and 13, as root
	@tools/setup check
	@$(BIN)/python tools/fresh.py $(ARGS)

format: ## let ruff rewrite what it can
	@tools/setup check
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
