#!/usr/bin/env bats
# bench, plot, complete, man, help: made from the tables, and usable by other programs.
load common

commands() { nay help | sed -n 's/^  \([a-z]*\) .*/\1/p' | head -n 18; }

@test "bench: a table, CSV and JSON; the measured rate is the expected one" {
  run -0 nay bench -t blocked -n 20k
  [[ ${lines[1]} == "blocked "* ]]
  run -0 nay bench -n 20k --csv
  [ "${lines[0]}" = "kind,nkeys,bits_per_key,nbytes_memory,fpr_planned,fpr_measured,nabsent,build_ns,hit_ns,miss_ns,one_ns" ]
  nay bench -t bloom -n 20k --json | jq -e '.kind == "bloom" and .build_ns > 0 and .miss_ns > 0
    and .fpr_low <= .fpr_planned * 1.5 and .fpr_high >= .fpr_planned * 0.5'
}

@test "plot: characters in a pipe, SVG that parses on request" {
  run -0 nay plot size
  [[ ${lines[0]} == "Bits per key against FPR" ]]
  [[ $output == *" a lower bound"* && $output == *" c blocked"* ]]
  # names are in the order of the ends of their lines: the lower bound below all others
  for families in bloom bloom,ribbon ribbon,fuse bloom,blocked,counting,cuckoo,xor,fuse,ribbon; do
    nay plot size -t $families --json | jq -r '[.series[] | {name, y: .points[0].y}] | sort_by(-.y)[].name' > order
    nay plot size -t $families | sed -nE 's/.* [a-z] ([a-z][a-z ]*)$/\1/p' > names
    [ "$(tail -n 1 names)" = "lower bound" ]
    diff order names
  done
  grep -q ' $' <<< "$output" && false # no blanks at the end of a line
  [[ $(LC_ALL=C.UTF-8 nay plot size) == *"┴"*"c blocked"* || $(LC_ALL=C.UTF-8 nay plot size) == *"c blocked"*"┴"* ]]
  [[ $(LC_ALL=C.UTF-8 nay plot size --color=always) == *"⠶ blocked"* ]]    # colours tell lines apart
  [[ $(LC_ALL=C.UTF-8 nay plot fpr -t blocked) == *"⠶ blocked"* ]]         # so does being alone
  [[ $(LC_ALL=C nay plot size | LC_ALL=C tr -d '\n -~') == "" ]]            # plain ASCII
  for plot in fpr size "k --measure -n 500" "bits --format all -n 500"; do
    nay plot $plot --svg | python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.stdin)'
  done
  nay plot size -o size.svg
  python3 -c 'import xml.dom.minidom as m; m.parse("size.svg")'
  run -2 nay plot size -o size.svg
  seq 1000 | nay build -q -n 1000 -o f.nay
  run -0 nay plot fpr f.nay
  nay bench -n 1k --csv > table.csv
  run -0 nay plot bench table.csv
  [[ $output == *"blocked   build "* ]]
  nay plot bench --svg < table.csv | python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.stdin)'
  nay plot bench --json table.csv | jq -e '.series | length == 4 and all(.points | length > 5 and all(.label != null))'
  run -2 nay plot bench <<< nonsense
  run -2 nay plot szie
  [[ $output == *"did you mean size"* ]]
}

