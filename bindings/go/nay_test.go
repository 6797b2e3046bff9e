package nay

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"nay/reader"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func some(kind Kind) Params { return Params{Kind: kind, Keys: 1000, FPR: 0.01} }

func numbered(prefix string, n int) (keys [][]byte) {
	for i := 0; i < n; i++ {
		keys = append(keys, []byte(prefix+strconv.Itoa(i)))
	}
	return
}

func TestEveryKind(t *testing.T) {
	keys := numbered("key", 1000)
	for kind := Bloom; kind <= Ribbon; kind++ {
		f := must(Build(keys, some(kind)))
		again := must(Decode(must(f.MarshalBinary())))
		if f.Kind() != kind || again.Kind() != kind {
			t.Errorf("%v: built %v, read %v", kind, f.Kind(), again.Kind())
		}
		for i, maybe := range must(again.TestMany(keys, nil)) {
			if !maybe || !again.Test(keys[i]) {
				t.Fatalf("%v: false nay for key %d", kind, i)
			}
		}
		if n := f.ApproximatedSize(); kind != Window && (n < 900 || n > 1100) {
			t.Errorf("%v: %d keys estimated", kind, n)
		}
	}
	if _, err := New(some(Fuse)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("New of a static kind: %v", err)
	}
}

func TestBatchesAreSingles(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 511, 512, 513, 1024, 2000} {
		keys, absent := numbered("in", n), numbered("out", n)
		if n > 3 {
			keys[3], absent[2] = nil, bytes.Repeat([]byte("long"), 40_000)
		}
		one, many := must(New(some(Blocked))), must(New(some(Blocked)))
		for _, key := range keys {
			if err := one.Add(key); err != nil {
				t.Fatal(err)
			}
		}
		if taken := must(many.AddMany(keys)); taken != n {
			t.Errorf("%d of %d taken", taken, n)
		}
		if !bytes.Equal(must(one.MarshalBinary()), must(many.MarshalBinary())) {
			t.Errorf("%d keys: other bytes", n)
		}
		for i, maybe := range must(many.TestMany(absent, nil)) {
			if maybe != one.Test(absent[i]) {
				t.Errorf("%d keys: another answer for key %d", n, i)
			}
		}
		built := must(Build(keys, Params{Kind: Fuse, FPR: 0.001}))
		for i, maybe := range must(built.TestMany(keys, make([]bool, 1))) {
			if !maybe {
				t.Errorf("%d keys: false nay for key %d", n, i)
			}
		}
	}
}

func TestBatchOfNothing(t *testing.T) {
	f := must(New(some(Blocked)))
	if must(f.AddMany(make([][]byte, 5))) != 5 || !f.Test(nil) || !must(f.TestStrings([]string{""}, nil))[0] {
		t.Error("the key of no bytes")
	}
}

func TestFullBatch(t *testing.T) {
	f := must(New(Params{Kind: Cuckoo, Keys: 10, FPR: 0.01}))
	keys := numbered("key", 3000)
	taken, err := f.AddMany(keys)
	if !errors.Is(err, ErrFull) || taken == 0 || taken == 3000 {
		t.Errorf("%d taken, %v", taken, err)
	}
	for _, key := range keys[:taken] {
		if !f.Test(key) {
			t.Fatal("false nay")
		}
	}
}

func TestChanging(t *testing.T) {
	f := must(New(some(Counting)))
	if found := must(f.TestAndAdd([]byte("a"))); found {
		t.Error("a new key was there")
	}
	if found := must(f.TestAndAdd([]byte("a"))); !found || must(f.Count([]byte("a"))) != 2 {
		t.Error("a key that was added twice")
	}
	if !must(f.Remove([]byte("a"))) || must(f.Remove([]byte("none"))) || !f.TestString("a") {
		t.Error("removal")
	}
	other := must(New(some(Bloom)))
	if err := f.Merge(other); !errors.Is(err, ErrMismatch) {
		t.Errorf("a merge of two kinds: %v", err)
	}
	c := must(f.Copy())
	c.AddString("b")
	if f.TestString("b") || !c.TestString("b") {
		t.Error("a copy is not independent")
	}
	if err := c.ClearAll(); err != nil || c.TestString("b") {
		t.Error("clear")
	}
	h := must(New(Params{Kind: Blocked, Keys: 1000, FPR: 0.01, CallerHashes: true}))
	if n := must(h.AddHashes([]uint64{1 << 60, 7 << 50})); n != 2 || !h.TestHash(1<<60) || h.TestHash(3<<61) ||
		must(h.TestHashes([]uint64{1 << 60, 3 << 61, 7 << 50}))[0] != 5 {
		t.Error("hashes")
	}
	if !h.TestString("any") || !errors.Is(h.AddString("any"), ErrUnsupported) {
		t.Error("keys of a filter whose caller hashes")
	}
}

