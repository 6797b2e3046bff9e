#!/usr/bin/env bats
# Missing packages: `make` names them and stops; `make deps`, `make demo` and `make test` install them. With a
# dpkg-query that knows the packages in $HAVE, and an apt-get and sudo that only write down how they were called.
bats_require_minimum_version 1.5.0
SOURCE=${NAY_SOURCE:-$BATS_TEST_DIRNAME/../..}

setup() {
  cd "$BATS_TEST_TMPDIR" || exit 1
  mkdir bin
  export HAVE=$PWD/have CALLS=$PWD/calls
  unset NAY_BOOTSTRAP MAKEFLAGS MAKELEVEL MFLAGS CI DEBIAN_FRONTEND
  touch "$HAVE" "$CALLS"
  program dpkg-query 'printf "%s\n" "$@" | grep -xFf "$HAVE" | sed "s/\$/ install ok installed/"'
  program apt-get 'echo "apt-get $*" >> "$CALLS"'
  program sudo 'echo "sudo $*" >> "$CALLS"'
  # nothing may be built here: these only say that they were reached
  program cmake 'echo "cmake $*" >> "$CALLS"; exit 1'
  PATH=$PWD/bin:$PATH
}

program() { # name text
  printf '#!/bin/bash\n%s\n' "$2" > "bin/$1"
  chmod +x "bin/$1"
}

needs() { "$SOURCE/scripts/bootstrap" -n "$@"; } # what is missing, one on a line
have_all() { needs "$1" >> "$HAVE"; }
have_all_but() { # tier package...
  have_all "$1"
  for package in "${@:2}"; do sed -i "/^$package\$/d" "$HAVE"; done
}
build() { make --no-print-directory -C "$SOURCE" "$@"; }

@test "make names what is missing, says how to get it, and stops" {
  have_all_but build ninja-build libxxhash-dev
  run ! --separate-stderr build
  [[ $stderr == "missing Debian packages: ninja-build libxxhash-dev"$'\n'"'make deps' installs them; NAY_BOOTSTRAP=no goes on without them"$'\n'make:* ]]
  [ ! -s "$CALLS" ] # neither installed nor built
}

@test "so does every other target that does not say that it installs" {
  have_all_but long python3-minimal
  for target in all install static deb amalgamation fuzz lint bench bench-quick bench-sst bench-billion coverage abi-check abi-dump; do
    run ! --separate-stderr build $target
    [[ $stderr == "missing Debian packages: "*python3-minimal*"'make deps"*"' installs them"* ]] || { echo "$target: $stderr"; return 1; }
    [ ! -s "$CALLS" ] || { echo "$target: $(cat "$CALLS")"; return 1; }
  done
}

@test "the command that it names installs what it named" {
  have_all_but bench libbloom-dev
  run ! --separate-stderr build bench
  [[ $stderr == "missing Debian packages: libbloom-dev"$'\n'"'make deps TIER=bench'"* ]]
  run -0 build deps TIER=bench
  grep -qE '^(apt-get|sudo apt-get) install .* libbloom-dev$' "$CALLS"
}

@test "make goes on when everything is there" {
  have_all build
  run ! build
  [ "$(head -c 5 "$CALLS")" = cmake ]
}

@test "make deps, make demo and make test install it, print what, and say how to skip that" {
  program apt-get 'echo "apt-get $*" >> "$CALLS"; exit 100' # so that the target goes no further
  program sudo 'exec "$@"'
  for line in "deps build" "demo demo" "test test" "test-quick test" "test-long long"; do
    read -r target tier <<< "$line"
    : > "$HAVE"
    : > "$CALLS"
    have_all_but "$tier" cmake zlib1g-dev
    run ! --separate-stderr build "$target"
    [[ $stderr == "installing Debian packages: cmake zlib1g-dev"$'\n'"(NAY_BOOTSTRAP=no skips this)"* ]] || { echo "$target: $stderr"; return 1; }
    [[ $(head -n 1 "$CALLS") == *"apt-get install "*" cmake zlib1g-dev" ]] || { echo "$target: $(cat "$CALLS")"; return 1; }
  done
}

