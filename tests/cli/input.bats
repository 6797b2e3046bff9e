#!/usr/bin/env bats
# What comes in: compressed files, byte order marks, rows before a bad one, closed descriptors.
load common

# pack CODEC: compresses standard input.
pack() {
  case $1 in
    gzip) gzip ;;
    zstd) zstd -q ;;
    xz) xz -T1 ;;
    bzip2) bzip2 ;;
    lz4) lz4 -q ;;
  esac
}
codecs="gzip zstd xz bzip2 lz4"

@test "every codec: members joined, as file and pipe; the end cut off, bits flipped" {
  seq 50000 > keys
  nay build -q -n 50k -p 1% -o plain.nay keys
  for codec in $codecs; do
    nay --version --json | jq -e --arg c $codec '.codecs | contains([$c])'
    { head -n 20000 keys | pack $codec; tail -n +20001 keys | pack $codec; } > packed
    nay build -q -n 50k -p 1% packed | cmp - plain.nay
    cat packed | nay build -q -n 50k -p 1% | cmp - plain.nay
    nay build -q -p 1% packed | cmp - plain.nay # the lines are counted, not the packed bytes
    size=$(wc -c < packed)
    for cut in 12 200 $((size / 2)) $((size - 1)); do
      head -c $cut packed > short
      run -3 nay check -c plain.nay short
      [[ $output == *"cannot decompress short: "* ]]
    done
    for at in $((size / 4)) $((size * 3 / 4)); do
      cp packed bad
      flip bad $at
      run -3 nay check -c plain.nay bad
      [[ $output == *"cannot decompress bad: "* ]]
    done
    : | pack $codec > none
    [ "$(nay uniq -c none)" = 0 ]
  done
}

@test "xz may pad between streams; skippable frames of zstd come first" {
  { echo a | xz; printf '\0\0\0\0'; echo b | xz; } > keys.xz
  [ "$(nay uniq keys.xz)" = $'a\nb' ]
  { printf '\x50\x2a\x4d\x18\x02\0\0\0hi'; echo a | zstd -q; } > keys.zst
  [ "$(nay uniq keys.zst)" = a ]
}

@test "an xz header that requests gigabytes is refused" {
  seq 1000 | xz --lzma2=dict=1GiB > keys.xz
  run -2 nay uniq keys.xz
  [[ $output == *"needs more than 256 MiB of memory"* ]]
}

@test "what cannot be unpacked is refused, and says how" {
  refused() { # magic name command
    printf "$1\nmore\n" > packed
    run -2 nay uniq packed
    [[ $output == "nay uniq: packed is compressed by $2, which this program cannot decompress: $3 FILE | nay ..., or --no-decompress"* ]]
    run -2 nay uniq < packed
    [ "$(nay uniq -c --no-decompress packed)" = 2 ]
  }
  refused 'PK\3\4' zip 'unzip -p'
  refused '\x1f\x9d\x90' compress 'gzip -dc'
  refused 'LZIP\1' lzip 'lzip -dc'
  refused '7z\xbc\xaf\x27\x1c' 7z '7z x -so'
  refused '\x02\x21\x4c\x18' lz4 'lz4 -dc'
}

@test "lines that begin as a magic number does are lines" {
  printf 'BZh9\nBZh91AY\nBZh\nB\n7z\nLZIP\nP\nPK\n\x1f\n\xfd7zXZ\n(\n\x04\n' > keys
  while IFS= read -r line; do
    printf '%s\nend\n' "$line" > one
    nay uniq one | cmp - one
    printf '%s' "$line" | nay uniq | cmp - <(printf '%s\n' "$line")
  done < keys
  nay uniq keys | cmp - keys
}