@test "plot: as wide as the terminal, every line named, in colour" {
  cat > wide.py <<'PY'
import fcntl, os, pty, re, struct, sys, termios
def shown(columns, *words):
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        os.environ.update(LC_ALL="C.UTF-8", TERM="xterm")
        os.execvp("nay", ("nay", "plot") + words)
    text = b""
    try:
        while piece := os.read(terminal, 65536):
            text += piece
    except OSError:
        pass # the end
    assert os.waitpid(pid, 0)[1] == 0, words
    return text.decode().replace("\r", "")
for columns in 20, 40, 63, 64, 80, 130, 300:
    for words in ("k", "-n", "1000"), ("bits", "-q", "--format", "all", "-n", "1000"), ("size",), ("fpr",):
        text = shown(columns, *words)
        assert "\x1b[34m" in text and "\u2836" in text, text
        plain = re.sub("\x1b\\[[0-9]*m", "", text).split("\n")
        axis = next(i for i, line in enumerate(plain) if "\u2514" in line)
        assert len(plain[axis]) <= columns and all(len(line) <= max(columns, 26) for line in plain[2:axis]), (columns, words, plain)
        names = set(re.findall("\u2836 ([a-z0-9 -]*[a-z0-9])", "\n".join(plain)))
        want = {"bloom", "blocked"} if words[0] != "bits" else {"leveldb", "rocksdb-ribbon", "cassandra-old-swapped", "lower bound"}
        assert want <= names, (columns, words, names)
        assert all(len(line) <= max(columns, 26) for line in plain[axis:] if "\u2836" in line), (columns, plain[axis:])
        if columns >= 80 and columns <= 200:
            assert max(map(len, plain[2:axis])) > columns - 12, (columns, words)
PY
  python3 wide.py
}

@test "plot k and plot bits: the points are those of the planner" {
  nay plot k -n 5000 -b 12 --json > k.json
  for kind in bloom blocked; do
    for k in 1 5 8 13; do
      nay plan -n 5000 -b 12 --probes $k -t $kind --no-measure --json | jq -c '.candidates[0].fpr_planned' > plan
      jq -c ".series[] | select(.name == \"$kind\") | .points[] | select(.x == $k) | .y" k.json | cmp - plan
    done
  done
  jq -e '[.series[] | select(.fixed) | .name] | contains(["cuckoo", "xor", "ribbon"])' k.json
  jq -e '.series[] | select(.name == "bloom") | .points | min_by(.y).x == 8' k.json
  nay plot k -n 5000 -b 12 | grep -qE 'bloom +least at k = 8: 0\.3'
  nay plot bits -n 5000 --json > bits.json
  for kind in bloom ribbon; do
    nay plan -n 5000 -b 9 -t $kind --no-measure --json | jq -c '.candidates[0] | [.bits_per_key, .fpr_planned]' > plan
    jq -c ".series[] | select(.name == \"$kind\") | .points[] | [.x, .y]" bits.json | grep -qxFf plan
  done
  # nothing is below the bound
  jq -e '[.series[] | .points[] | .y * pow(2; .x) > 0.999] | all' bits.json
  nay plot bits -n 5000 --format cassandra --json | jq -e '[.series[].name] == ["lower bound", "cassandra"]'
  nay plan -n 5000 -b 10 --format cassandra --no-measure --json | jq -c '.layouts[0].fpr_planned' > plan
  nay plot bits -n 5000 --format cassandra --json | jq -c '.series[1].points[] | .y' | grep -qxFf plan
}

@test "plot --measure: intervals lie around the lines; CSV and JSON agree" {
  nay plot k -t bloom,blocked -n 20000 --measure --json > k.json
  # 32 intervals of 95%, of one set of keys: a line outside of its interval by half is a defect
  jq -e '[.series[] | .points[] | .nabsent == 500000 and .fpr_low < 1.1 * .y and .fpr_high > 0.9 * .y] | all and length == 32' k.json
  nay plot k -t bloom,blocked -n 20000 --measure --csv | tail -n +2 | cut -d, -f1,2,7 > csv
  jq -r '.series[] | .name as $name | .points[] | "\($name),\(.x),\(.nabsent)"' k.json | cmp - csv
  nay plot k -t bloom -n 20000 --measure | grep -q 'capital letters: measured'
  for wrong in "k -p 1%" "k -M 1k" "k --format lab" "bits -b 3" "size --measure" "fpr --format lab" "k --svg --csv" "k --csv -o x"; do
    run -2 nay plot $wrong
  done
}

