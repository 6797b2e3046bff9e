#!/usr/bin/env bats
# How keys stand in their files: every framing and encoding, packed files, and what is echoed.
load common

# built KEYS...: a filter of exactly these keys, without errors that a test could meet.
built() { printf '%s\n' "$@" | nay build -q -p 1e-9 -n 100 -f -o f.nay; }

@test "empty lines are keys, unless --skip-empty" {
  printf 'a\n\nb\n' > keys
  nay build -q -p 1e-9 -o f.nay keys
  [ "$(nay info --json f.nay | jq .nkeys_planned)" = 3 ]
  run -0 nay check f.nay <<< ''
  printf 'a\n\nb\n' | nay build -q --skip-empty -p 1e-9 -o g.nay
  run -1 nay check g.nay <<< ''
  [ "$(printf 'a\n\n\nb\n' | nay check --skip-empty -c f.nay)" -eq 2 ]
}

@test "-0: keys end in a zero byte and may hold newlines" {
  printf 'a\nb\0c\0' | nay build -q -0 -n 2 -p 1e-9 -o f.nay
  [ "$(printf 'a\nb\0b\0c' | nay check -0 f.nay | od -An -c | tr -d ' \n')" = 'a\nb\0c\0' ]
}

@test "--crlf: the carriage return is not part of the key, and comes back" {
  printf 'a\r\nb\r\n' | nay build -q --crlf -n 2 -p 1e-9 -o f.nay
  run -0 nay check f.nay <<< a
  [ "$(printf 'b\r\nx\r\nb\n' | nay check --crlf f.nay | od -An -c | tr -d ' \n')" = 'b\r\nb\n' ]
  run -1 nay check f.nay <<< $'b\r'
}

@test "--key=hex: decoded, printed as it came, bad digits refused" {
  printf 'hello\n\xff\x00\n' > raw
  printf '68656c6c6f\nFF00\n' | nay build -q --key=hex -n 2 -p 1e-9 -o f.nay
  run -0 nay check --no-decompress f.nay raw
  [ "$(printf '68656C6C6F\n00\n' | nay check --key=hex f.nay)" = 68656C6C6F ]
  run -2 nay check --key=hex f.nay <<< $'6865\nxyz1'
  [[ $output == *"standard input: line 2: 'xyz1' is not of type hex: not a hexadecimal digit (at byte 0)"* ]]
  run -2 nay check --key hex f.nay <<< 686
  [[ $output == *"the text ends where a hexadecimal digit must be (at byte 3)"* ]]
  run -2 nay check --key=hax f.nay <<< 686
  [[ $output == *"did you mean hex?"* ]]
}

@test "--key=b64: both alphabets, with and without padding" {
  printf '\xfb\xff\xfe' > raw # +//+ and -__-
  printf '%s\n' '+//+' 'aGVsbG8=' | nay build -q --key=b64 -n 2 -p 1e-9 -o f.nay
  nay check -q -0 f.nay raw
  run -0 nay check f.nay <<< hello
  [ "$(printf '%s\n' '-__-' 'aGVsbG8' | nay check -c --key=b64 f.nay)" -eq 2 ]
  run -2 nay check --key=b64 f.nay <<< 'a*b='
  run -2 nay check --key=b64 f.nay <<< 'abcde'
}

@test "--key=int and --key=u64le name the same keys" {
  printf '1\n258\n18446744073709551615\n' | nay build -q --key=int -n 3 -p 1e-9 -o f.nay
  printf '\x02\x01\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff' > binary
  [ "$(nay check --key=u64le f.nay binary | od -An -tx8 | tr -s ' ')" = " 0000000000000102 ffffffffffffffff" ]
  run -2 nay check --key=int f.nay <<< 18446744073709551616
  [[ $output == *"above 2^64 - 1"* ]]
  run -0 nay check --key=int f.nay <<< -1 # modulo 2^64
  run -2 nay check --key=u64le f.nay <<< short
  [[ $output == *"fewer than 8 bytes"* ]]
}

@test "--length-prefixed: any bytes, zeros and newlines included" {
  printf '\x03\0\0\0a\nb\0\0\0\0\x01\0\0\0\0' > keys
  nay build -q --length-prefixed -n 3 -p 1e-9 -o f.nay keys
  nay check --length-prefixed f.nay keys | cmp - keys
  printf 'a\nb\0' | nay check -q -0 f.nay
  run -2 nay check --length-prefixed f.nay <<< xx
  [[ $output == *"the input ends inside a key"* ]]
}