@test "a UTF-8 byte order mark is no part of the first column" {
  printf '\xef\xbb\xbfid,name\n1,ann\n2,bob\n1,eve\n' > people.csv
  [ "$(nay uniq --csv -k id -c people.csv)" = 2 ]
  nay uniq --csv -k id people.csv | cmp - <(printf 'id,name\n1,ann\n2,bob\n')
  printf '\xef\xbb\xbf"id"\tname\n1\tann\n' > people.tsv
  printf 'id\tname\n' > head.tsv
  printf '\xef\xbb\xbfa\nb\na\n' > bare.csv
  [ "$(nay uniq --csv -c bare.csv)" = 2 ]
  printf '\xef\xbb\xbf"a,b",c\n"a,b",d\n' > quoted.csv
  [ "$(nay uniq --csv -c quoted.csv)" = 1 ]
  printf '\xef\xbb\xbfid\tname\n1\tann\n' | nay uniq --tsv -k id -c
  # of each file; as bytes arrive one by one
  [ "$(nay uniq --csv -c bare.csv bare.csv)" = 2 ]
  [ "$({ printf '\xef'; sleep 0.1; printf '\xbb'; sleep 0.1; printf '\xbfa\na\n'; } | nay uniq --csv -c)" = 1 ]
}

@test "a UTF-8 byte order mark is no part of the first line, of any file, however it comes" {
  mark='\xef\xbb\xbf'
  printf "${mark}apple\npear\n" > notepad
  gzip -k notepad
  nay build -q -p 1e-9 -o f.nay -e apple -e pear
  for how in "" --skip-empty -F, "-F, -k 1" --csv --tsv --line-number --no-decompress -T1 --crlf; do
    # shellcheck disable=SC2086
    run -1 nay check -v $how f.nay notepad notepad
    [ -z "$output" ] || { echo "'$how': $output"; return 1; }
    # shellcheck disable=SC2086
    run -1 nay check -v $how f.nay < notepad
  done
  nay check f.nay notepad.gz - < notepad | cmp - <(printf 'apple\npear\napple\npear\n')
  nay check --line-number f.nay notepad | cmp - <(printf '1:apple\n2:pear\n')
  nay build -q -p 1e-9 -o g.nay notepad.gz
  [ "$(nay check -c g.nay -e apple -e pear)" = 2 ]
  [ "$(nay uniq -c notepad notepad.gz - < notepad)" = 2 ]
  printf "${mark}7\n8\n" | nay build -q --key=int -p 1e-9 -o i.nay
  [ "$(nay check -c i.nay -e 7)" = 1 ]
  printf "${mark}ada\t1815\n" | nay sst build -q -o t.ldb
  [ "$(printf "${mark}ada\n" | nay sst get -q t.ldb)" = "$(printf 'ada\t1815')" ]
  printf "${mark}ada\t1815\n" | nay map build -q -o m.map
  [ "$(printf "${mark}ada\n" | nay map get m.map | wc -l)" = 1 ]
  [ "$({ printf '\xef'; sleep 0.1; printf '\xbb'; sleep 0.1; printf '\xbfapple\napple\n'; } | nay uniq -c)" = 1 ]
}

@test "a byte order mark elsewhere is a part of the key: inside, halved, in data that is no text, in arguments" {
  mark=$'\xef\xbb\xbf'
  printf 'a\n%sa\n' "$mark" | nay uniq -c | grep -qx 2
  printf '%s%sa\n%sa\na\n' "$mark" "$mark" "$mark" | nay uniq -c | grep -qx 2 # one mark, no more
  printf '\xef\xbb\n' | nay uniq | cmp - <(printf '\xef\xbb\n')
  printf '\xef\xbb' | nay uniq | cmp - <(printf '\xef\xbb\n')
  printf '%sa\0a\0' "$mark" | nay uniq -0 -c | grep -qx 2
  printf '%sa\0' "$mark" | nay uniq -0 | cmp - <(printf '%sa\0' "$mark")
  printf '\4\0\0\0%sa\1\0\0\0a' "$mark" | nay uniq --length-prefixed -c | grep -qx 2
  printf '%s12345' "$mark" | nay build -q --key=u64le -p 1e-9 -o u.nay
  [ "$(printf '%s12345' "$mark" | nay check -c --key=u64le u.nay)" = 1 ]
  nay build -q -p 1e-9 -o a.nay -e "${mark}a"
  run -1 nay check a.nay -e a
  nay check a.nay -e "${mark}a" | cmp - <(printf '%sa\n' "$mark")
  printf '%s' "$mark" > only # a text without lines
  [ "$(nay uniq -c only)" = 0 ]
  [ "$(nay build --json -p 1% -o o.nay only | jq .nkeys)" = 0 ]
}

