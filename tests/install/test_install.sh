#!/usr/bin/env bash
# Consumes the library in three ways and compares what a program of a user then prints: pkg-config,
# find_package(nay), add_subdirectory; test_amalgamation.sh is the fourth. Prints TAP.
# NAY_SOURCE and NAY_BUILD are set by ctest; the build is installed, not built again.
set -uo pipefail
source_dir=${NAY_SOURCE:?} build=${NAY_BUILD:?}
. "$source_dir/tests/support/tap.sh"
here=$source_dir/tests/install
scratch=$(mktemp -d); trap 'rm -rf "$scratch"' EXIT
unset DESTDIR PKG_CONFIG_PATH
# the library is compiled twice below: what was compiled before need not be again
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi

same_output() { # program...: what it prints is what the program linked with the build prints
  "$@" >"$scratch/out" && diff "$scratch/expected" "$scratch/out"
}
version=$(sed -nE 's/#define NAY_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' "$source_dir/include/nay.h" | paste -sd.)

# ---- what is expected, and a staged install ----
stage=$scratch/stage prefix=/opt/nay
reference() {
  gcc -O1 -I"$source_dir/include" "$here/consumer.c" "$build/libnay.a" -o "$scratch/reference" &&
    "$scratch/reference" >"$scratch/expected" && [ "$(wc -l <"$scratch/expected")" -gt 20 ]
}
ok "a program linked with the build's libnay.a works" reference
ok "install below DESTDIR" env DESTDIR="$stage" cmake --install "$build" --prefix "$prefix"
root=$stage$prefix

