#!/usr/bin/env bash
# The packages, as whoever gets them does: the tarball from two places, a build of it without git, the static program in an empty root, the Debian
# packages installed in a fresh root, or unpacked where none can be made.
set -euo pipefail
source=${NAY_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
n=0 failed=0
check() { # name command...
  local name=$1; shift
  n=$((n + 1))
  if "$@" > "$work/log" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name"; sed 's/^/# /' "$work/log" | tail -n 30; failed=1; fi
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
git -C "$source" rev-parse -q --verify HEAD > /dev/null || { echo "1..0 # SKIP no git checkout"; exit 0; }

# a command in a root of its own, with the environment of a new container and the proxy of this machine
inside() { # root command...
  local root=$1 proxy; shift
  for proxy in http_proxy https_proxy no_proxy; do [ -z "${!proxy:-}" ] || set -- "$proxy=${!proxy}" "$@"; done
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb chroot "$root" env "$@"
}

# two clones: other directories, another umask, time zone and locale
make_twice() {
  git clone -q "$source" "$work/one" && mkdir -p "$work/deep/er" && (umask 077 && git clone -q "$source" "$work/deep/er/two") &&
    "$work/one/scripts/dist" "$work/a" && (umask 077; TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$work/deep/er/two/scripts/dist" "$work/b") &&
    diff -r "$work/a" "$work/b" && (cd "$work/a" && sha256sum -c ./*.sha256)
}
check "make dist twice: the same bytes, and their checksum" make_twice
if command -v diffoscope > /dev/null; then
  check "diffoscope sees no difference" diffoscope "$work"/a/*.tar.gz "$work"/b/*.tar.gz
else
  skip "diffoscope sees no difference" "no diffoscope here"
fi
sbom() {
  python3 - "$work"/a/*.spdx.json "$work"/a/*.tar.gz << 'PY'
import hashlib, json, sys
d = json.load(open(sys.argv[1]))
assert d["spdxVersion"] == "SPDX-2.3" and d["packages"][0]["name"] == "nay"
assert d["packages"][0]["checksums"][0]["checksumValue"] == hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
ids = {p["SPDXID"] for p in d["packages"]} | {"SPDXRef-DOCUMENT"}
assert all(r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids for r in d["relationships"])
PY
}
check "the SBOM names the tarball by its digest" sbom

# the tarball alone, without git: the static program, by the same script
static() {
  mkdir "$work/tree" && tar -xzf "$work"/a/*.tar.gz -C "$work/tree" --strip-components=1 && [ ! -e "$work/tree/.git" ] &&
    (cd "$work/tree" && PATH=$(no_git) scripts/static "$work/static") && ! ldd "$work/static/cli/nay"
}
no_git() { # a PATH in which git fails
  mkdir -p "$work/bin"; printf '#!/bin/sh\nexit 1\n' > "$work/bin/git"; chmod +x "$work/bin/git"; echo "$work/bin:$PATH"
}
check "the tarball builds without git; the program is no dynamic executable" static
if [ -x "$work/static/cli/nay" ]; then
  if command -v bats > /dev/null; then
    # not tools: it runs a wrapper around the shared libraries of the machine
    suite() {
      local script names=()
      for script in "$source"/tests/cli/*.bats; do [ "${script##*/}" = tools.bats ] || names+=("$script"); done
      NAY_BUILD="$work/static" bats "${names[@]}" && NAY_BUILD="$work/static" "$source/tests/cli/messy.py" 20
    }
    check "the command's own suite with the static program" suite
  else
    skip "the command's own suite with the static program" "no bats here"
  fi
  alone() {
    mkdir "$work/empty" && cp "$work/static/cli/nay" "$work/empty/nay" && chroot "$work/empty" /nay --version &&
      seq 1000 | chroot "$work/empty" /nay build -q -o f.nay && [ "$(seq 1000 | chroot "$work/empty" /nay check -c /f.nay)" = 1000 ]
  }
  if [ "$(id -u)" = 0 ]; then check "the static program in an empty root (Containerfile's last step)" alone; else skip "the static program in an empty root" "not root"; fi
fi

# the program for aarch64, under qemu: the same bytes and answers as of this machine's
arm() {
  local run=(qemu-aarch64-static "$work/arm/cli/nay") kind
  (cd "$work/tree" && scripts/static arm64 "$work/arm") && readelf -h "$work/arm/cli/nay" | grep -q AArch64 && ! readelf -l "$work/arm/cli/nay" | grep -q INTERP || return 1
  seq 20000 > "$work/keys"
  for kind in bloom blocked counting scalable window cuckoo xor fuse ribbon; do
    "$work/static/cli/nay" build -q -f -n 20000 -t "$kind" -o "$work/one.nay" "$work/keys" &&
      "${run[@]}" build -q -f -n 20000 -t "$kind" -o "$work/other.nay" "$work/keys" && cmp "$work/one.nay" "$work/other.nay" &&
      [ "$("${run[@]}" check -c "$work/one.nay" "$work/keys")" = 20000 ] || return 1
  done
  local pack; for pack in gzip zstd xz bzip2 lz4; do
    "$pack" -c < "$work/keys" > "$work/packed" && "${run[@]}" uniq "$work/packed" | cmp - "$work/keys" || return 1
  done
  printf '{"id":1,"t":["a"]}\n{"id":"1.0e0"}\n{"id":1e0}\n' | "${run[@]}" uniq --jsonl -k id > "$work/arm.out" && [ "$(wc -l < "$work/arm.out")" = 2 ]
}
if command -v aarch64-linux-gnu-gcc > /dev/null && command -v qemu-aarch64-static > /dev/null && command -v apt-get > /dev/null && [ -x "$work/static/cli/nay" ]; then
  check "the static program for aarch64, by Debian's libraries for it, under qemu" arm
else
  skip "the static program for aarch64" "no cross compiler or no qemu"
fi

# the steps of Containerfile, in a fresh root: RUN and COPY of its first stage; its second one is an empty root, see above
container() {
  local step root=$work/container
  debootstrap --variant=minbase bookworm "$root" && mkdir "$root/src" && tar -xzf "$work"/a/*.tar.gz -C "$root/src" --strip-components=1 || return 1
  sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$source/Containerfile" | sed -n '1,/^FROM scratch/s/^RUN //p' > "$work/steps"
  [ "$(wc -l < "$work/steps")" = 2 ] || return 1
  while read -r step; do inside "$root" sh -c "$step" < /dev/null || return 1; done < "$work/steps"
  [ "$(seq 3 | chroot "$root" /build/cli/nay uniq -c)" = 3 ] && ! ldd "$root/build/cli/nay"
}
if [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null; then
  check "the steps of Containerfile in a fresh root" container
else
  skip "the steps of Containerfile in a fresh root" "no root or no debootstrap"
fi

# Debian packages
if ! command -v dh > /dev/null || ! command -v dpkg-buildpackage > /dev/null; then
  skip "make deb" "no debhelper here"
else
  check "make deb" "$work/one/scripts/deb" "$work/deb"
  if ls "$work"/deb/*.deb > /dev/null 2>&1; then
    command -v lintian > /dev/null && check "lintian has no errors and no warnings" lintian --fail-on error,warning --allow-root "$work"/deb/*.deb
    unpacked() {
      local deb; for deb in "$work"/deb/*.deb; do dpkg -x "$deb" "$work/unpacked"; done
      local lib; lib=$(dirname "$(find "$work/unpacked" -name 'libnay.so.0*' | head -n 1)")
      ls "$lib"/libnay.so.0.10 "$lib"/libnaysst.so.0.* "$lib"/nay/nay_redis.so "$work/unpacked/usr/include/nay.h" &&
        printf '7\n7\n' | "$work/unpacked/usr/bin/nay" uniq | grep -qx 7 &&
        PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --define-prefix --cflags --libs nay > "$work/flags" &&
        cc "$source/tests/install/consumer.c" -I"$work/unpacked/usr/include" -L"$lib" -lnay -o "$work/consumer" && LD_LIBRARY_PATH="$lib" "$work/consumer"
    }
    # every package, as its users try it, and nothing of it after it is removed
    cat > "$work/try" << 'SH'
set -e
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
apt-get update -qq
apt-get install -y --no-install-recommends $(ls /debs/*.deb | grep -v dbgsym) gcc libc6-dev pkg-config sqlite3 redis-server
cd /tmp
seq 1000 | nay build -q --key=int -o f.nay
[ "$(nay check -c f.nay -e 7 -e 1000)" = 2 ]
cc /debs/consumer.c $(pkg-config --cflags --libs nay) -o consumer && ./consumer > /dev/null
cc /debs/sst_consumer.c $(pkg-config --cflags --libs naysst nay) -o consumer && ./consumer > /dev/null
plugins=$(dirname "$(dpkg -L nay-redis | grep 'nay_redis.so$')")
[ "$(sqlite3 :memory: ".load $plugins/sqlite/nay" "SELECT nay_contains(readfile('f.nay'), 42)")" = 1 ]
redis-server --port 0 --unixsocket "$PWD/redis" --save '' --loadmodule "$plugins/nay_redis.so" > redis.log &
for i in $(seq 100); do [ -S redis ] && break; sleep 0.1; done
[ "$(redis-cli -s redis BF.ADD k a)" = 1 ] || { cat redis.log; exit 1; }
redis-cli -s redis SHUTDOWN NOSAVE || true
wait
postgres=$(dirname "$(dpkg -L postgresql-common | grep 'bin/pg_createcluster$')") version=$(ls /usr/lib/postgresql)
data=$(mktemp -d) && chown postgres "$data"
su postgres -c "/usr/lib/postgresql/$version/bin/initdb -D $data > /dev/null"
echo "SELECT nay_contains(nay_agg(x), 42) FROM generate_series(1, 1000) x" > ask.sql
{ echo "CREATE EXTENSION nay;"; cat ask.sql; } | tr '\n' ' ' > one.sql
su postgres -c "/usr/lib/postgresql/$version/bin/postgres --single -D $data postgres" < one.sql | grep -q '"t"'
tail -c 534 "$plugins/duckdb/nay.duckdb_extension" | grep -aq duckdb_signature
apt-get purge -y $(dpkg -l | awk '/~local/ { print $2 }')
! find / -xdev -path /debs -prune -o -path /tmp -prune -o -path /proc -prune -o -path /usr/share/zoneinfo -prune -o -name '*nay*' -print | grep . # there is a zone Asia/Qostanay
SH
    installed() {
      debootstrap --variant=minbase bookworm "$work/fresh" && mkdir "$work/fresh/debs" &&
        cp "$work"/deb/*.deb "$source"/tests/install/{consumer,sst_consumer}.c "$work/fresh/debs/" && inside "$work/fresh" bash -s < "$work/try"
    }
    if [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null; then
      check "the packages installed, tried and removed in a fresh root" installed
    else
      check "the packages unpacked (dpkg -x: no fresh root can be made here)" unpacked
    fi
  fi
fi
echo "1..$n"
exit $failed
