#!/usr/bin/env bash
# The tests of the Go package, as TAP: formatting, vet, tests and examples, the race detector, the fuzz targets' seeds; with
# the argument `conformance` or `pure` the runner of the conformance kit, with `fuzz SECONDS` the fuzz target. Writes below
# the build directory alone and needs no network.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
build=${NAY_BUILD:?} source=${NAY_SOURCE:?}
if ! command -v go >/dev/null; then echo "ok 1 - go # SKIP no go here (make deps TIER=test)"; echo "1..1"; exit 0; fi
export GOCACHE=$build/go/cache GOPATH=$build/go/path GOTMPDIR=$build/go/tmp GOFLAGS=-mod=mod GOPROXY=off GOENV=off GOTOOLCHAIN=local
# go does not see when a header changes that is outside of its package: their sum is part of the flags
sum=$(cat "$source"/include/*.h | cksum | cut -d ' ' -f 1)
export CGO_CFLAGS="-O2 -I$source/include -DNAY_HEADERS=$sum" CGO_LDFLAGS=-L$build LD_LIBRARY_PATH=$build NAY_CONFORMANCE=$source/tests/conformance
export CC=${NAY_CC:-cc}
mkdir -p "$GOTMPDIR"
failed=0 n=0
tap() { # description command...
  n=$((n + 1)); local what=$1 out; shift
  if out=$("$@" 2>&1); then echo "ok $n - $what"; else
    echo "not ok $n - $what"; printf '%s\n' "$out" | grep -v '^ok [0-9]' | head -n 40 | sed 's/^/# /'; failed=1; fi
}
formatted() { local out; out=$(gofmt -l .) && [ -z "$out" ] || { echo "gofmt would change: $out"; return 1; }; }
race_is_seen() { # the test fails, as it must
  local out; out=$(NAY_GO_RACE=1 go test -race -count=1 -run TestRaceIsSeen . 2>&1)
  [[ $out == *"WARNING: DATA RACE"* ]] || { echo "$out"; return 1; }
}

kit() { # test: TAP of the runner; go's own lines are no TAP
  go test -count=1 -v -run "$1" . | sed -n '/^\(not \)\{0,1\}ok [0-9]* - /p; /^# /p; /^1\.\./p'
  exit "${PIPESTATUS[0]}"
}
case ${1:-} in
  conformance) kit 'TestConformance$' ;;
  pure) kit 'TestConformancePure$' ;;
  lab) go run "$source/tests/conformance/lab/lab.go"; exit ;; # lab.sh there compares what it prints
  fuzz)
    tap "the pure reader and libnay agree on what the fuzzer finds" \
      go test -run FuzzDecode -fuzz FuzzDecode -fuzztime "${2:-60}s" -parallel 2 . ;;
  *)
    tap "gofmt" formatted
    tap "go vet" go vet ./...
    tap "go test" go test -count=1 ./...
    tap "go test -race" go test -race -count=1 -run 'Goroutines|Batches|Closed|Files' ./...
    tap "the race detector sees a change beside a test" race_is_seen
    tap "without cgo the pure reader builds" env CGO_ENABLED=0 go vet ./reader
    ;;
esac
echo "1..$n"
exit $failed
