#!/usr/bin/env bash
# Checks the names that the built libraries export and need; prints TAP.
#   tools/check_symbols.sh directory                with libnay.so and libnay.a in it, and libnaysst's if there are
#   tools/check_symbols.sh --unversioned directory  the libraries were linked without their version scripts
# What may be exported is what the public headers declare with NAY_API: there is no second list.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
versioned=yes
[ "$1" = --unversioned ] && { versioned=no; shift; }
directory=$1 n=0 failed=0

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

declared_in() { # headers: nay_x of every NAY_API declaration, wherever its line breaks
  tr '\n' ' ' <<<"$(cat "$@")" | sed 's|/\*|\n/*|g; s|\*/|*/\n|g' | grep -v '^/\*' |
    grep -oE 'NAY_API [^;(]*\(' | grep -oE 'nay_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u
}
globals_of() { nm -g --defined-only "$1" | awk 'NF == 3 {print $3}' | sort -u; }

declared() { declared_in "$headers"/*.h; }
# nay_x@@NAY_0.10; the nodes of the version script are absolute symbols (A) and left out
symbols() { nm -D --defined-only "$so" | awk '$2 != "A" {print $3}'; }
exported() { symbols | sed 's/@.*//' | sort -u; }
nodes() { grep -oE '^[A-Z_]+_[0-9.]+ ' "$map"; }
needed() { nm -D --undefined-only "$so" | awk '{print $2}' | sed -E 's/@.*//; s/^__(.*)_chk$/\1/'; }
global() { globals_of "$archive"; }

nothing_read() { for list in declared exported needed global; do [ -n "$($list)" ] || echo "$list"; done; }
undeclared() { comm -13 <(declared) <(exported); }
missing() { comm -23 <(declared) <(exported); }
unwelcome() { needed | grep -xE "$denied"; }
foreign() { global | grep -v '^nay_'; }
half_private() { global | grep -v "^$private" | comm -13 <(declared) -; }
# each symbol is the default (@@) of one node of the version script
no_node() { symbols | grep -vE "@@($(nodes | tr -d ' ' | paste -sd'|'))\$"; }
other_libraries() { readelf -d "$so" | grep NEEDED | grep -vE "\[($libraries|libc|libpthread|ld-linux[^]]*)\.so"; }

library() { # name headers version-script prefix-of-private-names libraries-beside-libc
  local name=$1
  headers=$2 map=$3 private=$4 libraries=$5 so=$directory/$1.so archive=$directory/$1.a
  check "the headers and both forms of $name can be read" nothing_read
  check "$name.so exports nothing that its headers do not declare" undeclared
  check "$name.so exports all that its headers declare" missing
  [ $versioned = yes ] && check "every symbol of $name.so has a version of $map" no_node
  check "$name.so needs nothing that ends, prints, or asks for time, chance or locale" unwelcome
  check "every global name of $name.a starts with nay_" foreign
  check "every global name of $name.a that is not public starts with $private" half_private
  check "$name.so links with the C library alone, and with $libraries" other_libraries
}
library libnay include src/libnay.map nay__ libnay
experimental() { declared_in $(grep -l '^/\* Experimental' include/*.h); }
other_node() { diff <(experimental) <(symbols | sed -n 's/@@NAY_EXPERIMENTAL_.*//p' | sort -u) | grep '^[<>]'; }
[ $versioned = yes ] && check "the functions of experimental headers, and no others, have the experimental node" other_node

if [ -f "$directory/libnaysst.so" ]; then
  library libnaysst sst/include sst/libnaysst.map nay_sst__ libnay
  in_both() { comm -12 <(globals_of "$directory/libnay.a") <(globals_of "$archive"); }
  beyond_the_headers() { comm -13 <(declared_in include/*.h) <(needed | grep '^nay_' | sort -u); }
  check "libnay.a and libnaysst.a have no global name in common" in_both
  check "libnaysst.so needs only what libnay's public headers declare" beyond_the_headers
fi
echo "1..$n"
exit $failed
