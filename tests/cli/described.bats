#!/usr/bin/env bats
# Files state how their keys were made: every command reads keys so, unless told, and refuses to be told otherwise.
load common

setup() {
  cd "$BATS_TEST_TMPDIR"
  seq 1000 > keys
  printf '7\n007\n0x7\n1000\n1001\n' > texts
  nay build -q --key=int -p 1e-6 -o i.nay keys
  nay build -q -p 1e-6 -o t.nay keys
}

# refused WORDS MESSAGE: exit status 2, nothing on standard output, the message.
refused() {
  local message=${*: -1}
  run -2 --separate-stderr "${@:1:$#-1}"
  [ -z "$output" ]
  [[ $stderr == *"$message"* ]] || { echo "$stderr"; false; }
}

@test "a forgotten --key denies nothing: lines, arguments, columns, fields, records, pipes" {
  [ "$(nay check -c i.nay keys)" = 1000 ]
  [ "$(nay check i.nay texts)" = $'7\n007\n0x7\n1000' ]
  [ "$(nay check i.nay < texts)" = $'7\n007\n0x7\n1000' ]
  [ "$(nay check i.nay --keys texts)" = $'7\n007\n0x7\n1000' ]
  [ "$(nay check i.nay -e +7 -e 1001)" = +7 ]
  [ "$(printf 'a,0x3e8\nb,2000\n' | nay check --csv -k2 i.nay)" = a,0x3e8 ]
  [ "$(printf 'a:5:b\n' | nay check -F: -k2 i.nay)" = a:5:b ]
  [ "$(printf '5\0006000\000' | nay check -0 i.nay | tr '\0' .)" = 5. ]
  [ "$(printf '\1\0\0\0005' | nay check -c --length-prefixed i.nay)" = 1 ]
  printf '\5\0\0\0\0\0\0\0' | nay check -q --key=u64le i.nay
  [ "$(nay check -vc i.nay keys)" = 0 ]
  gzip -k keys
  [ "$(nay check -c i.nay keys.gz)" = 1000 ]
}

@test "every command that takes keys: without --key as with it" {
  nay add -q i.nay -e 0x7d0
  nay check -q i.nay -e 2000
  nay add -q --create -n 10 --key=date new.nay -e 2024-02-29
  nay add -q --create -n 10 new.nay -e +2024-03-01
  [ "$(nay check -c new.nay -e 2024-02-29 -e 2024-03-01)" = 2 ]
  nay build -q --key=int -t counting -o c.nay keys
  nay remove -q c.nay -e 0x5
  run -1 nay check c.nay -e 5
  nay explain i.nay 007 | grep -q '^maybe'
  [ "$(nay explain --json i.nay 007 --keys keys | jq -c '[.is_member, .maybe]')" = '[true,true]' ]
  [ "$(nay verify --json --keys keys i.nay | jq .nmissing)" = 0 ]
  [ "$(nay verify --json --absent <(seq 2001 3000) i.nay | jq .nmaybes)" -le 1 ]
  nay convert -q --to leveldb --keys keys i.nay -o l
  [ "$(nay check -c --format leveldb --key=int l keys)" = 1000 ]
  printf '1\n01\n2\n' | nay uniq --key=int --state s.nay > /dev/null
  [ "$(printf '001\n3\n' | nay uniq --state s.nay)" = 3 ]
}

@test "a --key that the file contradicts is refused by every command, and nothing changes" {
  before=$(cat i.nay | md5sum)
  said="i.nay: its keys are of type int, and --key says"
  for type in text bytes hex b64 float bool date timestamp uuid numeric; do
    shown=$([ $type = bytes ] && echo text || echo $type)
    refused nay check --key=$type i.nay keys "$said $shown: omit --key"
    refused nay check --key=$type i.nay -e 7 "$said $shown"
    refused nay add --key=$type i.nay keys "$said $shown"
    refused nay add --create -n 1000 --key=$type i.nay keys "$said $shown"
    refused nay explain --key=$type i.nay 7 "$said $shown"
    refused nay verify --key=$type --keys keys i.nay "$said $shown"
    refused nay convert --to leveldb --keys keys --key=$type i.nay -o x "$said $shown"
    refused nay uniq --key=$type --state i.nay keys "$said $shown"
  done
  nay build -q --key=int -t cuckoo -n 2000 -o c.nay keys
  refused nay remove --key=text c.nay keys "c.nay: its keys are of type int, and --key says text"
  for type in int u64le uuid; do
    refused nay check --key=$type t.nay keys "t.nay: its keys are of type text, and --key says $type"
  done
  [ "$(cat i.nay | md5sum)" = "$before" ]
  [ ! -e x ]
  [ "$(nay check -c --key=int i.nay keys)" = 1000 ]
  [ "$(nay check -c --key=hex t.nay -e 31 -e 3132)" = 2 ]
  [ "$(nay check -c --key=b64 t.nay -e MQ==)" = 1 ]
}