# refused TEXT COMMAND...: status 2, the text on standard error, nothing on standard output
refused() {
  local text=$1
  shift
  run --separate-stderr -2 nay "$@"
  [ -z "$output" ] && [[ $stderr == *"$text"* ]] || { echo "$*: $output $stderr"; return 1; }
}

@test "plot: options, operands and tables that would draw nothing are refused by name" {
  seq 100 | nay build -q -n 100 -o f.nay
  for verb in fpr k bits size bench; do
    for option in "-t bloom" "-n 10" "-p 1%" "-b 10" "-M 1k" "--probes 3" "--format lab" --measure; do
      case "$verb $option" in
        "fpr -"[tnpbM]* | "k -"[tnb]* | "k --measure" | "bits -"[tn]* | "bits --"* | "size -"[tn]*) continue ;;
      esac
      # shellcheck disable=SC2086
      refused "${option%% *} is not for 'nay plot $verb'" plot $verb $option
    done
  done
  for option in "-t bloom" "-n 10" "-p 1%" "-b 10" "-M 1k"; do
    # shellcheck disable=SC2086
    refused "${option%% *} is not for 'nay plot fpr FILTER'" plot fpr f.nay $option
  done
  for verb in k bits size; do refused "one operand too many: 'f.nay'; usage: nay plot [options] $verb" plot $verb f.nay; done
  for verb in fpr k bits size; do refused "nothing to plot with these parameters" plot $verb -n 72057594037927936 -t ribbon --csv; done
  for verb in bits size; do
    run --separate-stderr -0 nay plot $verb -n 72057594037927936 -t bloom,ribbon --csv
    [[ $output == *bloom,* && $output != *ribbon* && $stderr == "nay plot: ribbon: nothing to plot with these parameters" ]]
  done
  refused "f.nay is a filter, not a table of 'nay bench --csv'" plot bench f.nay
  [[ $stderr != *no-decompress* ]]
  echo 'kind,nkeys' > short.csv
  refused "not a table of 'nay bench --csv'" plot bench short.csv
  : > empty.csv
  refused "not a table of 'nay bench --csv'" plot bench empty.csv
  nay bench -t blocked -n 10 --csv > table.csv
  head -n 1 table.csv > header.csv
  refused "the table has no rows" plot bench header.csv
  for _ in $(seq 26); do tail -n 1 table.csv; done >> header.csv
  nay plot bench header.csv > chart
  tail -n 1 table.csv >> header.csv
  refused "the table has more than 26 rows" plot bench header.csv
}

@test "plot --measure: filters that there is no memory for are not left out" {
  run -2 --separate-stderr bash -c 'ulimit -v 40000; nay plot bits --measure -t bloom,ribbon,fuse -n 1M --csv'
  [ -z "$output" ] && [[ $stderr == *"out of memory"* ]]
}

@test "bench and plan --format: what cannot be done is said by name, without a header above nothing" {
  seq 100 | nay build -q -n 100 -o f.nay
  refused "leveldb: --probes: this layout takes it from -b" bench --format leveldb --probes 3 -n 100
  refused "redisbloom-cf: filters in this layout are read here, not made" bench --format redisbloom-cf -n 10
  refused "mutually exclusive" bench -p 1% -b 10 -n 10
  refused "mutually exclusive" bench --json --csv -n 10
  refused "mutually exclusive" bench --format lab -t bloom -n 10
  refused "with 40 probes, more than 32: give --probes" bench --hash -b 0.0001 -n 1
  refused "--hash: at most 32 probes" bench --hash --probes 33
  refused "f.nay is a filter, not keys" bench --floor f.nay
  [[ $stderr != *no-decompress* ]]
  printf '\377\376a\0\n\0' > utf16
  refused "utf16 is UTF-16" bench --floor utf16
  [[ $stderr != *no-decompress* ]]
  refused "--format is not for 'nay bench --floor'" bench --floor f.nay --format lab
  refused "--csv is not for 'nay bench --floor'" bench --floor f.nay --csv
  for command in bench plan "plot bits"; do
    for list in '' leveldb, ,leveldb leveldb,,lab; do
      # shellcheck disable=SC2086
      refused "--format: '' is not one of" $command -n 10 --format "$list"
    done
  done
  for list in '' merge, ,merge; do refused "--need: '' is not one of" plan -n 10 --no-measure --need "$list"; done
  for json in "" --json; do
    # shellcheck disable=SC2086
    refused "-M is for families" plan -n 1000 --format all -M 1000 $json
    # shellcheck disable=SC2086
    refused "-t and --format are mutually exclusive" plan -n 1000 --format all -t bloom $json
  done
}