@test "--csv: quoted fields, columns by name and number, whole rows and the header come back" {
  cat > people.csv <<'CSV'
id,name,city
1,"Smith, John",Oslo
2,"O""Hara",Bonn
3,"two
lines",Rome

4,plain,Bern
CSV
  built 'Smith, John' 'O"Hara' $'plain'
  run -0 nay check --csv -k name f.nay people.csv
  [ "$output" = $'id,name,city\n1,"Smith, John",Oslo\n2,"O""Hara",Bonn\n4,plain,Bern' ]
  [ "$(tail -n +2 people.csv | nay check -c --csv -k 2 f.nay)" -eq 3 ]
  [ "$(nay check --header --csv -k 2 -c f.nay people.csv)" -eq 3 ]
  [ "$(nay check -c --csv -k name f.nay people.csv people.csv)" -eq 6 ]
  [ "$(nay check --csv -k name f.nay people.csv people.csv | grep -c city)" -eq 1 ]
  printf 'two\nlines\0' > raw
  nay build -q --csv -k name -n 9 -p 1e-9 -o g.nay people.csv
  nay check -q -0 g.nay raw
  run -2 nay check --csv -k age f.nay people.csv
  [[ $output == *"people.csv: line 1: the header has no column 'age': it has "*"name"* ]]
  run -2 nay check --csv -k 4 f.nay people.csv
  [[ $output == *"the row has too few columns" ]]
  run -2 nay check --csv f.nay <<< '"a"b,c'
  [[ $output == *"follows the closing quote"* ]]
  run -2 nay check --csv f.nay <<< '"open'
  [[ $output == *"a quoted field does not end"* ]]
}

@test "--csv: CRLF files, another delimiter, and no newline at the end" {
  built b
  [ "$(printf 'a;b\r\nc;"b"\r\nd;x' | nay check --csv --delimiter=';' -k 2 f.nay | od -An -c | tr -d ' \n')" = 'a;b\r\nc;"b"\r\n' ]
  [ "$(printf 'x,b' | nay check --csv -k 2 f.nay)" = 'x,b' ]
  [ "$(printf 'x\tb\n"b"\tc\n' | nay check --tsv -k 2 f.nay)" = $'x\tb' ]
  run -2 nay check --tsv --delimiter=, f.nay <<< b
  run -2 nay check -k name f.nay <<< b
  [[ $output == *"'name' is a name, which --csv, --tsv and --jsonl have: fields of lines are counted from 1"* ]]
  run -2 nay check --header f.nay <<< b
  [[ $output == *"-k and --header are for lines and rows of text"* ]]
  run -2 nay check --csv -0 f.nay <<< b
  [[ $output == *"are mutually exclusive"* ]]
}

@test "CSV agrees with Python's reader on random rows" {
  python3 - <<'PY'
import csv, random
random.seed(5)
alphabet = ['a', 'b', ',', '"', '\n', '\r\n', ' ', '\t', 'é', ';']
rows = [[''.join(random.choice(alphabet) for _ in range(random.randrange(6))) for _ in range(3)]
        for _ in range(3000)]
for row in rows:
    row[1] = row[1].replace('\r\n', '\n')  # a bare CR needs quotes, which the writer adds
with open('rows.csv', 'w', newline='') as f:
    csv.writer(f, lineterminator='\n').writerows(rows)
with open('keys', 'wb') as f:
    for row in csv.reader(open('rows.csv', newline='')):
        if row:
            f.write(row[1].encode() + b'\0')
PY
  nay build -q --csv -k 2 -n 5000 -p 1e-9 -o a.nay rows.csv
  nay build -q -0 -n 5000 -p 1e-9 -o b.nay keys
  cmp a.nay b.nay
}

@test "gzip and zstd files are unpacked by their magic number, members and frames joined" {
  seq 50000 > keys
  nay build -q -n 50k -p 1% -o plain.nay keys
  { head -n 20000 keys | gzip; tail -n +20001 keys | gzip; } > keys.gz
  nay build -q -n 50k -p 1% keys.gz | cmp - plain.nay
  nay build -q -n 50k -p 1% < keys.gz | cmp - plain.nay
  run -3 nay check plain.nay <(head -c 5000 keys.gz)
  [[ $output == *"is truncated"* ]]
  cp keys.gz bad.gz
  flip bad.gz 3000
  run -3 nay check -c plain.nay bad.gz
  [[ $output == *"cannot decompress bad.gz: "* ]]
  nay --version --json | jq -e '.codecs | contains(["zstd"])' || skip "built without zstd"
  command -v zstd > /dev/null || skip "no zstd program"
  { head -n 20000 keys | zstd -q; tail -n +20001 keys | zstd -q; } > keys.zst
  nay build -q -n 50k -p 1% keys.zst | cmp - plain.nay
  run -3 nay check plain.nay <(head -c 5000 keys.zst)
}