@test "two types of keys are not merged, nor asked together; layouts that state none need --key" {
  refused nay merge i.nay t.nay -o m.nay "t.nay cannot be merged: its keys are of type text, those before it of type int"
  refused nay merge --intersect t.nay i.nay -o m.nay "i.nay cannot be merged: its keys are of type int, those before it of type text"
  [ ! -e m.nay ]
  for mode in --any --all --which; do
    refused nay check $mode i.nay t.nay --keys keys "the keys of i.nay are of type int, those of t.nay of type text: ask one at a time"
    refused nay check $mode --key=int i.nay t.nay --keys keys "t.nay: its keys are of type text, and --key says int"
  done
  sed 's/$/\tv/' keys | nay sst build -q --sort --key=int --filter leveldb -o i.ldb
  nay build -q --key=int -p 1e-6 -o j.nay <(seq 2001 2100)
  [ "$(nay check --any -c i.nay j.nay --keys <(seq 2200))" -ge 1100 ]
  [ "$(nay check --any -c i.nay i.ldb --keys keys)" = 1000 ]
  nay merge -q i.nay i.nay -o m.nay
  [ "$(nay info --json m.nay | jq -r .key_description)" = int ]
}

@test "what becomes of a file states what it did: fold, convert, add -o, merge, copies of the bytes" {
  nay build -q --key=uuid -n 100000 --fold 8 -o big.nay -e 123e4567-e89b-12d3-a456-426614174000
  nay fold -q --factor 8 big.nay -o folded.nay
  nay convert -q --to nay big.nay -o same.nay
  cmp big.nay same.nay
  nay add -q big.nay -o added.nay -e '{123E4567E89B12D3A456426614174001}'
  nay convert -q --to nay --keys <(echo 123e4567-e89b-12d3-a456-426614174000) big.nay -o again.nay
  for f in folded same added again; do
    [ "$(nay info --json $f.nay | jq -r .key_description)" = uuid ]
    nay check -q $f.nay -e 123E4567E89B12D3A456426614174000
  done
}

@test "plain keys leave no trace; the others are said where they get lost" {
  for type in text bytes; do
    nay build -q -f --key=$type -p 1e-6 -o x.nay keys
    cmp t.nay x.nay
  done
  nay build -q -f --key=hex -n 1000 -p 1e-6 -o x.nay <(printf '3%s\n' {0..9})
  nay build -q -f -n 1000 -p 1e-6 -o y.nay <(printf '%s\n' {0..9})
  cmp x.nay y.nay
  run -0 --separate-stderr nay convert --to leveldb --keys keys i.nay -o l
  [[ $stderr == *"leveldb has no place for the type of the keys: give --key=int wherever the file is used"* ]]
  run -0 --separate-stderr nay build --key=date --format leveldb -n 9 -o d -e 2024-02-29
  [[ $stderr == *"leveldb has no place for the type of the keys: give --key=date"* ]]
  run -0 --separate-stderr nay sst build --key=int --format nori -o n.sst <(printf '1\n2\n')
  [[ $stderr == *"nori-sst has no place for the type of the keys: give --key=int"* ]]
  run -0 --separate-stderr nay convert --to leveldb --keys keys t.nay -o l2
  [[ $stderr != *"no place"* ]]
}

@test "info shows it: text, JSON, several files, layouts that state none" {
  nay info i.nay | grep -qx '  key type   int'
  run -1 grep 'key type' <(nay info t.nay)
  [ "$(nay info --json i.nay t.nay | jq -r .key_description | paste -sd,)" = int,text ]
  nay build -q --format leveldb -b 10 -o l keys
  [ "$(nay info --json --format leveldb l | jq .key_description)" = null ]
}

