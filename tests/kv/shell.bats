#!/usr/bin/env bats
# The shell of examples/kv: what is put is what was given, or an error.
load ../cli/common

kv() { "$NAY_BUILD/examples/kv" "$@"; }

@test "kv: a line of any length is one command" {
  for n in 1048570 1048576 5000000; do
    { echo 'put victim precious'; printf 'put big '; head -c "$n" /dev/zero | tr '\0' v; echo 'delete victim'; } > lines
    kv store < lines
    [ "$(kv store get victim)" = precious ]
    [ "$(kv store get big | wc -c)" -eq $((n + 14)) ]
    kv store get big | tail -c 15 | grep -qx 'vdelete victim'
  done
  printf 'put last line' | kv store
  [ "$(kv store get last)" = line ]
}

@test "kv: a line with a NUL byte is an error, and not run" {
  for line in 'put nk one\0two\n' 'put nk\0 x\n' '\0put nk x\n' 'put nk x\0\n' 'put nk x\0'; do
    run -2 kv store < <(printf "%b" "$line")
    [[ $output == *"NUL byte"* ]]
    run -1 kv store get nk
  done
  run -2 kv store < <(printf 'put a 1\nput b 2\0\nput c 3\n')
  [ "$(kv store scan)" = "$(printf 'a\t1\nc\t3')" ]
}

@test "kv: the exit status of lines is the highest" {
  run -2 kv store < <(printf 'foo\nput z 1\n')
  [ "$(kv store get z)" = 1 ]
  run -2 kv store < <(printf 'putt z 2\nget nothing\nget z\n')
  run -1 kv store < <(printf 'get nothing\nput z 2\n')
  run -0 kv store < <(printf '\nput z 3\n\nget z\n')
  [ "$output" = 3 ]
}

@test "kv: further arguments and numbers that are none are refused" {
  for words in 'scan a z q' 'stats extra' 'settle now' 'bench 7 8' 'get' 'get a b' 'put a' 'put a b c' 'delete' 'delete a b' 'foo'; do
    # shellcheck disable=SC2086
    run -2 kv store $words
    [[ $output == "kv: put KEY VALUE, "* ]]
    [ ! -e store ]
  done
  for count in abc -5 0 +7 7x 99999999999999999999; do
    run -2 kv store bench "$count"
    [ "$output" = "kv: bench [N]: N is a number" ]
  done
  [ "$(kv store scan)" = "" ]
  run -0 kv store bench 7
}

@test "kv: output that cannot be written is an error" {
  kv store put a 1
  run -2 bash -c '"$1" store scan > /dev/full' - "$NAY_BUILD/examples/kv"
  [[ $output == "kv: standard output cannot be written" ]]
}

@test "kv: options that are none, and stores that are not there" {
  for option in -h --help --syncs -; do
    run -2 kv $option
    [[ $output == "kv: usage: "* ]]
    run -2 kv $option get a
    [ ! -e "./$option" ]
  done
  for words in 'get a' 'scan' 'stats' 'settle' 'delete a'; do
    # shellcheck disable=SC2086
    run -2 kv nothing $words
    [ ! -e nothing ]
    mkdir -p empty
    # shellcheck disable=SC2086
    run -2 kv empty $words
    [ "$output" = "kv: empty: there is no store" ]
    [ -z "$(ls empty)" ]
  done
}

@test "kv: a message never goes to a file of the store" {
  kv store put a b
  kv store frob <&- >&- 2>&- || true
  printf 'half' >> store/000001.log
  kv store get a <&- >&- 2>&- || true
  [ "$(kv store scan)" = "$(printf 'a\tb')" ]
}

@test "kv: an empty value on a line" {
  printf 'put e \nput f  g h \n' | kv store
  [ "$(kv store scan)" = "$(printf 'e\t\nf\t g h ')" ]
}

@test "kv: pages of a put that was not acknowledged reach the disk in any order" {
  for i in 1 2 3 4 5; do kv --sync store put "acked$i" "v$i"; done
  size=$(stat -c %s store/000001.log)
  kv store put unacked "$(head -c 12000 /dev/zero | tr '\0' x)"
  dd if=/dev/zero of=store/000001.log bs=1 seek="$size" count=$((4096 - size)) conv=notrunc status=none
  run -0 --separate-stderr kv store scan
  [ "$output" = "$(for i in 1 2 3 4 5; do printf 'acked%s\tv%s\n' $i $i; done)" ]
  [[ $stderr == "kv: store/000001.log: recovered 5 records, torn at offset $size: "*" bytes dropped" ]]
}

@test "kv: repair" {
  run -2 kv nothing repair
  [ ! -e nothing ]
  printf 'put a 1\nput b 2\nput c 3\n' | kv --sync store
  run -0 kv store repair
  [ "$output" = "kv: there is nothing to repair" ]
  printf X | dd of=store/000001.log bs=1 seek=50 conv=notrunc status=none
  run -2 kv store get b
  [[ $output == *"damaged at offset 16"*"repair"* ]]
  run -2 kv store < <(echo repair)
  run -0 kv store repair
  [[ $output == "kv: 000001.log: 2 records are whole, 42 bytes are lost from offset 16 "* ]]
  [ "$(kv store scan)" = "$(printf 'b\t2\nc\t3')" ]
  run -0 kv store repair
  [ "$output" = "kv: there is nothing to repair" ]
  rm store/*.ldb
  run -2 kv store repair # a table is not repaired
  [[ $output == *".ldb"* ]]
}
