#!/usr/bin/env bats
# Filters as a whole: add, remove, merge, fold, convert.
load common

@test "add: in place, nothing printed, all keys there" {
  seq 100 | nay build -q -n 200 -p 1e-6 -o f.nay
  run -0 --separate-stderr nay add f.nay < <(seq 101 200)
  [[ $stderr == "nay add: added to f.nay: 100 keys, "* ]]
  [ "$(seq 300 | nay check -c f.nay)" -eq 200 ]
  seq 200 | nay build -q -n 200 -p 1e-6 | cmp - f.nay
}

@test "add -o leaves the filter alone; add warns when it is overfilled" {
  seq 100 | nay build -q -n 100 -o f.nay
  cp f.nay before
  seq 101 200 | nay add -q f.nay -o g.nay
  cmp f.nay before
  run -0 nay add g.nay < <(seq 300)
  [[ $output == *": planned for 100 keys, holds about "* ]]
  run -2 nay add f.nay -o g.nay <<< 1
  [[ $output == *"g.nay exists; -f overwrites it" ]]
}

@test "add works on other systems' layouts" {
  seq 100 | nay build -q -n 200 -b 20 --format leveldb -o f
  seq 101 200 | nay add -q --format leveldb f
  seq 200 | nay build -q -n 200 -b 20 --format leveldb | cmp - f
}

@test "add by several processes at once loses nothing" {
  nay build -q -n 1000 -p 1e-6 -o f.nay < /dev/null
  for i in 0 1 2 3 4 5 6 7 8 9; do seq $((i * 100 + 1)) $((i * 100 + 100)) | nay add -q f.nay & done
  wait
  [ "$(seq 1000 | nay check -c f.nay)" -eq 1000 ]
}

@test "add refuses a damaged filter and keeps it" {
  seq 100 | nay build -q -n 100 -o f.nay
  flip f.nay 200
  cp f.nay before
  run -3 nay add f.nay <<< x
  cmp f.nay before
}

@test "remove: families that can do it, others say so" {
  seq 100 | nay build -q -n 100 -t blocked -o f.nay
  run -2 nay remove f.nay <<< 1
  [[ $output == "nay remove: a blocked filter does not support remove;"* ]]
  kinds=$(nay --version --json | jq -r '.kinds[]')
  for kind in counting cuckoo; do
    grep -qx "$kind" <<< "$kinds" || continue
    seq 100 | nay build -q -n 100 -p 1e-6 -t $kind -f -o g.nay
    seq 41 60 | nay remove -q g.nay
    [ "$(seq 100 | nay check -c g.nay)" -eq 80 ]
    run -1 nay remove g.nay <<< absent
    [[ $output == *"not in the filter: 1 key"* ]]
  done
}

@test "static families take no adds, and say so" {
  kinds=$(nay --version --json | jq -r '.kinds[]')
  for kind in xor fuse ribbon; do
    grep -qx "$kind" <<< "$kinds" || continue
    run -0 --separate-stderr nay build -p 1% -t $kind -f -o g.nay < <(seq 1000)
    [[ $stderr == *"keeping 8 bytes per key"* ]]
    [ "$(seq 1000 | nay check -c g.nay)" -eq 1000 ]
    run -2 nay add g.nay <<< x
    [[ $output == *"is static"* ]]
  done
}

@test "merge: the union is what building from all keys gives" {
  seq 1 600 | nay build -q -n 1000 -p 1% -o a.nay
  seq 401 1000 | nay build -q -n 1000 -p 1% -o b.nay
  seq 900 1200 | nay build -q -n 1000 -p 1% -o c.nay
  run -0 nay merge a.nay b.nay c.nay -o all.nay
  [[ $output == "nay merge: merged into all.nay: about 1,"* ]]
  seq 1200 | nay build -q -n 1000 -p 1% | cmp - all.nay
}

@test "merge --max-fpr refuses with status 1 and writes nothing" {
  seq 1 600 | nay build -q -n 600 -p 1% -o a.nay
  seq 601 1200 | nay build -q -n 600 -p 1% -o b.nay
  run -1 nay merge a.nay b.nay --max-fpr 2% -o c.nay
  [ "$output" = "nay merge: with b.nay the FPR would be above 2.00%: nothing written" ]
  [ ! -e c.nay ]
  nay merge -q a.nay b.nay --max-fpr 50% -o c.nay
}