@test "maps: get, verify and info by what the map states" {
  awk '{print $1 "\t" $1 % 8}' keys > rows
  nay map build -q --key=int --check 16 -o m.nay rows
  [ "$(nay map get -q m.nay 007 0x8 5000)" = $'007\t7\n0x8\t0' ]
  nay map verify -q --keys rows m.nay
  nay map info m.nay | grep -qx '  key type int'
  [ "$(nay map info --json m.nay | jq -r .key_description)" = int ]
  refused nay map get --key=text m.nay 7 "m.nay: its keys are of type int, and --key says text: omit --key"
  refused nay map verify --key=hex --keys rows m.nay "m.nay: its keys are of type int, and --key says hex"
  nay map build -q --check 16 -o p.nay rows
  nay map build -q --key=bytes --check 16 -o q.nay rows
  cmp p.nay q.nay
  refused nay map get --key=int p.nay 7 "p.nay: its keys are of type text, and --key says int"
}

@test "tables: get, scan, check, explain, compact and extract by what the table states" {
  sed 's/$/\tv/' keys > rows
  for filter in full partitioned leveldb small none; do
    nay sst build -q -f --sort --key=int --filter $filter -o i.ldb rows
    [ "$(nay sst get -q i.ldb 007 5000)" = $'007\tv' ]
    [ "$(nay sst get -qc i.ldb --keys keys)" = 1000 ]
    [ "$(nay sst scan --no-values i.ldb | sort -n | head -n 3 | paste -sd,)" = 1,2,3 ]
    [ "$(nay sst scan --no-values --from 7 --to 8 --max-count 1 i.ldb)" = 7 ]
    [ "$(nay sst scan --no-values --key=hex --from 0700000000000000 --max-count 1 i.ldb)" = 0700000000000000 ]
    [ "$(nay check -c i.ldb keys)" = 1000 ]
    nay explain i.ldb 0x7 | grep -q '^maybe'
    nay sst info i.ldb | grep -qx '  key type int'
    [ "$(nay sst info --json i.ldb | jq -r .key_description)" = int ]
    [ "$(nay info --json i.ldb | jq -r .key_description)" = int ]
    nay info i.ldb | grep -qx '  key type   int'
    refused nay sst get --key=text i.ldb 7 "i.ldb: its keys are of type int, and --key says text"
    refused nay sst scan --key=date i.ldb "i.ldb: its keys are of type int, and --key says date"
    refused nay check --key=text i.ldb keys "i.ldb: its keys are of type int, and --key says text"
    nay sst compact -q -f i.ldb -o out.ldb
    [ "$(nay sst get -q out.ldb 0x3e8)" = $'0x3e8\tv' ]
  done
  nay sst build -q --sort -o t.ldb rows
  refused nay sst get i.ldb --older t.ldb 7 "the keys of i.ldb are of type int, those of t.ldb of type text"
  refused nay sst scan i.ldb t.ldb "the keys of i.ldb are of type int, those of t.ldb of type text"
  refused nay sst compact i.ldb t.ldb -o x.ldb "nay sst: the keys of i.ldb are of type int, those of t.ldb of type text: they do not merge"
  refused nay sst scan --key=hex i.ldb t.ldb "the keys of i.ldb are of type int, those of t.ldb of type text: they do not merge"
  refused nay sst compact --key=date i.ldb -o x.ldb "i.ldb: its keys are of type int, and --key says date"
  [ ! -e x.ldb ]
  nay sst build -q -f --sort --key=int -o i.ldb rows
  nay extract -q i.ldb -o x.nay
  [ "$(nay check -c x.nay keys)" = 1000 ]
  nay sst build -q -f --sort --key=int --filter leveldb -o i.ldb rows
  run -0 --separate-stderr nay extract i.ldb -o dir/
  [[ $stderr == *"leveldb has no place for the type of the keys: give --key=int"* ]]
}

