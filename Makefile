# The commands of every day. Each does its own set-up; the work itself is in CMake and scripts/.
.DEFAULT_GOAL := all
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all demo test test-quick test-long fuzz bench bench-billion install uninstall format lint coverage clean help

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

test-long: ## the slow tier: more probes, more mutations, a minute of each fuzz target
	@scripts/bootstrap test
	@scripts/test long

fuzz: ## one minute of libFuzzer on each target (FUZZ_SECONDS=60)
	@scripts/bootstrap test
	@scripts/fuzz

bench: all ## time the main operations
	@build/release/bench/nay-bench

bench-billion: all ## build a filter of 10^9 keys: 8 GB of temporary file, some minutes
	@bench/peers/billion

install: all ## install below $(DESTDIR)$(PREFIX)
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

uninstall: ## remove what the last install of this build wrote
	@xargs -r -a build/release/install_manifest.txt -I{} rm -f "$(DESTDIR){}"

format: ## clang-format all sources
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: ## layers, exported names, formatting, documentation
	@scripts/bootstrap test
	@scripts/lint

coverage: ## line coverage of the library (needs gcovr)
	@scripts/bootstrap test
	@scripts/coverage

clean: ## remove build/
	@rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14