func TestMaps(t *testing.T) {
	b := must(NewBuilder(Params{Kind: Map, CheckBits: 20}))
	b.AddValue([]byte("ada"), 1815)
	b.AddValue([]byte("grace"), 1906)
	if err := b.Add([]byte("none")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a key without a value: %v", err)
	}
	m := must(b.Finish())
	if year, found, err := m.Get([]byte("ada")); year != 1815 || !found || err != nil {
		t.Error(year, found, err)
	}
	if year, found, err := m.Get([]byte("alan")); year != 0 || found || err != nil {
		t.Error(year, found, err)
	}
	b.AddValue([]byte("ada"), 1)
	b.AddValue([]byte("ada"), 2)
	if _, err := b.Finish(); !errors.Is(err, ErrInvalid) {
		t.Errorf("two values of one key: %v", err)
	}
}

func TestRanges(t *testing.T) {
	b := must(NewBuilder(Params{Kind: Range, FPR: 0.001, RangeLength: 100, KeyDescription: "ordered-int"}))
	for i := int64(-500); i < 500; i++ {
		b.Add(OrderedIntKey(1000 * i))
	}
	f := must(b.Finish())
	var lo, hi []uint64
	maybes := 0
	for i := int64(-500); i < 500; i++ {
		if !must(f.TestRange(OrderedIntKey(1000*i-99), OrderedIntKey(1000*i))) {
			t.Fatal("false nay")
		}
		maybe := must(f.TestRange(OrderedIntKey(1000*i+1), OrderedIntKey(1000*i+100)))
		lo, hi = append(lo, OrderedInt(1000*i+1)), append(hi, OrderedInt(1000*i+100))
		if many := must(f.TestRanges(lo, hi)); maybe != (many[(len(lo)-1)/64]>>((len(lo)-1)%64)&1 != 0) {
			t.Fatal("a batch answers otherwise")
		} else if maybe {
			maybes++
		}
	}
	if maybes > 20 || !must(f.TestRange(must(f.Key("-99")), must(f.Key("0")))) || len(must(f.TestRanges(nil, nil))) != 0 {
		t.Errorf("%d false positives of 1000", maybes)
	}
	for _, x := range []float64{-1e300, -1.5, 0, 5e-324, 2, 1e300} {
		if !bytes.Equal(OrderedFloatKey(x), must(ParseKey("ordered-float", strconv.FormatFloat(x, 'g', -1, 64)))) {
			t.Errorf("the ordered key of %g", x)
		}
	}
	_, err1 := f.TestRange(OrderedIntKey(1), OrderedIntKey(0))
	_, err2 := f.TestRanges(hi, lo)
	_, err3 := f.TestRanges(hi, lo[1:])
	_, err4 := (&Filter{}).TestRange(nil, nil)
	for i, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if maybe, err := must(New(some(Bloom))).TestRange(nil, nil); !maybe || !errors.Is(err, ErrUnsupported) {
		t.Errorf("a range of a Bloom filter: %v", err)
	}
}