@test "UTF-16 is refused where lines are text" {
  printf 'id,name\n1,ann\n' > people.csv
  for code in UTF-16LE UTF-16BE; do
    [ $code = UTF-16LE ] && mark='\xff\xfe' || mark='\xfe\xff'
    { printf "$mark"; iconv -f UTF-8 -t $code people.csv; } > wide
    for how in "" --csv --tsv --crlf; do
      run -2 nay uniq $how wide
      [[ $output == *"wide is UTF-16: iconv -f UTF-16 -t UTF-8"* ]]
    done
    for how in -0 --no-decompress; do nay uniq $how wide > /dev/null; done
  done
  printf '\xff\xfe\n\x01\n\xfe\xff\n' | nay uniq -c | grep -qx 3 # bytes that are no UTF-8 are keys
}

@test "UTF-16 without a byte order mark is refused, with the encoding" {
  for code in UTF-16LE UTF-16BE; do
    printf 'id,name\n1,ann\n' | iconv -f UTF-8 -t $code > wide
    for how in "" --csv --tsv --crlf "-F," --key=date "--csv -k name"; do
      for threads in 1 2; do
        # shellcheck disable=SC2086
        run -2 nay uniq -T $threads $how wide
        [ "$output" = "nay uniq: wide is UTF-16 without a byte order mark: iconv -f $code -t UTF-8 FILE | nay ...; -0 if zero bytes end the keys, or --no-decompress to read its bytes as keys" ] ||
          { echo "$code $how: $output"; return 1; }
      done
    done
    [ "$(iconv -f $code -t UTF-8 wide | nay uniq --csv -k name | tail -n 1)" = 1,ann ]
    for how in -0 --no-decompress; do nay uniq $how wide > /dev/null; done
    run -2 nay build -q -o f.nay wide
    [ ! -e f.nay ]
  done
}

@test "databases and columnar files are named, and refused unless --no-decompress or a framing reads them" {
  named() { # magic name
    printf "$1\nmore\n" > file
    for how in "" --csv --tsv "-F:" --line-number; do
      [ "$how" != --line-number ] || nay build -q -f -n 1 -o f.nay -e one
      # shellcheck disable=SC2086
      if [ "$how" = --line-number ]; then run -2 nay check $how f.nay file; else run -2 nay uniq $how file; fi
      [[ $output == *": file is $2, not keys in lines: "*", or --no-decompress to read its bytes as keys" ]] ||
        { echo "$2 $how: $output"; return 1; }
    done
    run -2 bash -c 'gzip < file | nay uniq' # its zero byte, or its name, wherever it comes from
    [ "$(nay uniq --no-decompress -c file)" -ge 2 ]
    nay uniq -0 -c file
  }
  named 'SQLite format 3\0' 'a SQLite database'
  named 'ARROW1\0\0' 'an Arrow file'
  run -2 nay uniq <(printf 'PAR1\x15\x04\n')
  [[ $output == *" is a Parquet file, not keys in lines: "* ]]
  run -2 nay uniq <(printf 'Obj\x01\x04\n')
  [[ $output == *" is an Avro file, not keys in lines: "* ]]
  printf 'SQLite format 3\nPAR1\nObj\nARROW1\n' > keys # text that begins as a magic number does
  nay uniq keys | cmp - keys
  for word in SQLite PAR1 Obj ARROW1 P; do [ "$(printf '%s' $word | nay uniq)" = $word ]; done
}