@test "merge folds unlike sizes, and says what differs when it cannot" {
  seq 1 1000 | nay build -q -t blocked -n 100k -M 128Ki --fold 2048 -o a.nay
  seq 1001 2000 | nay build -q -t blocked -n 200k -M 256Ki --fold 2048 -o b.nay
  nay merge -q a.nay b.nay -o c.nay
  [ "$(seq 2000 | nay check -c c.nay)" -eq 2000 ]
  seq 1 1000 | nay build -q -t blocked -n 100k -M 128Ki --fold 2048 --seed 5 -o seed.nay
  seq 1 1000 | nay build -q -t bloom -n 100k -p 1% -o bloom.nay
  run -2 nay merge a.nay seed.nay -o x.nay
  [ "$output" = "nay merge: seed.nay cannot be merged: it differs in hash or seed" ]
  run -2 nay merge a.nay bloom.nay -o x.nay
  [[ $output == *"it differs in family" ]]
  [ ! -e x.nay ]
}

@test "merge --intersect keeps common keys and is marked" {
  seq 1 600 | nay build -q -n 1000 -p 1e-6 -o a.nay
  seq 401 1000 | nay build -q -n 1000 -p 1e-6 -o b.nay
  nay merge -q --intersect a.nay b.nay -o c.nay
  [ "$(seq 401 600 | nay check -c c.nay)" -eq 200 ]
  nay info --json c.nay | jq -e '.derived and .fpr_now == null'
  nay info c.nay | grep -q 'unknown: an intersection'
}

@test "merge names what a family does not support" {
  seq 100 | nay build -q -t scalable -o s.nay
  seq 50 100 | nay build -q -t scalable -o t.nay
  run -2 nay merge -q --intersect s.nay t.nay -o c.nay
  [ "$output" = "nay merge: a scalable filter does not support intersect" ]
  seq 100 | nay build -q -t xor -o x.nay
  seq 50 100 | nay build -q -t xor -o y.nay
  run -2 nay merge -q x.nay y.nay -o c.nay
  [ "$output" = "nay merge: a xor filter does not support merge" ]
  [ ! -e c.nay ]
}

@test "fold: exactly the filter of that size, in place or to a file" {
  seq 1000 | nay build -q -t blocked -n 100k -p 1% -o f.nay
  cp f.nay whole.nay
  run -0 nay fold whole.nay --factor 2 -o half.nay
  [[ ${lines[0]} == "nay fold: folded by 2" ]]
  [ "$(wc -c < half.nay)" -lt "$(wc -c < whole.nay)" ]
  nay fold -q f.nay
  [ "$(wc -c < f.nay)" -lt 5000 ]
  nay info --json f.nay | jq -e '.fpr_now <= 0.0101'
  [ "$(seq 1000 | nay check -c f.nay)" -eq 1000 ]
  run -1 nay fold -q f.nay --max-fpr 1e-9
  run -2 nay fold f.nay --factor 7777777
  [[ $output == *"not divisible by 7,777,777" ]]
  run -2 nay fold f.nay --factor 2 --max-fpr 1%
}

@test "convert --keys: the filter is of the given keys alone, also in its own layout, and sized for them" {
  seq 1000 > old
  seq 100001 200000 > many
  seq 100001 100500 > few
  head -c 16 /dev/zero | tr '\0' k > secret
  for kind in bloom blocked counting cuckoo fuse xor ribbon scalable; do
    for secret in '' '--secret secret'; do
      # shellcheck disable=SC2086
      nay build -q -f -t $kind -n 1000 -p 1% $secret -o f.nay old
      for keys in many few; do
        # shellcheck disable=SC2086
        nay convert -q -f --strict --to nay --keys $keys $secret f.nay -o g.nay
        # shellcheck disable=SC2086
        nay verify -q $secret --keys $keys g.nay
        # shellcheck disable=SC2086
        [ "$(nay check -c $secret g.nay old)" -lt 300 ] || { echo "$kind: old keys"; return 1; }
        nay info --json g.nay | jq -e --arg k $kind --argjson n "$(wc -l < $keys)" \
          '.nkeys_planned == $n and .bits_per_key < 64 and (.kind == $k or $k == "scalable")'
        [ -z "$secret" ] || nay info --json g.nay | jq -e '.hash == "siphash13"'
      done
    done
  done
}