func TestLongKeys(t *testing.T) {
	keys := make([][]byte, 2000)
	for i := range keys {
		keys[i] = bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1<<(i%16))
	}
	f := must(Build(keys, Params{Kind: Fuse, FPR: 0.001}))
	for i, maybe := range must(f.TestMany(keys, nil)) {
		if !maybe || !f.Test(keys[i]) {
			t.Fatalf("false nay for key %d", i)
		}
	}
}

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.nay")
	f := must(Build(numbered("key", 100), some(Blocked)))
	if err := f.SetMeta([]byte("about")); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	mapped := must(Mmap(path, true))
	if opened := must(Open(path)); !opened.TestString("key7") || !mapped.TestString("key7") || string(mapped.Meta()) != "about" {
		t.Error("a file answers otherwise")
	}
	if err := mapped.AddString("x"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an add to a mapped file: %v", err)
	}
	if pure := must(reader.Open(must(os.ReadFile(path)))); !pure.TestString("key7") || string(pure.Meta()) != "about" {
		t.Error("the pure reader answers otherwise")
	}
	_, err := Open(path + ".none")
	if !errors.Is(err, ErrIO) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	var buffer bytes.Buffer
	var again struct {
		Name   string
		Filter *Filter
	}
	again.Name, again.Filter = "first", f
	if err := gob.NewEncoder(&buffer).Encode(again); err != nil {
		t.Fatal(err)
	}
	again.Filter = nil
	if err := gob.NewDecoder(&buffer).Decode(&again); err != nil || !again.Filter.TestString("key7") {
		t.Errorf("gob: %v", err)
	}
	var inside struct {
		before int
		f      Filter // not at the start of an allocation, where no finalizer may be
	}
	must(f.WriteTo(&buffer))
	if _, err := inside.f.ReadFrom(&buffer); err != nil || !inside.f.TestString("key7") {
		t.Errorf("ReadFrom: %v", err)
	}
	data := must(f.MarshalBinary())
	data[100] ^= 1
	var e *Error
	if err := inside.f.UnmarshalBinary(data); !errors.As(err, &e) || e.Status != ErrCorrupt || e.What == "" ||
		!inside.f.TestString("key7") {
		t.Errorf("damage: %v", err)
	}
}

func TestClosed(t *testing.T) {
	f := must(New(some(Blocked)))
	f.Close()
	f.Close()
	for _, f := range []*Filter{f, {}, nil} {
		_, err1 := f.MarshalBinary()
		_, err2 := f.Stats()
		_, err3 := f.Copy()
		_, err4 := f.Key("a")
		_, err5 := f.TestMany(numbered("", 2), nil)
		_, err6 := f.TestRange(nil, nil)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, f.AddString("a"), f.Merge(f), f.Fold(2), f.ClearAll(),
			f.Save("none"), f.SetKeyDescription("int"), f.SetMeta([]byte("x")), f.Unlock([16]byte{})} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("call %d of a closed filter: %v", i, err)
			}
		}
		if !f.TestString("a") || f.ApproximatedSize() != 0 || f.Meta() != nil || f.KeyDescription() != "text" {
			t.Error("a closed filter says maybe")
		}
	}
	b := must(NewBuilder(some(Fuse)))
	b.Close()
	if _, err := b.Finish(); !errors.Is(err, ErrInvalid) || b.Add(nil) == nil {
		t.Errorf("a closed builder: %v", err)
	}
}

func TestKeys(t *testing.T) {
	f := must(New(Params{Keys: 100, FPR: 1e-6, KeyDescription: "int"}))
	f.Add(IntKey(7))
	if !f.Test(must(f.Key("007"))) || f.TestString("7") {
		t.Error("texts of integers")
	}
	var e *Error
	if _, err := f.Key("12x"); !errors.As(err, &e) || e.Offset != 2 {
		t.Errorf("no integer: %v", err)
	}
	if !bytes.Equal(TimeKey(time.UnixMicro(5)), must(ParseKey("timestamp", "1970-01-01T00:00:00.000005Z"))) {
		t.Error("timestamps")
	}
	if _, err := NewFormat("lab", Params{Keys: 1, BitsPerKey: 10, KeyDescription: "int"}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a layout that states no keys: %v", err)
	}
	if _, err := ParseKey("colour", "red"); !errors.Is(err, ErrVersion) {
		t.Errorf("no such type: %v", err)
	}
}