@test "a compressed file is refused for what is in it, and the advice makes keys of that" {
  printf 'a\nb\0b\nc\n' | gzip > keys.gz
  run -2 nay build -q -o f.nay keys.gz
  [ "$output" = "nay build: keys.gz is binary, not text: line 2 has a zero byte; -0 if zero bytes end the keys, or gzip -dc FILE | nay ... --no-decompress to read its bytes as keys" ]
  gzip -dc keys.gz | nay build -q --no-decompress -p 1e-9 -o f.nay
  [ "$(nay check -c f.nay -e a -e c)" = 2 ]
  printf 'id,name\n1,ann\n' | iconv -f UTF-8 -t UTF-16LE | gzip > wide.gz
  run -2 nay build -q -o g.nay wide.gz
  [[ $output == *"wide.gz is UTF-16 without a byte order mark: gzip -dc FILE | iconv -f UTF-16LE -t UTF-8 | nay ...; -0"* ]]
  [ "$(gzip -dc wide.gz | iconv -f UTF-16LE -t UTF-8 | nay uniq --csv -k name | tail -n 1)" = 1,ann ]
  printf '\xff\xfea\0\n\0' | gzip > mark.gz
  run -2 nay uniq mark.gz
  [[ $output == *"mark.gz is UTF-16: gzip -dc FILE | iconv -f UTF-16 -t UTF-8 | nay ..., or gzip -dc FILE | nay"* ]]
}

@test "other binary files are refused at their first zero byte, and the rows before it are answered" {
  printf 'a\nb\nc\0d\ne\n' > keys
  message="keys is binary, not text: line 3 has a zero byte; -0 if zero bytes end the keys, or --no-decompress to read its bytes as keys"
  for how in "" --csv "-F:" --crlf; do
    for threads in 1 2; do
      # shellcheck disable=SC2086
      run -2 --separate-stderr nay uniq -T $threads $how keys
      [ "$output" = $'a\nb' ]
      [ "$stderr" = "nay uniq: $message" ]
    done
    run -2 nay build -q $how -n 9 -o f.nay keys
    [ "$output" = "nay build: $message" ]
    [ ! -e f.nay ]
  done
  [ "$(nay uniq --no-decompress -c keys)" = 4 ]
  find . -name keys -print0 > names # -0 forgotten
  run -2 nay uniq names
  [[ $output == *"-0 if zero bytes end the keys"* ]]
  [ "$(nay uniq -0 -c names)" = 1 ]
  # wherever it stands: in the last of many batches, without a newline, in a line that never ends
  { seq 300000; printf 'x\0'; } > late
  run -2 nay build -q -n 300k -o f.nay late
  [[ $output == *"line 300001 has a zero byte"* ]]
  { head -c 3000000 /dev/zero | tr '\0' x; printf '\0\n'; } > long
  run -2 nay uniq -q long
  [[ $output == *"line 1 has a zero byte"* ]]
  # a quoted field may have line ends, no zero bytes
  printf 'k\n"a\n\0b"\n' > rows.csv
  run -2 nay uniq --csv -k k rows.csv
  [[ $output == *"line 2 has a zero byte"* ]]
}