@test "convert: says plainly when the hash differs, builds again with keys" {
  seq 1000 > keys
  nay build -q -b 10 -o f.nay keys
  run -2 nay convert --to leveldb f.nay -o f.leveldb
  [[ $output == "nay convert: cannot convert f.nay (nay, hash xxh3) to leveldb, which uses another hash; it can be rebuilt from the keys: --keys FILE" ]]
  [ ! -e f.leveldb ]
  nay convert -q --to leveldb --keys keys f.nay -o f.leveldb
  [ "$(nay check -c --format leveldb f.leveldb keys)" -eq 1000 ]
  nay convert -q --to leveldb --format leveldb f.leveldb -o again
  cmp again f.leveldb
  nay convert -q --to nay f.nay | cmp - f.nay
  nay convert -q --to nay --format leveldb --keys keys f.leveldb -o back.nay
  [ "$(nay check -c back.nay keys)" -eq 1000 ]
  run -2 nay convert f.nay -o x
  [[ $output == *"give the layout to write: --to NAME" ]]
}

@test "merge: sizes with a small common divisor are named, with the remedy" {
  seq 1000 > keys
  nay build -q -t blocked -b 10.24 -n 1000 -o a.nay keys   # 20 blocks
  nay build -q -t blocked -b 10.24 -n 1950 --probes "$(nay info --json a.nay | jq .k)" -o b.nay keys # 39 blocks
  run -1 nay merge a.nay b.nay -o c.nay
  [[ $output == *"b.nay has 19,968 bits and the filters before it 10240: folded to their greatest common size the FPR would be above 50.0%: nothing written; plan all with the same -n, or with --fold" ]]
  [ ! -e c.nay ]
  nay build -q -t blocked -b 10.24 -n 2000 --probes "$(nay info --json a.nay | jq .k)" -o d.nay <(seq 1000) # 40
  run -0 nay merge d.nay a.nay -o c.nay
  [[ $output == *"folded to 10,240 bits, the greatest common size"* ]]
  nay verify -q --keys keys c.nay
}

@test "merge: the same file twice is merged once, by any name" {
  for kind in bloom blocked scalable; do
    nay build -q -f -t $kind -n 100 -o f.nay <(seq 100)
    ln -sf f.nay l.nay
    cp f.nay was.nay
    for operands in 'f.nay f.nay' 'f.nay ./f.nay' 'f.nay l.nay' 'l.nay f.nay f.nay'; do
      # shellcheck disable=SC2086
      run -0 nay merge $operands -f -o f.nay
      [[ $output == *" is given twice: merged once"* ]]
      cmp f.nay was.nay
    done
  done
}

@test "merge of scalable filters: many merges in pairs do not raise the promise" {
  for i in 0 1 2 3 4 5 6 7; do
    nay build -q -t scalable -n 100 -p 1% -o $i.nay <(seq $((i * 10000)) $((i * 10000 + 9000)))
  done
  cp 0.nay all.nay
  last=0
  for i in 1 2 3 4 5 6 7; do
    run nay merge -q -f --strict all.nay $i.nay -o all.nay
    last=$status
  done
  [ "$last" -eq 4 ]
  [[ $output == *"above the promised 1.000%"* ]]
}

@test "fold: a layout that does not fold is said to be one" {
  for format in leveldb lab rocksdb-bloom; do
    seq 100 | nay build -q -f -n 100 -b 10 --format $format -o f
    for options in '' '--max-fpr 10%' '--factor 2'; do
      # shellcheck disable=SC2086
      run -2 nay fold --format $format $options f
      [[ $output == *"cannot be folded" || $output == *"does not support fold" ]] || { echo "$output"; return 1; }
    done
  done
}

@test "cuckoo: a key may occur any number of times in what is built without -n, and in A" {
  { seq 100; yes 7 | head -n 20; } > keys
  nay build -q -t cuckoo -o f.nay keys
  nay build -q -t cuckoo -o p.nay < <(cat keys)
  cmp f.nay p.nay
  nay verify -q --keys keys f.nay
  for n in '' '-n 200'; do
    # shellcheck disable=SC2086
    run -1 nay diff -t cuckoo $n keys keys
    # shellcheck disable=SC2086
    [ "$(nay common -c -t cuckoo $n keys keys)" -eq 120 ]
  done
}