@test "help and manual exist for every command, with every option" {
  [ "$(commands | wc -l)" -eq 18 ]
  for command in $(commands); do
    nay help "$command" > h
    nay "$command" --help | cmp - h
    nay man "$command" > m
    grep -q '^.SH NAME' m && grep -q '^.SH OPTIONS' m
    for option in $(grep -oE -- '--[a-z-]+' h | grep -E -- '^--[a-z]' | sort -u); do
      sed 's/\\-/-/g' m | grep -q -- "$option"
    done
    [ "$(awk 'length > 110' h | wc -l)" -eq 0 ]
  done
  nay man | grep -q '^.SH EXIT STATUS'
  run -2 nay help nosuch
}

@test "the manual in doc/man is the one that the program writes (scripts/manual)" {
  source=${NAY_SOURCE:-$BATS_TEST_DIRNAME/../..}
  for command in $(commands); do
    nay man --markdown "$command" | diff "$source/doc/man/nay-$command.1.md" -
  done
  for page in libnay libnaysst; do
    python3 "$source/tools/man3.py" $page | head -1 | grep -q "^\.TH $page 3 "
  done
  nay man --markdown | diff "$source/doc/man/nay.1.md" -
}

@test "plan: k is that of the filter that build makes, of every family" {
  nay plan -n 3000 -p 0.1% --no-measure > table
  [[ $(head -1 table) == "  kind      bits/key   k "* ]]
  for kind in $(nay plan -n 3000 -p 0.1% --no-measure --json | jq -r '.candidates[].kind'); do
    k=$(seq 3000 | nay build -q -t $kind -n 3000 -p 0.1% -f -o f.nay && nay info --json f.nay | jq .k)
    [ "$(awk -v kind=$kind '$(NF - 8) == kind || $1 == kind || $2 == kind { print ($1 == "*" ? $4 : $3) }' table)" = "$k" ]
  done
}

@test "plan --format: size and k are those of the filters that build makes in these layouts" {
  nay plan -n 3000 -b 10 --format all --no-measure --json > plans
  seq 3000 > keys
  # cuckoo filters of RedisBloom are read only; the others have one size, above 10 bits per key
  [ "$(jq -r '[.layouts[] | select(.k == null) | .format] | join(" ")' plans)" = "redisbloom-cf redis-dump-cf bip158 binary-fuse16 binary-fuse16-packed xor16 xor16-packed" ]
  for format in $(jq -r '.layouts[] | select(.k) | .format' plans); do
    key=text
    case $format in binary-fuse* | xor*) key=int ;; esac # layouts of numbers
    nay build -q --key=$key --format $format -n 3000 -b 10 -f -o built keys
    nay info --json --format $format built | jq -c '[.k, .nbytes]' > built.json
    jq -c ".layouts[] | select(.format == \"$format\") | [.k, .nbytes]" plans > plan.json
    case $format in # keys with equal fingerprints; a length field of LZF, of Thrift
      nori-quotient* | redis-dump-bf | sbbf) jq -es '.[0][0] == .[1][0] and .[1][1] <= .[0][1] and .[1][1] > 0.99 * .[0][1]' plan.json built.json ;;
      *-packed) jq -es '.[0][0] == .[1][0] and .[1][1] <= .[0][1]' plan.json built.json ;; # without its empty slots
      *) cmp plan.json built.json ;;
    esac
  done
}