@test "nothing to install: not a word" {
  for tier in build demo test coverage long bench; do have_all $tier; done
  for tier in build demo test coverage long bench; do
    run -0 build deps TIER=$tier
    [ -z "$output" ]
    run -0 "$SOURCE/scripts/bootstrap" check $tier
    [ -z "$output" ]
  done
  [ ! -s "$CALLS" ]
}

@test "an installation that fails stops the target" {
  program apt-get 'echo "apt-get $*" >> "$CALLS"; exit 100'
  program sudo 'exec "$@"'
  for target in deps demo test; do
    : > "$CALLS"
    run ! build $target
    # the lists of packages may be old: refreshed once
    [[ $(cut -d' ' -f 2 "$CALLS" | paste -sd' ') =~ ^(install update|install update install)$ ]]
  done
}

@test "NAY_BOOTSTRAP=no neither looks nor installs; other values are refused" {
  program dpkg-query 'echo "dpkg-query $*" >> "$CALLS"'
  for target in deps "deps TIER=long"; do
    # shellcheck disable=SC2086
    NAY_BOOTSTRAP=no run -0 build $target
    # shellcheck disable=SC2086
    run -0 build $target NAY_BOOTSTRAP=no # as an argument of make, as the message has it
  done
  [ ! -s "$CALLS" ]
  NAY_BOOTSTRAP=no run ! build all
  [ "$(head -c 5 "$CALLS")" = cmake ]
  NAY_BOOTSTRAP=off run ! build
  [[ $output == *"NAY_BOOTSTRAP is 'off': yes or no"* ]]
}

@test "without root and without sudo: says so, installs nothing" {
  mkdir alone
  for tool in bash env grep dpkg-query apt-get; do ln -s "$(command -v $tool)" alone/; done
  printf '#!/bin/bash\necho 1000\n' > alone/id
  chmod +x alone/id
  PATH=$PWD/alone run -1 "$SOURCE/scripts/bootstrap"
  [[ $output == *"need root or sudo to install them" ]]
  [ ! -s "$CALLS" ]
}

@test "not Debian: make leaves it to CMake, make deps names the packages" {
  mkdir other
  for tool in bash env grep; do ln -s "$(command -v $tool)" other/; done
  PATH=$PWD/other run -0 "$SOURCE/scripts/bootstrap" check
  [ -z "$output" ]
  PATH=$PWD/other run -1 "$SOURCE/scripts/bootstrap"
  [[ $output == *"this is not Debian"*"NAY_BOOTSTRAP=no: gcc "*libxxhash-dev* ]]
}

@test "an unknown tier is refused; -n lists and changes nothing" {
  run -2 "$SOURCE/scripts/bootstrap" tset
  [ "$output" = "bootstrap: no tier 'tset': there are build, demo, test, coverage, long, bench" ]
  run -0 "$SOURCE/scripts/bootstrap" -n
  [ "${lines[0]}" = gcc ]
  [ ! -s "$CALLS" ]
}

@test "on a terminal make demo and make test ask before they install; no, an end of input and CI" {
  have_all_but demo libxxhash-dev
  on_terminal() { printf "$2" | script -qefc "$1" /dev/null; } # command input
  for target in demo test; do
    have_all_but $target libxxhash-dev
    make="make --no-print-directory -C $SOURCE $target"
    for answer in 'n\n' 'maybe\n' '\004'; do
      run ! on_terminal "$make" "$answer"
      [[ $output == *"this needs Debian packages that are not installed: libxxhash-dev"*"install them now? [Y/n]"* ]]
      [[ $output == *"nothing was installed; NAY_BOOTSTRAP=no goes on without them"* ]]
      [ ! -s "$CALLS" ]
    done
    for answer in 'y\n' '\n' 'YES\n'; do
      on_terminal "$make" "$answer" || true
      grep -q 'apt-get install .* libxxhash-dev$' "$CALLS"
      : > "$CALLS"
    done
    CI=1 on_terminal "$make" '' > out || true
    grep -q 'apt-get install .* libxxhash-dev$' "$CALLS" && ! grep -q 'install them now' out
    : > "$CALLS"
  done
  on_terminal "make --no-print-directory -C $SOURCE deps" '' > out || true # that is what it is asked for
  ! grep -q 'install them now' out
}
