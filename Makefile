# Every target sets up what it needs, on a machine that has only Python 3.11 or newer and make.
# `make PYTHON=/path/to/python3.12 …` names the interpreter; otherwise the newest suitable one on PATH is taken.

.DEFAULT_GOAL := help
.PHONY: help install serve test test-fast lint check format bench bench-quick bench-bars bench-safety fuzz soak clean runtime FORCE
SHELL := /bin/sh

BIN := .venv/bin
JOBS = --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
ENVIRONMENT := pyproject.toml uv.lock
SET_UP = if test -n "$(MADE_IN)" && test "$(MADE_IN)" != "$(CURDIR)"; then rm -rf .venv; fi; \
	python=$$(PYTHON="$(PYTHON)" sh tools/find-python) && "$$python" -m tools.bootstrap

# An environment made elsewhere (a copied checkout: its scripts name the other place) or whose interpreter has gone is
# made anew.
MADE_IN := $(shell test -x $(BIN)/python && cat .venv/.made-in 2>/dev/null)
ifneq ($(MADE_IN),$(CURDIR))
STALE := FORCE
endif

help: ## show this list
	@echo "Antiphon: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

install: .venv/.everything ## create .venv with everything: runtime, tests, lint (re-runs are no-ops)
	@echo "install: $(BIN)/antiphon is the command"

serve: .venv/.runtime ## run the gateway (ARGS="-c antiphon.toml" to choose settings)
	@echo "serve: antiphon serve $(ARGS)"
	@exec $(BIN)/antiphon serve $(ARGS)

test: .venv/.everything ## run the tests (ARGS="tests/http -x" to choose)
	@echo "test: pytest $(JOBS) $(ARGS)"
	@$(BIN)/pytest $(JOBS) $(ARGS)

test-fast: .venv/.everything ## run the tests of the daily loop: no engine, no child processes; under a minute
	@echo "test-fast: pytest $(JOBS) --fast"
	@$(BIN)/pytest $(JOBS) --fast $(ARGS)

lint: .venv/.everything ## check format, lint, types, import rules and the lock file
	@echo "lint: ruff format --check"
	@$(BIN)/ruff format --check
	@echo "lint: ruff check"
	@$(BIN)/ruff check
	@echo "lint: mypy --strict"
	@$(BIN)/mypy
	@echo "lint: import rules"
	@$(BIN)/lint-imports --no-cache
	@echo "lint: uv.lock is current"
	@$(SET_UP) check-lock

check: test lint ## test, then lint

format: .venv/.everything ## rewrite the code in house format, with what lint can repair by itself
	@echo "format: ruff format, ruff check --fix"
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench-quick: .venv/.runtime ## nginx, Antiphon and one Rust router in a duel; ratios on the last line
	@echo "bench-quick: installing peers where missing, then a duel of about a minute and a half"
	@$(BIN)/python -m bench.duel --quick

bench-bars: .venv/.runtime ## every figure that has a bar in bench/RESULTS.md; a quarter of an hour on a quiet machine
	@echo "bench-bars: frames, start, hold-back, then duels of 5 rounds without and with safety"
	@$(BIN)/python -m bench.frames
	@$(BIN)/python -m bench.start
	@$(BIN)/python -m bench.start --routes 10000 --runs 3
	@$(BIN)/python -m bench.hold --streams 40 --words 25
	@$(BIN)/python -m bench.duel --rounds 5 nginx antiphon vllm_router
	@$(BIN)/python -m bench.duel --rounds 5 nginx antiphon_safety antiphon_filter
	@$(BIN)/python -m bench.duel --rounds 5 --pace 20 --cases paced nginx antiphon antiphon_safety antiphon_filter

bench: .venv/.runtime ## every gateway that can be installed here, memory per stream, cold start; minutes
	@echo "bench: installing peers where missing; memory per stream, cold start, then a duel of all"
	@$(BIN)/python -m bench.streams
	@$(BIN)/python -m bench.start
	@$(BIN)/python -m bench.duel --all --rounds 3

bench-safety: .venv/.everything ## figures of the evaluators: own held-out rows, and sets in ANTIPHON_SAFETY_DATA; minutes
	@echo "bench-safety: what is found, what is flagged wrongly, what it costs"
	@$(BIN)/python -m bench.safety

fuzz: .venv/.runtime ## mutated requests and answers against a real gateway, about a minute (ARGS="--seed 2 --seconds 300")
	@echo "fuzz: python -m fuzz $(ARGS)"
	@exec $(BIN)/python -m fuzz $(ARGS)

soak: .venv/.runtime ## mixed load; memory and descriptors must stay flat (ARGS="--minutes 5"; default 30)
	@echo "soak: python -m fuzz soak $(ARGS)"
	@exec $(BIN)/python -m fuzz soak $(ARGS)

clean: ## remove .venv, .tools, caches and bench/build
	@echo "clean: .venv .tools caches bench/build"
	@rm -rf .venv .venv-clients tests/clients/node/node_modules .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist bench/build fuzz/found
	@find src tests bench fuzz tools -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.everything: $(ENVIRONMENT) $(STALE)
	@echo "install: .venv from uv.lock, everything"
	@$(SET_UP) everything
	@printf %s "$(CURDIR)" > .venv/.made-in
	@touch .venv/.runtime $@

.venv/.runtime: $(ENVIRONMENT) $(STALE)
	@echo "install: .venv from uv.lock, what serving needs"
	@$(SET_UP) runtime
	@printf %s "$(CURDIR)" > .venv/.made-in
	@touch $@

FORCE:
