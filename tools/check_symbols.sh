#!/usr/bin/env bash
# Checks the names that a built library exports and needs; prints TAP.
#   tools/check_symbols.sh directory                with libnay.so and libnay.a in it
#   tools/check_symbols.sh --unversioned directory  libnay.so was linked without src/libnay.map
# What may be exported is what the public headers declare with NAY_API: there is no second list.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
versioned=yes
[ "$1" = --unversioned ] && { versioned=no; shift; }
lib=$1 n=0 failed=0

# A library has no business with these: it neither ends the process, nor talks, nor asks the world.
denied='abort|_?_?exit|_Exit|quick_exit|raise|kill|signal|sigaction|system|popen|fork'
denied+='|v?[fd]?printf|puts|putc|putchar|fputs|fputc|fwrite|perror|stdin|stdout|stderr'
denied+='|s?rand|rand_r|s?random|[dlm]rand48|getrandom|getentropy|getenv|secure_getenv|setenv|putenv'
denied+='|time|clock|clock_gettime|gettimeofday|localtime|localtime_r|gmtime|gmtime_r'
denied+='|setlocale|localeconv|strerror|strtok'

check() { # description command: what it prints are offending names, none is a pass
  local bad; bad=$($2); n=$((n + 1))
  if [ -z "$bad" ]; then echo "ok $n - $1"; return; fi
  failed=1
  echo "not ok $n - $1"
  printf '%s\n' "$bad" | sed 's/^/# /'
}

declared() { # nay_x of every NAY_API declaration, wherever its line breaks
  tr '\n' ' ' <<<"$(cat include/*.h)" | sed 's|/\*|\n/*|g; s|\*/|*/\n|g' | grep -v '^/\*' |
    grep -oE 'NAY_API [^;(]*\(' | grep -oE 'nay_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u
}
# nay_x@@NAY_0.9; the nodes of the version script are absolute symbols (A) and left out
symbols() { nm -D --defined-only "$lib/libnay.so" | awk '$2 != "A" {print $3}'; }
exported() { symbols | sed 's/@.*//' | sort -u; }
nodes() { grep -oE '^NAY_[0-9.]+ ' src/libnay.map; }
needed() { nm -D --undefined-only "$lib/libnay.so" | awk '{print $2}' | sed -E 's/@.*//; s/^__(.*)_chk$/\1/'; }
global() { nm -g --defined-only "$lib/libnay.a" | awk 'NF == 3 {print $3}' | sort -u; }

nothing_read() { for list in declared exported needed global; do [ -n "$($list)" ] || echo "$list"; done; }
undeclared() { comm -13 <(declared) <(exported); }
missing() { comm -23 <(declared) <(exported); }
unwelcome() { needed | grep -xE "$denied"; }
foreign() { global | grep -v '^nay_'; }
half_private() { global | grep '^nay_[^_]' | comm -13 <(declared) -; }
# each symbol is the default (@@) of one node of the version script
no_node() { symbols | grep -vE "@@($(nodes | tr -d ' ' | paste -sd'|'))\$"; }
other_libraries() { readelf -d "$lib/libnay.so" | grep NEEDED | grep -vE '\[(libc|libpthread|ld-linux[^]]*)\.so'; }

check "the headers and both libraries can be read" nothing_read
check "libnay.so exports nothing that the headers do not declare" undeclared
check "libnay.so exports all that the headers declare" missing
[ $versioned = yes ] && check "every symbol of libnay.so has a version of src/libnay.map" no_node
check "libnay.so needs nothing that ends, prints, or asks for time, chance or locale" unwelcome
check "every global name of libnay.a starts with nay_" foreign
check "every global name of libnay.a that is not public starts with nay__" half_private
check "libnay.so links with the C library alone" other_libraries
echo "1..$n"
exit $failed
