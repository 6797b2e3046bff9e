# The commands of every day. Each does its own set-up; the work itself is in CMake and scripts/.
.DEFAULT_GOAL := all
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all demo test test-quick test-long fuzz bench bench-quick bench-sst bench-billion install uninstall \
        amalgamation format lint coverage clean help

all: ## build the library and the nay command (build/release)
	@scripts/bootstrap
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: all ## build everything, then show the main job on real data
	@scripts/demo

test: ## everything that CI checks; ends in "N passed, N failed"
	@scripts/bootstrap test
	@scripts/test

test-quick: ## one build, no sanitizers, no statistics: for the edit loop
	@scripts/bootstrap test
	@scripts/test quick

test-long: ## the slow tier: more probes, more mutations, other CPUs, a minute of each fuzz target
	@scripts/bootstrap long
	@scripts/test long

fuzz: ## one minute of libFuzzer on each target (FUZZ_SECONDS=60)
	@scripts/bootstrap test
	@scripts/fuzz

bench: ## time every filter beside its peers; BENCH="--sizes 1M --keep bench/results" adds options
	@scripts/bootstrap bench
	@$(MAKE) --no-print-directory all
	@build/release/bench/nay-bench --commit "$$(git describe --always --dirty 2>/dev/null)" \
	  --json build/release/bench/bench.json --svg build/release/bench/bench.svg $(BENCH)

bench-quick: ## the same in under two minutes, smaller sizes
	@$(MAKE) --no-print-directory bench BENCH="--quick $(BENCH)"

bench-sst: ## tables beside LevelDB's, and lookups over a hundred of them: about two minutes
	@scripts/bootstrap bench
	@$(MAKE) --no-print-directory all
	@build/release/bench/nay-bench-sst $(BENCH)

bench-billion: all ## build a filter of 10^9 keys: 8 GB of temporary file, some minutes
	@bench/peers/billion

install: all ## install below $(DESTDIR)$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

uninstall: ## remove what the last install of this build wrote
	@scripts/uninstall build/release "$(DESTDIR)"

amalgamation: ## write the library as two files, dist/nay.c and dist/nay.h
	@scripts/bootstrap
	@python3 tools/amalgamate.py dist

format: ## clang-format all sources
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: ## layers, formatting, headers, documentation
	@scripts/bootstrap test
	@scripts/lint

coverage: ## line and branch coverage of the library
	@scripts/bootstrap coverage
	@scripts/coverage

clean: ## remove build/ and dist/
	@rm -rf build dist

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14