@test "rows before a bad one are answered, and the message has its line" {
  printf 'k,v\na,1\n"b\nb",2\nc,3\n"d"x,4\ne,5\n' > rows.csv
  printf 'a\nb\nb\nc\n' > keys
  nay build -q --csv -k k -p 1e-9 -o all.nay <(head -n 5 rows.csv)
  for threads in 1 2; do
    status=0
    nay uniq -T $threads --on-bad=fail --csv -k k rows.csv > out 2> err || status=$?
    [ $status -eq 2 ]
    cmp out <(head -n 5 rows.csv)
    grep -q 'rows.csv: line 6: something follows the closing quote' err
    nay uniq -T $threads --on-bad=fail --exact --csv -k k rows.csv 2> /dev/null | cmp - <(head -n 5 rows.csv)
    nay check -T $threads --on-bad=fail --csv -k k all.nay rows.csv 2> /dev/null | cmp - <(head -n 5 rows.csv)
    [ "$(nay check -T $threads --on-bad=fail -v --csv -k k all.nay rows.csv 2> /dev/null)" = k,v ]
    printf 'k,v\n' > other.csv
    nay diff -T $threads --on-bad=fail -n 10 --csv -k k other.csv rows.csv 2> /dev/null | cmp - <(head -n 5 rows.csv)
  done
  status=0
  printf '61\n62\nzz\n' | nay uniq --on-bad=fail --key=hex > out 2> err || status=$?
  [ $status -eq 2 ]
  [ "$(cat out)" = $'61\n62' ]
  grep -q "standard input: line 3: 'zz' is not of type hex: not a hexadecimal digit" err
  status=0
  printf '61\0zz\0' | nay uniq -0 --on-bad=fail --key=hex 2> err > /dev/null || status=$?
  [ $status -eq 2 ]
  grep -q "record 2: 'zz' is not of type hex" err
}

@test "a closed standard input is an error, not the next file that is opened" {
  seq 10 > keys
  nay build -q -n 10 -p 1e-6 -o f.nay keys
  run -2 bash -c 'nay check f.nay <&-'
  [[ $output == *"standard input"* ]]
  [ "$(nay check -c f.nay keys <&-)" = 10 ]
  [ "$(nay uniq -c keys - <&- 2>&1 | grep -c 'standard input')" = 1 ]
  nay build -q -n 10 -o g.nay keys <&- >&-
  nay build -q -f -n 10 -o g.nay keys <&- 2>&-
  nay verify g.nay <&-
  run -2 bash -c 'nay check f.nay keys >&-'
  [[ $output == *"cannot write to standard output"* ]]
}

# Each bad file alone, between two good ones.
bad_files() { # makes them, prints: name code
  printf '61\nzz\n' > malformed
  seq -f %04.0f 1000 | gzip > whole.gz
  head -c 100 whole.gz > damaged.gz
  mkdir -p directory
  printf 'missing 2\ndirectory 2\ndamaged.gz 3\nmalformed 2\n'
}

@test "a key file that cannot be read: the others are answered, it is named, the status is 2 or 3" {
  printf '61\n62\n' > a
  printf '63\n61\n' > b
  printf '61\n62\n63\n' > all
  nay build -q --key=hex -n 2000 -p 1e-9 -o f.nay all
  printf 'a\nb\nc\n' | nay sst build -q -o t.ldb
  while read -r name code; do
    for threads in 1 2; do
      t="-T $threads --key=hex --on-bad=fail"
      run -$code --separate-stderr nay check $t f.nay a $name b
      [[ $output == $'61\n62\n'*$'63\n61' ]]
      [[ $stderr == *"$name"* ]]
      run -$code --separate-stderr nay check $t -c f.nay $name a b
      run -$code --separate-stderr nay uniq $t a $name b
      [[ $output == $'61\n62\n'*63 ]]
      [[ $stderr == *"$name"* ]]
      run -$code --separate-stderr nay uniq $t -c a b $name
      run -$code --separate-stderr nay diff $t -n 10 a $name
      run -$code --separate-stderr nay common $t -n 10 a $name
      run -$code --separate-stderr nay verify $t --keys a --keys $name --keys b f.nay
      [[ $output == *" keys, "* ]]
      run -$code --separate-stderr nay verify $t --json --absent $name f.nay
      jq -e '.ok == false' <<< "$output"
      run -$code --separate-stderr nay sst get --no-values $t --keys a --keys $name --keys b t.ldb
      [[ $output == 61$'\n'62$'\n'*63$'\n'61 ]]
    done
  done < <(bad_files)
  # damage is the worse one; every bad file is named
  run -3 --separate-stderr nay check --key=hex f.nay missing damaged.gz directory a
  [[ $stderr == *missing*damaged.gz*directory* ]]
  # as grep: with -q a hit decides
  nay check -q f.nay --key=hex missing a 2> /dev/null
  run -2 nay check -q f.nay --key=hex missing
}

