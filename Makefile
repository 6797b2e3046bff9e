# The commands of every day; the work itself is in CMake and scripts/. `make demo` and `make test` do their own set-up.
.DEFAULT_GOAL := all
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all deps demo test test-quick test-long fuzz bench bench-quick bench-keep bench-sst bench-kv bench-web bench-languages bench-billion \
        install uninstall install-sqlite install-postgres install-duckdb amalgamation wasm playground site pictures format lint abi-check abi-dump coverage clean help

.PHONY: dist static deb

# deps installs what is missing; demo and the tests do, too, after a question where a terminal is there; the others name it
# and stop. NAY_BOOTSTRAP=no: neither.
TIER ?= build

all: ## build the library and the nay command (build/release); names missing packages, installs none
	@scripts/bootstrap check
	@cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null
	@cmake --build --preset release -j $(JOBS)

deps: ## install missing Debian packages: TIER=build, demo, test, coverage, long or bench
	@scripts/bootstrap $(TIER)

demo: ## install what is missing, build everything, then show the main job on real data
	@scripts/bootstrap ask demo
	@$(MAKE) --no-print-directory all
	@scripts/demo

test: ## install what is missing, then everything that CI checks; ends in "N passed, N failed"
	@scripts/bootstrap ask test
	@scripts/test

test-quick: ## one build, no sanitizers, no statistics: for the edit loop
	@scripts/bootstrap ask test
	@scripts/test quick

test-long: ## the slow tier: more probes, more mutations, other CPUs, the ABI, a minute of each fuzz target
	@scripts/bootstrap ask long
	@scripts/test long

fuzz: ## one minute of libFuzzer on each target (FUZZ_SECONDS=60)
	@scripts/bootstrap check test
	@scripts/fuzz

bench: ## time every filter beside its peers; BENCH="--sizes 1M --keep bench/results" adds options
	@scripts/bootstrap check bench
	@$(MAKE) --no-print-directory all
	@build/release/bench/nay-bench --commit "$$(git describe --always --dirty 2>/dev/null)" \
	  --json build/release/bench/bench.json --svg build/release/bench/bench.svg $(BENCH)

bench-quick: ## the same in under two minutes, smaller sizes
	@$(MAKE) --no-print-directory bench BENCH="--quick $(BENCH)"

bench-sst: ## tables beside LevelDB's, and lookups over a hundred of them: about two minutes
	@scripts/bootstrap check bench
	@$(MAKE) --no-print-directory all
	@build/release/bench/nay-bench-sst $(BENCH)

bench-kv: ## the store of examples/kv beside LevelDB: about two minutes
	@scripts/bootstrap check bench
	@$(MAKE) --no-print-directory all
	@build/release/bench/nay-bench-kv $(BENCH)

bench-web: ## the WebAssembly module beside the filters of npm, in node and in Chromium: about a minute
	@scripts/bootstrap check test
	@web/wasm/build
	@node web/bench/bench.mjs $(BENCH)

bench-languages: all ## what a call costs in each language, over C, in one run: about two minutes, quiet machine
	@scripts/bootstrap check test
	@bindings/cost.py build/release $(BENCH)

bench-keep: ## the run whose results are kept in bench/results: some 12 minutes, 6 GiB, quiet machine
	@$(MAKE) --no-print-directory bench BENCH="--keep bench/results --reps 3 --seconds 1.2 \
	  --large blocked,Blocked,FastLocal,fuse,Fuse $(BENCH)"
	@build/release/bench/nay-bench-threads

bench-billion: all ## build a filter of 10^9 keys: 8 GB of temporary file, some minutes
	@bench/peers/billion

install: all ## install below $(DESTDIR)$(PREFIX)
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

# The plug-ins of SQL engines. RELEASE: a build directory that is there already, which is not configured again; tests give theirs.
RELEASE ?= build/release
configure-release = scripts/bootstrap check; \
  $(if $(filter build/release,$(RELEASE)),cmake --preset release -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null,:)