@test "--no-decompress takes them as they are" {
  printf '\x1f\x8b\x08\n' | nay build -q --no-decompress -n 1 -p 1e-9 -o f.nay
  printf '\x1f\x8b\x08\n' | nay check -q --no-decompress f.nay
}

@test "very long and very many lines" {
  head -c 3000000 /dev/zero | tr '\0' x > long
  { cat long; echo; seq 100000; cat long; } > keys
  nay build -q -n 200k -p 1e-6 -o f.nay keys
  [ "$(nay check -c f.nay keys)" -eq 100002 ]
  [ "$(nay check f.nay keys | md5sum)" = "$({ cat keys; echo; } | md5sum)" ]
  [ "$(yes 7 | head -n 300001 | nay check -c f.nay)" -eq 300001 ]
}

@test "one thread and two give the same" {
  seq 300000 > keys
  nay build -q -T 1 -n 300k -p 1% -o one.nay keys
  nay build -q -T 2 -n 300k -p 1% keys | cmp - one.nay
  seq 250000 700000 > probe
  cmp <(nay check -T 1 one.nay probe) <(nay check -T 2 one.nay probe)
}

@test "-T N: static filters are built by N threads, the same bytes by each number" {
  cat > count.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int started;
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *with) {
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
  __atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
  return real(t, a, run, with);
}
__attribute__((destructor)) static void say(void) {
  FILE *f = fopen(getenv("COUNT"), "w");
  if (f != NULL) fprintf(f, "%d\n", started);
}
C
  gcc -shared -fPIC -o count.so count.c -ldl
  seq 3000000 > keys
  for threads in 1 2 5; do
    COUNT=$PWD/count.$threads LD_PRELOAD=$PWD/count.so nay build -q -f -T $threads -t fuse -b 9 -o $threads.nay keys
  done
  cmp 1.nay 2.nay
  cmp 1.nay 5.nay
  ldd "$(command -v nay)" > /dev/null 2>&1 || return 0 # a static program preloads nothing: its bytes are compared alone
  [ "$(cat count.1)" -eq 0 ]
  [ "$(cat count.2)" -ge 2 ] # one that reads, one that builds beside the caller
  [ "$(cat count.5)" -ge 5 ] # one that reads, four beside the caller
  run -2 nay build -q -T 257 -t fuse -o x.nay keys
  [[ $output == *"-T: at most 256 threads"* ]]
  nay build -q -T 0 -t fuse -b 9 keys | cmp - 1.nay
}

@test "a slow pipe is answered at once" {
  built a b
  mkfifo in
  nay check f.nay < in > out &
  exec 7> in
  echo a >&7
  eventually test -s out
  [ "$(cat out)" = a ]
  exec 7>&-
  wait
}

@test "-k without -F: fields between runs of blanks, as awk has them" {
  python3 -c '
import random
rng = random.Random(2)
for _ in range(3000):
    print("".join(rng.choice([" ", "  ", "\t", "a", "b", "cc", "x"]) for _ in range(rng.randrange(12))))
' > lines
  for k in 1 2 3; do
    awk -v k=$k 'NF >= k { print $k }' lines > want
    nay build -q -n 100 -p 1e-9 -f -o f.nay want
    nay check -c -k $k --on-bad=skip f.nay lines 2> err | grep -qx "$(wc -l < want)"
    nay uniq -k $k --on-bad=skip lines 2> /dev/null | cmp - <(awk -v k=$k 'NF >= k && !seen[$k]++' lines)
  done
  nay uniq -k 2,1 --on-bad=skip lines 2> /dev/null | cmp - <(awk 'NF >= 2 && !seen[$2 " " $1]++' lines)
  [ "$(printf '  a  b \t c  \n' | nay check -a --json -k 2- <(nay build -q -n 1 -e x) | jq -r .key)" = $'b \t c' ]
  [ "$(printf 'h h\nx 1\ny 1\n' | nay uniq -k2 --header)" = $'h h\nx 1' ]
  [ "$(printf '1 x\n2 x\n3 x\n' | nay check -m 2 -k2 <(nay build -q -n 1 -e x))" = $'1 x\n2 x' ] # -m, as in grep
  nay uniq -k3 <(printf '1.1.1.1 GET /a 200\nbad\n1.1.1.1 GET /a 200\n') 2> /dev/null | grep -qx bad
}