@test "tables of engines that state no type are asked as told" {
  nay sst build -q --sort --key=int --format nori -o n.sst <(printf '1\tone\n2\ttwo\n')
  [ "$(nay sst get -q --key=int n.sst 01)" = $'01\tone' ]
  [ "$(nay sst info --json n.sst | jq .key_description)" = null ]
  sed 's/$/\tv/' keys | nay sst build -q --sort --key=int -o i.ldb
  refused nay sst get i.ldb --older n.sst 7 "the keys of i.ldb are of type int, and n.sst does not say of which its are: give --key"
  [ "$(nay sst get -q --key=int i.ldb --older n.sst 007)" = $'007\tv' ]
}

@test "a compaction of tables that state no type takes it from --key, and guesses none" {
  nay sst build -q --sort --key=int --format nori -o n.sst <(printf '1\tone\n2\ttwo\n')
  nay sst build -q --sort --key=int --sequence 9 -o i.ldb <(printf '3\tthree\n')
  for tables in n.sst "i.ldb n.sst" "n.sst i.ldb"; do
    # shellcheck disable=SC2086
    refused nay sst compact $tables -o x.ldb "n.sst does not say of which type its keys are, and the new table will: give --key"
    [ ! -e x.ldb ]
  done
  nay sst compact -q --key=int i.ldb n.sst -o both.ldb
  [ "$(nay sst info --json both.ldb | jq -r .key_description)" = int ]
  [ "$(nay sst get -q both.ldb 0x1 3)" = $'0x1\tone\n3\tthree' ]
  nay sst compact -q --key=hex n.sst -o bytes.ldb # a notation of text
  [ "$(nay sst info --json bytes.ldb | jq -r .key_description)" = text ]
}

@test "verify shows a missing key as it was given; extract of a layout without a name" {
  nay build -q --key=int -p 1e-9 -o seven.nay -e 7
  run -1 --separate-stderr nay verify --keys <(printf '0x4d\n') seven.nay
  [ "$stderr" = "nay verify: false nay: 0x4d" ]
  printf '7\tv\n' | nay sst build -q --key=int --filter small -o s.ldb
  run -0 --separate-stderr nay extract s.ldb -o d/
  [[ $stderr == *"this layout has no place for the type of the keys: give --key=int"* ]]
}

# stating FILE TEXT: the file with another key description, whatever that says, and every digest right.
stating() {
  python3 - "$1" "$2" << EOF > stated.nay
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "$BATS_TEST_DIRNAME/../golden/native")
from read_nay import described
sys.stdout.buffer.write(described(open(sys.argv[1], "rb").read(), sys.argv[2].encode()))
EOF
}

@test "a type or transformation that is not known here is refused where keys are read, and kept elsewhere" {
  for text in int,soundex text,trim,ignore-case int,shift:3:%2C ipv4; do
    stating i.nay "$text"
    [ "$(nay info --json stated.nay | jq -r .key_description)" = "$text" ]
    refused nay check stated.nay -e 7 "stated.nay: its keys are of type $text: a"
    refused nay check --key=int stated.nay -e 7 "stated.nay: its keys are of type $text, and --key says int"
    refused nay add stated.nay -e 7 "that this library does not know"
    refused nay explain stated.nay 7 "that this library does not know"
    refused nay verify --keys keys stated.nay "that this library does not know"
    nay verify -q stated.nay
    nay verify -q --random 100 stated.nay
    nay merge -q stated.nay stated.nay -o m.nay
    nay convert -q --to nay stated.nay -o c.nay
    cmp stated.nay c.nay
    refused nay merge stated.nay i.nay -f -o m.nay "cannot be merged"
    rm m.nay c.nay
  done
  for text in text hex Int 'int,' ' int' 'int,a:%41'; do
    stating i.nay "$text"
    run -3 nay check stated.nay -e 7
  done
}