func TestZeroBytes(t *testing.T) {
	f := must(New(some(Blocked)))
	path := filepath.Join(t.TempDir(), "f.nay")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	_, err1 := Open(path + "\x00.none")
	_, err2 := Mmap(path+"\x00", false)
	_, err3 := NewFormat("lab\x00", Params{Keys: 1, BitsPerKey: 10})
	_, err4 := ParseKey("int\x00", "7")
	_, err5 := ParseKind("bloom\x00")
	for i, err := range []error{err1, err2, err3, err4, err5, f.Save(path + "\x00"), f.SetKeyDescription("int\x00x")} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("call %d takes what is before the zero byte: %v", i, err)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	p := some(Blocked)
	p.Concurrent = true
	f, keys := must(New(p)), numbered("key", 1000)
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func(mine [][]byte) {
			defer wait.Done()
			for _, key := range mine {
				f.Add(key)
				f.TestMany(keys[:10], nil)
			}
		}(keys[250*i : 250*(i+1)])
	}
	wait.Wait()
	for _, maybe := range must(f.TestMany(keys, nil)) {
		if !maybe {
			t.Fatal("false nay")
		}
	}
}

// TestRaceIsSeen is run by test_go with the race detector, and must fail there: it breaks the rule.
func TestRaceIsSeen(t *testing.T) {
	if os.Getenv("NAY_GO_RACE") == "" {
		t.Skip("breaks a rule on purpose")
	}
	f := must(New(some(Blocked)))
	done := make(chan bool)
	go func() {
		f.AddString("a")
		done <- true
	}()
	f.TestString("a")
	<-done
}

func TestFinalizers(t *testing.T) {
	data := must(must(Build(numbered("key", 100), some(Blocked))).MarshalBinary())
	for i := 0; i < 10_000; i++ { // filters that nobody closes; one is asked while its own collection may begin
		if !must(Decode(data)).TestString("key7") {
			t.Fatal("false nay")
		}
		if i%1000 == 0 {
			runtime.GC()
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range []Kind{Blocked, Fuse, Bloom, Cuckoo} {
		f.Add(must(must(Build(numbered("key", 50), Params{Kind: kind, FPR: 0.01})).MarshalBinary()))
	}
	f.Add([]byte("no filter"))
	f.Fuzz(func(t *testing.T, data []byte) {
		made, err := Decode(data)
		pure, other := reader.Open(data)
		if errors.Is(other, reader.ErrUnsupported) {
			return
		}
		if (err == nil) != (other == nil) || err != nil && statusName(err) != statusName(other) {
			t.Fatalf("libnay says %v, the pure reader %v", err, other)
		}
		for i := 0; err == nil && i < 100; i++ {
			if key := fmt.Sprintf("key%d", i); made.TestString(key) != pure.TestString(key) {
				t.Fatalf("%s: libnay says %v", key, made.TestString(key))
			}
		}
	})
}

// ---- what a call costs: go test -bench . ----

var benchKeys = numbered("key", 1000)

func BenchmarkCgoItself(b *testing.B) {
	for i := 0; i < b.N; i++ {
		nothing(benchKeys[i%1000])
	}
}

func BenchmarkTest(b *testing.B) {
	f := must(Build(benchKeys, some(Blocked)))
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		f.Test(benchKeys[i%1000])
	}
}

func BenchmarkTestMany(b *testing.B) {
	f := must(Build(benchKeys, some(Blocked)))
	answers := make([]bool, 1000)
	b.ResetTimer()
	for i := 0; i < b.N; i += 1000 {
		f.TestMany(benchKeys, answers)
	}
}

func BenchmarkPureTest(b *testing.B) {
	f := must(reader.Open(must(must(Build(benchKeys, some(Blocked))).MarshalBinary())))
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		f.Test(benchKeys[i%1000])
	}
}

func BenchmarkPureFuse(b *testing.B) {
	f := must(reader.Open(must(must(Build(benchKeys, Params{Kind: Fuse, FPR: 1.0 / 256})).MarshalBinary())))
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		f.Test(benchKeys[i%1000])
	}
}