only_public_headers() { # those of include/, and of plug-ins that this machine can build
  diff <(cd "$source_dir" && ls include sst/include bindings/cpp | grep -E '^nay.*\.(h|hpp)$' | sort) <(ls "$root/include" | grep -vxFf <(cd "$source_dir/plugins" && ls -- */*.h | xargs -n 1 basename))
}
ok "the installed headers are the public ones" only_public_headers
soname=libnay.so.$(sed -nE '/^NAY_/{s/^NAY_([0-9.]+) .*/\1/p;q}' "$source_dir/src/libnay.map") # its first node
has_soname() { readelf -d "$1" | grep SONAME | grep -F "[$soname]"; }
ok "the SONAME is $soname" has_soname "$root/lib/libnay.so"
links() { [ -L "$root/lib/libnay.so" ] && [ -L "$root/lib/$soname" ] && [ -f "$root/lib/libnay.so.$version" ]; }
ok "libnay.so and $soname lead to libnay.so.$version" links
manual() { # every page of doc/man, where man finds it, as roff with this version
  local page name missing=0
  for page in "$source_dir"/doc/man/*.[1-8].md; do
    name=${page##*/} name=${name%.md}
    [ "${name##*.}" = 1 ] && [ ! -x "$build/cli/nay" ] && continue
    grep -qE "^\.TH ${name%.*} ${name##*.} \"\" \"nay $version\" " "$root/share/man/man${name##*.}/$name" || { echo "$name"; missing=1; }
  done
  python3 "$source_dir/tools/man3.py" libnay | cmp - "$root/share/man/man3/libnay.3" && [ $missing = 0 ]
}
ok "every page of the manual is installed" manual
if [ -x "$build/cli/nay" ]; then
  command_works() { [ "$(LD_LIBRARY_PATH=$root/lib "$root/bin/nay" --version | head -n 1)" = "nay $version" ]; }
  ok "the nay command is installed and says its version" command_works
fi

if [ -f "$root/lib/nay/nay_redis.so" ] && command -v redis-server redis-cli >/dev/null; then
  module_loads() { # Redis 7 and later refuse a module without execute permission
    local socket=$scratch/redis.sock pid loaded=1
    redis-server --port 0 --unixsocket "$socket" --save '' --dir "$scratch" \
      --loadmodule "$root/lib/nay/nay_redis.so" >"$scratch/redis.log" 2>&1 &
    pid=$!
    for _ in $(seq 100); do
      redis-cli -s "$socket" ping >/dev/null 2>&1 && break
      kill -0 $pid 2>/dev/null || break
      sleep 0.05
    done
    redis-cli -s "$socket" NAY.RESERVE f 0.01 100 2>&1 | grep -qx OK && loaded=0
    kill $pid 2>/dev/null; wait $pid 2>/dev/null
    [ $loaded = 0 ] && [ -x "$root/lib/nay/nay_redis.so" ]
  }
  ok "redis-server loads the installed module" module_loads
fi

# ---- pkg-config ----
pkg() { PKG_CONFIG_PATH=$root/lib/pkgconfig pkg-config "$@"; }
by_pkg_config() { # shellcheck disable=SC2046
  gcc "$here/consumer.c" -o "$scratch/by_pkg" $(pkg --cflags --libs nay) &&
    readelf -d "$scratch/by_pkg" | grep -F "[$soname]" &&
    same_output env LD_LIBRARY_PATH="$root/lib" "$scratch/by_pkg"
}
ok "pkg-config: a program builds and runs" by_pkg_config
by_pkg_config_cpp() { # shellcheck disable=SC2046
  sed -n '/^```cpp$/,/^```$/p;/^```$/q' "$source_dir/bindings/cpp/README.md" | grep -v '^```' >"$scratch/first.cc" &&
    g++ -std=c++17 "$scratch/first.cc" -o "$scratch/first_cpp" $(pkg --cflags --libs nay) &&
    [ "$(LD_LIBRARY_PATH=$root/lib "$scratch/first_cpp")" = "1 0" ]
}
ok "pkg-config: a program of nay.hpp builds and runs" by_pkg_config_cpp
ok "pkg-config: the version is the header's" pkg --exact-version="$version" nay

by_pkg_config_sst() { # the library of tables, which brings libnay along
  # shellcheck disable=SC2046
  gcc "$here/sst_consumer.c" -o "$scratch/by_pkg_sst" $(pkg --cflags --libs naysst) &&
    readelf -d "$scratch/by_pkg_sst" | grep -F '[libnaysst.so.' &&
    (cd "$scratch" && [ "$(LD_LIBRARY_PATH=$root/lib ./by_pkg_sst)" = "ada: 1815" ])
}
ok "pkg-config: a program of libnaysst builds and runs" by_pkg_config_sst
ties_the_versions() { pkg --print-requires naysst | grep -Fx "nay = $version"; }
ok "pkg-config: naysst requires exactly this nay" ties_the_versions

codecs() { # shellcheck disable=SC2046
  sed -n '/^```c$/,/^```$/p' "$source_dir/plugins/codecs/README.md" | grep -v '^```' >"$scratch/codecs.c" &&
    gcc "$scratch/codecs.c" -o "$scratch/codecs" $(pkg --cflags --libs nay-codecs) &&
    (cd "$scratch" && [ "$(LD_LIBRARY_PATH=$root/lib ./codecs)" = "ada: 1815" ])
}
ok "pkg-config: the codecs of tables" codecs
if [ -f "$root/lib/libnay_leveldb.a" ]; then
  leveldb_plugin() { # shellcheck disable=SC2046
    sed -n '/^```c$/,/^```$/p' "$source_dir/plugins/leveldb/README.md" | grep -v '^```' >"$scratch/people.c" &&
      gcc "$scratch/people.c" -o "$scratch/people" $(pkg --cflags --libs nay-leveldb) &&
      (cd "$scratch" && [ "$(LD_LIBRARY_PATH=$root/lib ./people | tail -n 1)" = "bob: nobody" ])
  }
  ok "pkg-config: the LevelDB plug-in" leveldb_plugin
fi
if [ -f "$root/lib/libnay_rocksdb.a" ]; then
  rocksdb_plugin() { # shellcheck disable=SC2046
    sed -n '/^```cpp$/,/^```$/p' "$source_dir/plugins/rocksdb/README.md" | grep -v '^```' >"$scratch/persons.cc" &&
      g++ -std=c++17 "$scratch/persons.cc" -o "$scratch/persons" $(pkg --cflags --libs nay-rocksdb) &&
      (cd "$scratch" && LD_LIBRARY_PATH=$root/lib ./persons | grep -q 'more than 98%')
  }
  ok "pkg-config: the RocksDB plug-in builds and runs" rocksdb_plugin
fi

# ---- find_package ----
find_package() { # ON or OFF: shared or static
  local dir=$scratch/find_$1
  cmake -S "$here/find_package" -B "$dir" -G Ninja -DCMAKE_PREFIX_PATH="$root" -DBUILD_SHARED_LIBS="$1" \
    -DNAY_WANTED="${version%.*}" &&
    cmake --build "$dir" && same_output "$dir/consumer" || return 1
  if [ "$1" = ON ]; then readelf -d "$dir/consumer" | grep -F libnay.so
  else ! readelf -d "$dir/consumer" | grep -F libnay.so; fi
}
ok "find_package(nay), shared" find_package ON
ok "find_package(nay), static" find_package OFF
find_package_cpp() {
  local dir=$scratch/find_cpp
  cmake -S "$here/find_package" -B "$dir" -G Ninja -DCMAKE_PREFIX_PATH="$root" -DNAY_WANTED="${version%.*}" \
    -DNAY_CPP="$scratch/first.cc" && cmake --build "$dir" --target first && [ "$("$dir/first")" = "1 0" ]
}
ok "find_package(nay), nay::cpp" find_package_cpp
find_package_sst() {
  local dir=$scratch/find_sst
  cmake -S "$here/find_package" -B "$dir" -G Ninja -DCMAKE_PREFIX_PATH="$root" -DBUILD_SHARED_LIBS=OFF \
    -DNAY_WANTED="${version%.*}" -DNAY_TABLES=ON && cmake --build "$dir" --target sst_consumer &&
    (cd "$scratch" && [ "$("$dir/sst_consumer")" = "ada: 1815" ])
}
ok "find_package(naysst), static" find_package_sst
refused() { # version: CMake must say which version is installed instead
  local out
  ! out=$(cmake -S "$here/find_package" -B "$scratch/refused_$1" -G Ninja -DCMAKE_PREFIX_PATH="$root" \
    -DNAY_WANTED="$1" 2>&1) && grep -F "version: $version" <<<"$out"
}
for other in 99 0.1; do ok "find_package(nay $other) is refused" refused $other; done

# ---- uninstall ----
uninstall=$source_dir/scripts/uninstall
installed_files() { find "$stage" ! -type d | sort; }
not_uninstalled() { # prefix destdir: refused, nothing is removed, and the message says how to remove it
  local before; before=$(installed_files)
  ! "$uninstall" "$build" "$1" "$2" 2>"$scratch/refused" && cat "$scratch/refused" &&
    grep -F "make uninstall PREFIX=$prefix DESTDIR=$stage" "$scratch/refused" && [ "$before" = "$(installed_files)" ]
}
ok "uninstall: another PREFIX is refused" not_uninstalled /usr "$stage"
ok "uninstall: the default PREFIX is refused" not_uninstalled /usr/local "$stage"
ok "uninstall: a forgotten DESTDIR is refused" not_uninstalled "$prefix" ""
ok "uninstall: another DESTDIR is refused" not_uninstalled "$prefix" "$stage/../other"
make_passes() { # what make gives to the script
  make -s -n -C "$source_dir" uninstall PREFIX=/a "DESTDIR=/b c" | grep -F 'scripts/uninstall build/release "/a" "/b c"'
}
ok "make uninstall passes PREFIX and DESTDIR" make_passes
uninstalled() { # with another spelling of the same directories
  local before; before=$(installed_files)
  "$uninstall" "$build" "$prefix/" "$stage//." >"$scratch/removed" &&
    diff <(echo "$before") <(sed -n 's/^-- Removed: //p' "$scratch/removed" | sort) &&
    left=$(find "$stage" ! -type d -o -type d -name nay ! -path "$root") && { [ -z "$left" ] || { echo "$left"; false; }; }
}
ok "uninstall prints what it removes and leaves nothing behind" uninstalled
twice() { ! "$uninstall" "$build" "$prefix" "$stage" 2>&1; }
ok "uninstall: a second one has nothing to remove" twice

# ---- add_subdirectory ----
by_add_subdirectory() {
  cmake -S "$here/add_subdirectory" -B "$scratch/sub" -G Ninja -DCMAKE_BUILD_TYPE=Release &&
    cmake --build "$scratch/sub" --target consumer && same_output "$scratch/sub/consumer"
}
ok "add_subdirectory: no tests, no command, no warnings, the same output" by_add_subdirectory

# ---- a release build, its directories given as absolute paths ----
absolute=$scratch/absolute
by_absolute_directories() {
  cmake -S "$source_dir" -B "$scratch/release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNAY_TESTS=OFF -DNAY_CLI=OFF \
    -DCMAKE_INSTALL_PREFIX="$absolute" -DCMAKE_INSTALL_LIBDIR="$absolute/lib/here" \
    -DCMAKE_INSTALL_INCLUDEDIR="$absolute/headers" &&
    cmake --build "$scratch/release" && cmake --install "$scratch/release" || return 1
  local flags; flags=$(PKG_CONFIG_PATH=$absolute/lib/here/pkgconfig pkg-config --cflags --libs nay)
  echo "$flags"
  case $flags in *"-I$absolute/headers"*"-L$absolute/lib/here"*) ;; *) return 1 ;; esac
  # shellcheck disable=SC2086
  gcc "$here/consumer.c" -o "$scratch/by_absolute" $flags &&
    same_output env LD_LIBRARY_PATH="$absolute/lib/here" "$scratch/by_absolute"
}
ok "absolute libdir and includedir" by_absolute_directories
ok "the release build exports and needs only what it may" "$source_dir/tools/check_symbols.sh" "$scratch/release"
no_assertions() { ! nm -D --undefined-only "$scratch/release/libnay.so" | grep assert; }
ok "the release build has no assertions" no_assertions

tap_end