@test "--trim and --ignore-case: stated by the file, applied by every command without being asked again" {
  printf ' Apple\t\nPEAR\n  \nÉ\n' > fruit
  printf 'apple\n APPLE\r\n pear\nplum\né\nÉ \n' > asked
  nay build -q --trim --ignore-case -p 1e-9 -n 10 -o f.nay fruit
  [ "$(nay info --json f.nay | jq -r .key_description)" = text,trim,ascii-lower ]
  nay info f.nay | grep -qx '  key type   text,trim,ascii-lower'
  [ "$(nay check f.nay asked)" = $'apple\n APPLE\r\n pear\nÉ ' ] # printed as they came; É is not é
  nay check -q f.nay -e '' -e ' ' -e $'\n'
  [ "$(nay check -c --trim -i f.nay asked)" = 4 ]
  nay add -q f.nay -e ' Plum '
  nay check -q f.nay -e PLUM
  [ "$(nay verify --json --keys fruit f.nay | jq .nmissing)" = 0 ]
  nay explain f.nay ' aPPLE' | grep -q '^maybe'
  nay build -q -i -t counting -n 9 -o c.nay -e A
  nay remove -q c.nay -e a
  run -1 nay check c.nay -e A
  [ "$(printf 'a\n A\nB\nb \n' | nay uniq --trim -i)" = $'a\nB' ]
  [ "$(printf ' 7\n7\n07\n' | nay uniq --trim --key=int)" = ' 7' ]
  [ "$(printf 'x;A \nx;b\n' | nay uniq -F';' -k2 -i --trim --state s.nay)" = $'x;A \nx;b' ]
  [ "$(printf 'a\nB\nC\n' | nay uniq --state s.nay)" = C ]
  [ "$(nay common --trim -i fruit asked | wc -l)" = 4 ]
  printf 'a,1\n" B ",2\n' | nay build -q --csv --trim -n 9 -p 1e-9 -o csv.nay
  nay check -q csv.nay -e B
  run -1 nay check csv.nay -e b
}

@test "--trim and --ignore-case that the file does not state are refused; two files must agree; layouts that state none are told" {
  refused nay check --trim t.nay keys "t.nay: its keys are of type text, made without --trim: omit --trim"
  refused nay check -i t.nay keys "t.nay: its keys are of type text, made without --ignore-case: omit --ignore-case"
  nay build -q --trim -p 1e-6 -o trimmed.nay keys
  nay check -q trimmed.nay -e ' 7 '
  nay check -q --key=text --trim trimmed.nay -e ' 7 '
  nay check -q --key=hex trimmed.nay -e ' 203720'
  refused nay check -i trimmed.nay -e 7 "trimmed.nay: its keys are of type text,trim, made without --ignore-case"
  refused nay check --key=int trimmed.nay -e 7 "trimmed.nay: its keys are of type text,trim, and --key says int"
  refused nay check --any t.nay trimmed.nay --keys keys "the keys of t.nay are of type text, those of trimmed.nay of type text,trim"
  refused nay merge t.nay trimmed.nay -o m.nay "cannot be merged"
  nay merge -q trimmed.nay trimmed.nay -o m.nay
  nay check -q m.nay -e ' 7'
  run -0 --separate-stderr nay build --trim -i --format leveldb -b 10 -n 9 -o l -e ' A'
  [[ $stderr == *"leveldb has no place for the type of the keys: give --key=text --trim --ignore-case wherever"* ]]
  nay check -q --format leveldb --trim -i l -e 'a '
  nay sst build -q --sort --trim -o t.ldb <(printf '7\tv\n')
  nay sst build -q --sort --format nori -o n.sst <(printf '1\tv\n')
  refused nay sst get t.ldb --older n.sst 7 "the keys of t.ldb are of type text,trim, and n.sst does not say of which its are: give --key --trim"
  [ "$(nay sst get -q --key=text --trim t.ldb --older n.sst ' 1')" = $' 1\tv' ]
}

@test "--trim and --ignore-case in maps and tables" {
  printf 'A\t1\nb \t2\n' > rows
  nay map build -q --trim -i --check 16 -o m.nay rows
  [ "$(nay map get -q m.nay a ' B')" = $'a\t1\n B\t2' ]
  nay sst build -q --sort --trim -i -o t.ldb rows
  [ "$(nay sst info --json t.ldb | jq -r .key_description)" = text,trim,ascii-lower ]
  [ "$(nay sst get -q t.ldb ' A' B)" = $' A\t1\nB\t2' ]
  [ "$(nay sst scan --no-values --from ' A ' t.ldb)" = $'a\nb' ]
  nay check -q t.ldb -e ' A'
  nay sst compact -q t.ldb -o u.ldb
  [ "$(nay sst get -q u.ldb B)" = $'B\t2' ]
  refused nay sst compact --trim t.ldb -o x.ldb "t.ldb: its keys are of type text,trim,ascii-lower, and --key says text,trim"
}