@test "plan and bench --format: the FPR of the formula is measured; what does not apply is refused" {
  nay plan -n 20000 -b 8 --format rocksdb-bloom,cassandra,nori --json |
    jq -e '.layouts | length == 3 and all(.fpr_low < 1.1 * .fpr_planned and .fpr_high > 0.9 * .fpr_planned)'
  nay bench -n 20000 -b 8 --format nori --json | jq -e '.format == "nori" and .kind == "bloom" and .k == 6'
  nay bench -n 1000 -b 8 --format lab --csv | sed -n '2s/,.*//p' | grep -qx lab
  run -0 nay plan -n 2M -b 8 --format lab
  [[ $output == *"not measured: more than a million keys"* ]]
  run -1 nay plan -n 1000 --no-measure --format redisbloom-cf
  [[ $output == *"read here, not made"* ]]
  run -2 nay plan -n 1000 -t bloom --format lab
  [[ $output == *"mutually exclusive"* ]]
  run -2 nay plan -n 1000 -M 1k --format lab
  [[ $output == *"-M is for families"* ]]
  run -2 nay plan -n 1000 --need merge --format lab
  [[ $output == *"--need is for families"* ]]
  run -2 nay plan -n 1000 --format lab,casandra
  [[ $output == *"did you mean cassandra"* ]]
}

@test "bench --hash: every hash and length; double hashing costs what it is known to cost" {
  nay bench --hash -n 50 -b 16 --probes 11 --json > docs
  jq -s '[.[] | select(.schema == "nay.bench.hash/1")] | map(.hash) | contains(["xxh3", "siphash13", "leveldb", "farm32",
    "xxh64x2", "fnv1a-splitmix", "xxph3", "leveldb-s8", "murmur64a-x2", "murmur3-s8"])' docs | grep -qx true
  jq -se '[.[] | select(.schema == "nay.bench.hash/1") | .lengths | map(.key_nbytes) == [4, 8, 16, 32, 64, 128, 256, 512, 1024]] | all' docs
  jq -se '[.[] | .lengths[] | .many_ns // .hit_ns | . > 0] | all' docs
  ratio() { jq -s ".[] | select(.scheme == \"$1\") | .$2 / .fpr_planned" docs; }
  jq -ne "$(ratio 'k hashes' fpr_low) < 1 and $(ratio 'k hashes' fpr_high) > 1"   # independent: the formula holds
  jq -ne "$(ratio 'nay bloom' fpr_low) < 1 and $(ratio 'nay bloom' fpr_high) > 1"
  jq -ne "$(ratio 'two hashes' fpr_low) > 2 and $(ratio 'two hashes' fpr_high) < 3" # doc/formats: 2.6
  jq -ne "$(ratio 'one hash' fpr_low) > 4.5 and $(ratio 'one hash' fpr_high) < 5.5" # 5.0
  jq -ne "$(ratio "LevelDB's" fpr_low) > 2 and $(ratio "LevelDB's" fpr_high) < 3"
  nay bench --hash --csv > table
  [ "$(head -1 table)" = hash,key_nbytes,many_ns,one_ns ]
  [ "$(wc -l < table)" -eq $((9 * $(jq -s '[.[] | select(.users)] | length' docs) + 1)) ]
  run -0 nay bench --hash -n 1000
  [[ $output == *"one call for each key"*"1,000 keys in 10,000 bits, 7 probes: two hashes against 7"* ]]
  for wrong in "-t bloom" "--format lab" "-p 1%" "--floor table" "--probes 40" "-b 70"; do
    run -2 nay bench --hash $wrong
  done
}