@test "a filter is not written when one of its key files cannot be read" {
  printf '61\n62\n' > a
  nay build -q --key=hex -t cuckoo -n 100 -p 1% -o f.nay a
  cp f.nay before.nay
  while read -r name code; do
    for threads in 1 2; do
      t="-q -T $threads --key=hex"
      for n in "" "-n 10" "-t fuse"; do
        run -$code nay build $t $n -o new.nay a $name a
        [[ $output == *"$name"* ]]
      done
      run -$code nay add $t f.nay a $name a
      run -$code nay remove $t f.nay a $name
      run -$code nay convert $t --to leveldb --keys a --keys $name f.nay -o new.nay
      run -$code nay diff $t $name a # its lines would not be sure
      [[ $output != 6* ]]
      run -$code nay common $t $name a
      run -$code nay sst build $t --sort -o new.nay a $name
      [ ! -e new.nay ]
      cmp f.nay before.nay
    done
  done < <(bad_files)
}

@test "uniq --state keeps what it printed before a malformed record or a bad file" {
  while read -r name code; do
    for threads in 1 2; do
      rm -f state
      printf '62\n63\n' > a
      run -$code --separate-stderr nay uniq -T $threads --on-bad=fail --key=hex --state state a $name
      printed=$output
      printf '64\n' >> a
      run -0 nay uniq -T $threads --key=hex --state state a
      [ "$output" = 64 ]
      [[ $printed == 62$'\n'63* ]]
    done
  done < <(bad_files)
  rm -f state
  run -2 --separate-stderr nay uniq --on-bad=fail --key=hex --state state malformed
  [ "$output" = 61 ]
  [ -z "$(echo 61 | nay uniq --key=hex --state state)" ]
}

@test "a native filter is no file of keys" {
  seq 10 | nay build -q -n 10 -o f.nay
  for line in 'build -n 10 -o g.nay f.nay' 'add f.nay f.nay' 'check f.nay f.nay' 'uniq f.nay' 'diff f.nay f.nay' \
    'verify --keys f.nay f.nay'; do
    # shellcheck disable=SC2086
    run -2 nay $line
    [[ $output == *"f.nay is a filter, not keys; --no-decompress reads its bytes as keys"* ]]
  done
  run -2 nay check f.nay - < f.nay
  [ ! -e g.nay ]
  nay build -q -n 10 --no-decompress -o g.nay f.nay
}

@test "base64: bits after the last byte are zero" {
  seq 10 | nay build -q -n 10 -o f.nay
  for good in YQ== YQ YWI= YWI YWJj _-8= '+/8='; do nay build -q -f -n 1 --key b64 -o g.nay <<< "$good"; done
  for bad in YR== YR YX== YWJ= YWJ YWL=; do
    run -2 nay build -q -f -n 1 --key b64 -o g.nay <<< "$bad"
    [[ $output == *"line 1: '$bad' is not of type b64: unused bits of the last base64 digit are not 0 (at byte "* ]]
  done
}

@test "a column that the header names twice is refused, others are not" {
  printf 'a,b,a\n1,2,3\n' > rows.csv
  for rows in 'a,b,a' '"a",b,a' 'a,a'; do
    run -2 nay build -q -n 10 --csv -k a -o f.nay <<< "$rows"
    [[ $output == *"line 1: the header has this column twice: give its number with -k, and --header" ]]
  done
  nay build -q -n 10 --csv -k b -o f.nay rows.csv
  nay check -q f.nay <<< 2
  nay build -q -f -n 10 --csv -k 3 --header -o f.nay rows.csv
  nay check -q f.nay <<< 3
}