install-sqlite: ## install the extension for SQLite alone: lib/nay/sqlite/nay.so; needs libsqlite3-dev
	@$(configure-release)
	@cmake --build "$(RELEASE)" -j $(JOBS) --target nay_sqlite
	@DESTDIR="$(DESTDIR)" cmake --install "$(RELEASE)" --prefix "$(PREFIX)" --component sqlite

install-duckdb: ## install the extension for DuckDB alone: lib/nay/duckdb/nay.duckdb_extension
	@$(configure-release)
	@cmake --build "$(RELEASE)" -j $(JOBS) --target nay_duckdb
	@DESTDIR="$(DESTDIR)" cmake --install "$(RELEASE)" --prefix "$(PREFIX)" --component duckdb

PG_CONFIG ?= pg_config
install-postgres: ## install the extension for PostgreSQL where PG_CONFIG says; needs postgresql-server-dev-15
	@$(configure-release)
	@cmake --build "$(RELEASE)" -j $(JOBS) --target nay_static
	@mkdir -p "$(RELEASE)/postgres"
	@$(MAKE) -C "$(RELEASE)/postgres" -f "$(CURDIR)/plugins/postgres/Makefile" PG_CONFIG="$(PG_CONFIG)" \
	  NAY_BUILD="$(abspath $(RELEASE))" DESTDIR="$(DESTDIR)" all install

dist: ## the release of HEAD: dist/nay-VERSION.tar.gz, its SHA-256 and its SBOM; the same bytes everywhere
	@scripts/dist

static: ## one nay without dynamic dependencies: build/static/cli/nay
	@scripts/bootstrap check
	@scripts/static

deb: ## Debian packages of HEAD: dist/deb; needs debhelper and what the plug-ins need (TIER=long)
	@scripts/bootstrap check long
	@scripts/deb

uninstall: ## remove what the last install wrote below the same $(DESTDIR)$(PREFIX)
	@scripts/uninstall build/release "$(PREFIX)" "$(DESTDIR)"

amalgamation: ## write libnay as two files, dist/nay.c and dist/nay.h (libnaysst too: tools/amalgamate.py --sst)
	@scripts/bootstrap check
	@python3 tools/amalgamate.py dist

wasm: ## build the library as WebAssembly and the npm package around it: build/wasm/libnay
	@scripts/bootstrap check test
	@web/wasm/build

playground: wasm ## the library at work in one page that needs no server: build/site/playground.html
	@python3 web/playground/bundle.py build/wasm/libnay/index.js build/wasm/libnay-trace.wasm \
	  build/site/playground.html

site: playground ## home page, documents and the playground as pages: build/site/index.html; NAY_SITE= their address
	@python3 web/site/site.py build/site
	@python3 web/site/site.py --check build/site

pictures: playground ## doc/img: the diagrams of the lessons, drawn by the library; README's and other pictures of the playground
	@node web/site/diagrams.mjs build/wasm/libnay/index.js build/wasm/libnay-trace.wasm
	@node web/site/pictures.mjs build/site/playground.html

format: ## clang-format all sources
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint: ## layers, formatting, headers, documentation
	@scripts/bootstrap check test
	@scripts/lint

abi-check: ## compare both shared libraries with the ABIs that tests/abi stores
	@scripts/bootstrap check test
	@cmake --preset dev >/dev/null && cmake --build --preset dev -j $(JOBS) --target nay_shared naysst_shared >/dev/null
	@scripts/abi check

abi-dump: ## store their ABIs there: after an incompatible change, and at each release
	@scripts/bootstrap check test
	@cmake --preset dev >/dev/null && cmake --build --preset dev -j $(JOBS) --target nay_shared naysst_shared >/dev/null
	@scripts/abi dump

coverage: ## line and branch coverage of the library
	@scripts/bootstrap check coverage
	@scripts/coverage

clean: ## remove build/ and dist/
	@rm -rf build dist

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14
