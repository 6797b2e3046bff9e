// Package nay is libnay in Go: membership filters (Bloom, blocked, counting, scalable, window, cuckoo, xor, fuse, ribbon)
// and static maps, with files that are byte for byte those of every other program that uses the library.
//
// A filter answers nay (the key was never added: certain) or maybe (it was, or this is one of the few false positives whose
// rate you chose). Method names are those of github.com/bits-and-blooms/bloom where both have the method.
//
//	filter, err := nay.NewWithEstimates(1_000_000, 0.01)
//	if err != nil { ... }
//	filter.AddString("foo")
//	if !filter.TestString("bar") { ... } // certainly not
//
// # Memory
//
// A filter lives in memory of the library. Close releases it at once; without Close it goes some time after the garbage
// collector has found the Filter. After Close, Test says maybe and all else fails with ErrInvalid.
//
// # Goroutines
//
// Any number of goroutines may ask a filter. One that changes it must be alone, unless Params.Concurrent is set (bloom,
// blocked, counting: adds and removals beside tests). The race detector sees calls that break this rule.
//
// # Batches
//
// A call of C costs some 40 ns, more than the work of a test. AddMany and TestMany make one call for 512 keys.
package nay

/*
#cgo LDFLAGS: -lnay
#include <stdlib.h>
#include <string.h>
#include <nay_column.h>
#include <nay_format.h>
#include <nay_key.h>
#include <nay_map.h>
#include <nay_range.h>

// Keys are uint8_t: cgo checks what a void pointer points to, at each call, and need not for a type without pointers.
static bool nay_go_test(const nay_filter *f, const uint8_t *key, size_t len) {
  return nay_filter_may_contain(f, key, len);
}
static nay_status nay_go_add(nay_filter *f, const uint8_t *key, size_t len) {
  return nay_filter_add(f, key, len, NULL);
}
static int nay_go_test_and_add(nay_filter *f, const uint8_t *key, size_t len) { // 1: was there, 0: is new
  bool is_new = false;
  nay_status status = nay_filter_add(f, key, len, &is_new);
  return status != NAY_OK ? (int)status : !is_new;
}

// Keys lie in `bytes`, one after the other; the column that they are may not be made in Go, which it would point to.
static nay_column nay_go_column(const uint8_t *bytes, const uint64_t *offsets, size_t n) {
  return (nay_column){sizeof(nay_column), .bytes = bytes, .nbytes = offsets[n], .offsets = offsets, .offset_bytes = 8};
}
static nay_status nay_go_many(nay_filter *f, const uint8_t *bytes, const uint64_t *offsets, size_t n, uint64_t *bitmap,
                              size_t *taken) {
  nay_column keys = nay_go_column(bytes, offsets, n);
  return bitmap == NULL ? nay_filter_add_column(f, &keys, n, NULL, taken)
                        : nay_filter_may_contain_column(f, &keys, n, bitmap);
}
static nay_status nay_go_builder_many(nay_builder *b, const uint8_t *bytes, const uint64_t *offsets, size_t n) {
  nay_column keys = nay_go_column(bytes, offsets, n);
  return nay_builder_add_column(b, &keys, n, NULL);
}
static void nay_go_nothing(const uint8_t *key, size_t len) { (void)key, (void)len; }
*/
import "C"

import (
	"io"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Kind is a family of filters. The numbers are those of the file format.
type Kind int

// The families; doc/families has a page for each.
const (
	Auto       Kind = C.NAY_AUTO // let the planner choose among those that take adds
	Bloom      Kind = C.NAY_BLOOM
	Blocked    Kind = C.NAY_BLOCKED
	Counting   Kind = C.NAY_COUNTING
	Scalable   Kind = C.NAY_SCALABLE
	Window     Kind = C.NAY_WINDOW
	Cuckoo     Kind = C.NAY_CUCKOO
	Xor        Kind = C.NAY_XOR
	Fuse       Kind = C.NAY_FUSE
	Ribbon     Kind = C.NAY_RIBBON
	Range      Kind = C.NAY_RANGE
	Map        Kind = C.NAY_MAP
	List       Kind = C.NAY_LIST        // built from C or by the command, read as a filter
	AutoStatic Kind = C.NAY_AUTO_STATIC // of NewPlan alone
)

func (k Kind) String() string {
	if name := C.nay_kind_name(C.nay_kind(k)); name != nil {
		return C.GoString(name)
	}
	return "auto"
}

// ParseKind is the inverse of Kind.String.
func ParseKind(name string) (Kind, error) {
	c, err := cString(name)
	if err != nil {
		return Auto, err
	}
	defer C.free(unsafe.Pointer(c))
	var kind C.nay_kind
	if status := C.nay_kind_parse(c, &kind); status != 0 {
		return Auto, failed(status, nil)
	}
	return Kind(kind), nil
}

// RangeKeys is how the keys of a range filter end in a number.
type RangeKeys uint32

// The last 8 or 4 bytes, big-endian, or decimal digits.
const (
	RangeBE8     RangeKeys = C.NAY_RANGE_BE8
	RangeBE4     RangeKeys = C.NAY_RANGE_BE4
	RangeDecimal RangeKeys = C.NAY_RANGE_DECIMAL
)

// Params is what you want: Keys, and one of FPR, BitsPerKey, Bytes, Bits. nay.h explains each field.
type Params struct {
	Kind           Kind
	Keys           uint64
	FPR            float64
	BitsPerKey     float64
	Bytes          uint64
	Bits           uint64
	K              uint32
	Fold           uint64
	Seed           uint64
	Secret         *[16]byte // SipHash-1-3 under this key, instead of XXH3
	StoreSecret    bool
	CallerHashes   bool // you bring 64 mixed bits: AddHashes, TestHashes
	Concurrent     bool
	Unique         bool
	TagBits        uint32
	Generations    uint32
	Window         uint64
	MaxKeys        uint64
	MaxBytes       uint64
	Threads        uint32
	ValueBits      uint32
	CheckBits      uint32
	RangeLength    uint64    // range filters: how many numbers the longest range has for which the FPR is planned
	RangeKeys      RangeKeys // how their keys end in a number,
	RangeDelimiter byte      // and what ends the prefix before it; 0: any byte
	KeyDescription string    // how keys are made of texts, stated in the file: "int"
}

func (p *Params) c() C.nay_params {
	c := C.nay_params{size: C.sizeof_nay_params, kind: C.nay_kind(p.Kind), nkeys: C.uint64_t(p.Keys), fpr: C.double(p.FPR),
		bits_per_key: C.double(p.BitsPerKey), nbytes: C.uint64_t(p.Bytes), nbits: C.uint64_t(p.Bits), k: C.uint32_t(p.K),
		fold: C.uint64_t(p.Fold), seed: C.uint64_t(p.Seed), tag_bits: C.uint32_t(p.TagBits),
		generations: C.uint32_t(p.Generations), window: C.uint64_t(p.Window), max_nkeys: C.uint64_t(p.MaxKeys),
		max_nbytes: C.uint64_t(p.MaxBytes), threads: C.uint32_t(p.Threads), value_bits: C.uint32_t(p.ValueBits),
		check_bits: C.uint32_t(p.CheckBits), range_length: C.uint64_t(p.RangeLength),
		range_keys: C.uint32_t(p.RangeKeys), range_delimiter: C.uint32_t(p.RangeDelimiter)}
	if p.Secret != nil {
		c.hash = C.NAY_HASH_SIPHASH
		for i, b := range p.Secret {
			c.key[i] = C.uint8_t(b)
		}
	}
	if p.CallerHashes {
		c.hash = C.NAY_HASH_CALLER
	}
	if p.StoreSecret {
		c.flags |= C.NAY_STORE_KEY
	}
	if p.Concurrent {
		c.flags |= C.NAY_CONCURRENT
	}
	if p.Unique {
		c.flags |= C.NAY_UNIQUE
	}
	return c
}

// Plan is what a filter will be. Computed, not measured; FPR is exact for the family.
type Plan struct {
	Kind       Kind
	K          uint32
	Keys       uint64
	Bits       uint64
	Bytes      uint64
	FileBytes  uint64
	BuildBytes uint64
	BitsPerKey float64
	FPR        float64
}

// NewPlan computes a plan before there is a filter.
func NewPlan(p Params) (Plan, error) {
	c, diag := p.c(), C.nay_diag{}
	plan := C.nay_plan{size: C.sizeof_nay_plan}
	if status := C.nay_params_plan(&c, &diag, &plan); status != 0 {
		return Plan{}, failed(status, &diag)
	}
	return Plan{Kind(plan.kind), uint32(plan.k), uint64(plan.nkeys), uint64(plan.nbits), uint64(plan.nbytes),
		uint64(plan.nbytes_file), uint64(plan.nbytes_build), float64(plan.bits_per_key), float64(plan.fpr)}, nil
}

// Filter is a filter of any family, or a static map. A copy of the struct is the same filter.
type Filter struct{ o *owner }

// owner is what the finalizer belongs to, as a Filter may lie inside another struct.
type owner struct {
	c          *C.nay_filter
	concurrent bool
	guard      byte // what the race detector watches, as it does not see the memory of C
}

func adopt(c *C.nay_filter, concurrent bool) *Filter {
	o := &owner{c: c, concurrent: concurrent}
	runtime.SetFinalizer(o, (*owner).free)
	return &Filter{o}
}

func (o *owner) free() {
	C.nay_filter_free(o.c)
	o.c = nil
}

// asks and changes are the filter of C, nil for one that was closed, and tell the race detector what a call does. The
// caller keeps f alive until the call of C has returned.
func (f *Filter) asks() *C.nay_filter {
	if f == nil || f.o == nil {
		return nil
	}
	if raceEnabled {
		raceRead(&f.o.guard)
	}
	return f.o.c
}

func (f *Filter) changes() *C.nay_filter {
	if f == nil || f.o == nil {
		return nil
	}
	if raceEnabled {
		raceWrite(&f.o.guard)
	}
	return f.o.c
}

// changesOne is changes for adds and removals, which a concurrent filter takes beside tests.
func (f *Filter) changesOne() *C.nay_filter {
	if f != nil && f.o != nil && f.o.concurrent {
		return f.asks()
	}
	return f.changes()
}

// New makes an empty filter that takes adds.
func New(p Params) (*Filter, error) {
	c, diag := p.c(), C.nay_diag{}
	var made *C.nay_filter
	if status := C.nay_filter_new(&c, nil, &diag, &made); status != 0 {
		return nil, failed(status, &diag)
	}
	return describe(adopt(made, p.Concurrent), p.KeyDescription)
}

func describe(f *Filter, description string) (*Filter, error) {
	if description != "" {
		if err := f.SetKeyDescription(description); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// NewWithEstimates makes a blocked Bloom filter for n keys with this false-positive rate.
func NewWithEstimates(n uint, fpr float64) (*Filter, error) {
	return New(Params{Kind: Blocked, Keys: uint64(n), FPR: fpr})
}

// NewFormat makes an empty filter in another system's layout: "leveldb", "lab".
func NewFormat(layout string, p Params) (*Filter, error) {
	format, err := findFormat(layout)
	if err != nil {
		return nil, err
	}
	c, diag := p.c(), C.nay_diag{}
	var made *C.nay_filter
	if status := C.nay_format_new(format, &c, nil, &diag, &made); status != 0 {
		return nil, failed(status, &diag)
	}
	return describe(adopt(made, p.Concurrent), p.KeyDescription)
}

func findFormat(layout string) (*C.nay_format, error) {
	c, err := cString(layout)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(c))
	if format := C.nay_format_find(c); format != nil {
		return format, nil
	}
	return nil, &Error{Status: ErrInvalid, What: "no layout has this name"}
}

// Build makes a filter of these keys: every family, and the only way to make the static ones (xor, fuse, ribbon).
func Build(keys [][]byte, p Params) (*Filter, error) {
	b, err := NewBuilder(p)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.AddMany(keys); err != nil {
		return nil, err
	}
	return b.Finish()
}

// Close releases the memory of the filter. It may be called more than once.
func (f *Filter) Close() error {
	if f.changes() != nil {
		runtime.SetFinalizer(f.o, nil)
		f.o.free()
	}
	return nil
}

// Copy makes an independent filter, writable even if this one is mapped.
func (f *Filter) Copy() (*Filter, error) {
	var made *C.nay_filter
	diag := C.nay_diag{}
	status := C.nay_filter_copy(f.asks(), nil, &diag, &made)
	runtime.KeepAlive(f)
	if status != 0 {
		return nil, failed(status, &diag)
	}
	return adopt(made, f.o.concurrent), nil
}

// cString is a text for C, which must not have a zero byte: C would take what is before it.
func cString(s string) (*C.char, error) {
	if at := strings.IndexByte(s, 0); at >= 0 {
		return nil, &Error{Status: ErrInvalid, What: "a zero byte", Offset: uint64(at)}
	}
	return C.CString(s), nil
}

// data and text are the address of bytes, or NULL when there are none.
func data(b []byte) *C.uint8_t { return *(**C.uint8_t)(unsafe.Pointer(&b)) }
func text(s string) *C.uint8_t { return *(**C.uint8_t)(unsafe.Pointer(&s)) }

// Test is false when the key is certainly not in the set.
func (f *Filter) Test(key []byte) bool {
	maybe := C.nay_go_test(f.asks(), data(key), C.size_t(len(key)))
	runtime.KeepAlive(f)
	return bool(maybe)
}

// TestString is Test of the bytes of a string.
func (f *Filter) TestString(key string) bool {
	maybe := C.nay_go_test(f.asks(), text(key), C.size_t(len(key)))
	runtime.KeepAlive(f)
	return bool(maybe)
}

// Add adds a key. ErrFull: a cuckoo filter has no room, or a growing one met its limit. ErrUnsupported: the filter is
// read-only, or of a family that is built.
func (f *Filter) Add(key []byte) error {
	status := C.nay_go_add(f.changesOne(), data(key), C.size_t(len(key)))
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// AddString is Add of the bytes of a string.
func (f *Filter) AddString(key string) error {
	status := C.nay_go_add(f.changesOne(), text(key), C.size_t(len(key)))
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// TestAndAdd adds a key, and tells whether the filter said maybe to it before.
func (f *Filter) TestAndAdd(key []byte) (bool, error) {
	found := C.nay_go_test_and_add(f.changesOne(), data(key), C.size_t(len(key)))
	runtime.KeepAlive(f)
	if found < 0 {
		return false, failed(C.nay_status(found), nil)
	}
	return found == 1, nil
}

// Remove takes out a key that was added. false: the key tests nay, and nothing changed. Never remove a key that was not
// added: what is removed may belong to others, who become false nays.
func (f *Filter) Remove(key []byte) (bool, error) {
	status := C.nay_filter_remove(f.changesOne(), unsafe.Pointer(data(key)), C.size_t(len(key)))
	runtime.KeepAlive(f)
	if status == C.NAY_ENOENT {
		return false, nil
	}
	return status == 0, failed(status, nil)
}

// Count is at most how often the key was added: counting and cuckoo filters.
func (f *Filter) Count(key []byte) (uint64, error) {
	var n C.uint64_t
	status := C.nay_filter_count(f.asks(), unsafe.Pointer(data(key)), C.size_t(len(key)), &n)
	runtime.KeepAlive(f)
	return uint64(n), failed(status, nil)
}

// Get is the value of a key of a map. false: the map has check bits, and the key is certainly not in it. Without check
// bits a key outside the set gets an arbitrary value.
func (f *Filter) Get(key []byte) (uint64, bool, error) {
	var value C.uint64_t
	status := C.nay_filter_get(f.asks(), unsafe.Pointer(data(key)), C.size_t(len(key)), &value)
	runtime.KeepAlive(f)
	if status == C.NAY_ENOENT {
		return 0, false, nil
	}
	return uint64(value), status == 0, failed(status, nil)
}

// TestRange tells whether a key of a range filter may lie between lo and hi, both included; in doubt it is true. ErrInvalid:
// lo is above hi. ErrUnsupported: no range filter. Keys that are numbers: OrderedIntKey, OrderedFloatKey, Key.
func (f *Filter) TestRange(lo, hi []byte) (bool, error) {
	maybe := C.bool(true)
	status := C.nay_filter_may_contain_range(f.asks(), unsafe.Pointer(data(lo)), C.size_t(len(lo)),
		unsafe.Pointer(data(hi)), C.size_t(len(hi)), &maybe)
	runtime.KeepAlive(f)
	return bool(maybe), failed(status, nil)
}

// TestRanges tests ranges of keys that are 8 bytes, big-endian, in one call: range i is lo[i] to hi[i], and its answer bit
// i%64 of word i/64. OrderedInt and OrderedFloat are the numbers of OrderedIntKey and OrderedFloatKey.
func (f *Filter) TestRanges(lo, hi []uint64) ([]uint64, error) {
	if len(lo) != len(hi) {
		return nil, &Error{Status: ErrInvalid, What: "not as many upper ends as lower ones"}
	}
	words := make([]uint64, (len(lo)+63)/64+1)
	ends := func(s []uint64) *C.uint64_t { return *(**C.uint64_t)(unsafe.Pointer(&s)) }
	status := C.nay_filter_may_contain_range_u64_many(f.asks(), ends(lo), ends(hi), C.size_t(len(lo)),
		(*C.uint64_t)(&words[0]))
	runtime.KeepAlive(f)
	if status != 0 {
		return nil, failed(status, nil)
	}
	return words[:(len(lo)+63)/64], nil
}

// ---- batches ----

const (
	block      = 512
	blockBytes = 1 << 20
)

// batch is what a call of C gets, which must not have pointers of Go in it: keys side by side.
type batch struct {
	bytes   []byte
	offsets [block + 1]C.uint64_t // the first is 0
	bitmap  [block / 64]C.uint64_t
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) addresses() (*C.uint8_t, *C.uint64_t) { return data(b.bytes), &b.offsets[0] }

// inBlocks lays up to 512 keys side by side for each call of do, of long ones fewer.
func inBlocks[K []byte | string](keys []K, do func(b *batch, at, n int) C.nay_status) C.nay_status {
	b := batches.Get().(*batch)
	defer batches.Put(b)
	for at := 0; at < len(keys); {
		bytes, n := b.bytes[:0], 0
		for ; n < block && at+n < len(keys) && len(bytes) < blockBytes; n++ {
			bytes = append(bytes, keys[at+n]...)
			b.offsets[n+1] = C.uint64_t(len(bytes))
		}
		b.bytes = bytes
		status := do(b, at, n)
		if cap(b.bytes) > 2*blockBytes {
			b.bytes = nil
		}
		if status != 0 {
			return status
		}
		at += n
	}
	return 0
}

func addMany[K []byte | string](f *Filter, keys []K) (int, error) {
	taken := 0
	c := f.changesOne()
	status := inBlocks(keys, func(b *batch, _, n int) C.nay_status {
		var some C.size_t
		bytes, offsets := b.addresses()
		status := C.nay_go_many(c, bytes, offsets, C.size_t(n), nil, &some)
		taken += int(some)
		return status
	})
	runtime.KeepAlive(f)
	return taken, failed(status, nil)
}

func testMany[K []byte | string](f *Filter, keys []K, answers []bool) ([]bool, error) {
	if cap(answers) < len(keys) {
		answers = make([]bool, len(keys))
	}
	answers = answers[:len(keys)]
	c := f.asks()
	status := inBlocks(keys, func(b *batch, at, n int) C.nay_status {
		bytes, offsets := b.addresses()
		status := C.nay_go_many(c, bytes, offsets, C.size_t(n), &b.bitmap[0], nil)
		for i := range answers[at : at+n] {
			answers[at+i] = b.bitmap[i/64]>>(i%64)&1 != 0
		}
		return status
	})
	runtime.KeepAlive(f)
	if status != 0 {
		return nil, failed(status, nil)
	}
	return answers, nil
}

// AddMany adds keys in calls of 512, and returns how many it added: all of them, unless there is an error.
func (f *Filter) AddMany(keys [][]byte) (int, error) { return addMany(f, keys) }

// AddStrings is AddMany of strings.
func (f *Filter) AddStrings(keys []string) (int, error) { return addMany(f, keys) }

// TestMany tests keys in calls of 512; the cache misses of each call overlap. The answers are in the memory of the second
// argument, if that is large enough; it may be nil.
func (f *Filter) TestMany(keys [][]byte, answers []bool) ([]bool, error) {
	return testMany(f, keys, answers)
}

// TestStrings is TestMany of strings.
func (f *Filter) TestStrings(keys []string, answers []bool) ([]bool, error) {
	return testMany(f, keys, answers)
}

// Hash is the hash of a key by the hash function of the filter: hash once, test many filters with the same Params.
func (f *Filter) Hash(key []byte) (uint64, error) {
	hasher := C.nay_hasher{size: C.sizeof_nay_hasher}
	var hash C.nay_hash
	status := C.nay_filter_hasher(f.asks(), &hasher)
	runtime.KeepAlive(f)
	if status == 0 {
		status = C.nay_hasher_hash(&hasher, unsafe.Pointer(data(key)), C.size_t(len(key)), &hash)
	}
	return uint64(hash.lo), failed(status, nil)
}

// TestHash is Test of a hash.
func (f *Filter) TestHash(hash uint64) bool {
	maybe := C.nay_filter_may_contain_hash(f.asks(), C.nay_hash{lo: C.uint64_t(hash)})
	runtime.KeepAlive(f)
	return bool(maybe)
}

// AddHashes adds hashes in one call, and returns how many it added.
func (f *Filter) AddHashes(hashes []uint64) (int, error) {
	if len(hashes) == 0 {
		return 0, nil
	}
	var taken C.size_t
	status := C.nay_filter_add_hash_many(f.changesOne(), (*C.uint64_t)(&hashes[0]), nil, C.size_t(len(hashes)), nil, &taken)
	runtime.KeepAlive(f)
	return int(taken), failed(status, nil)
}

// TestHashes tests hashes in one call: bit i%64 of word i/64 is the answer for hash i.
func (f *Filter) TestHashes(hashes []uint64) ([]uint64, error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	bitmap := make([]uint64, (len(hashes)+63)/64)
	status := C.nay_filter_may_contain_hash_many(f.asks(), (*C.uint64_t)(&hashes[0]), nil, C.size_t(len(hashes)),
		(*C.uint64_t)(&bitmap[0]))
	runtime.KeepAlive(f)
	return bitmap, failed(status, nil)
}

// ---- whole filters ----

// Merge makes f the union of both, as if every key of other had been added to it. ErrMismatch: another family, size, hash,
// seed or key description.
func (f *Filter) Merge(other *Filter) error { return f.MergeLimit(other, 1) }

// MergeLimit is Merge, unless the false-positive rate would be above maxFPR: ErrFull.
func (f *Filter) MergeLimit(other *Filter, maxFPR float64) error {
	diag := C.nay_diag{}
	status := C.nay_filter_merge(f.changes(), other.asks(), C.double(maxFPR), &diag)
	runtime.KeepAlive(f)
	runtime.KeepAlive(other)
	return failed(status, &diag)
}

// Intersect keeps only the bits that both have.
func (f *Filter) Intersect(other *Filter) error {
	diag := C.nay_diag{}
	status := C.nay_filter_intersect(f.changes(), other.asks(), &diag)
	runtime.KeepAlive(f)
	runtime.KeepAlive(other)
	return failed(status, &diag)
}

// Fold shrinks a filter by an integer factor without its keys.
func (f *Filter) Fold(factor uint64) error {
	diag := C.nay_diag{}
	status := C.nay_filter_fold(f.changes(), C.uint64_t(factor), &diag)
	runtime.KeepAlive(f)
	return failed(status, &diag)
}

// ClearAll forgets every key.
func (f *Filter) ClearAll() error {
	status := C.nay_filter_clear(f.changes())
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// Advance tells a filter that expires by time what time it is.
func (f *Filter) Advance(now uint64) error {
	status := C.nay_filter_advance(f.changes(), C.uint64_t(now))
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// Unlock gives the secret key to a filter whose file does not contain it. ErrKey: it is another.
func (f *Filter) Unlock(secret [16]byte) error {
	status := C.nay_filter_unlock(f.changes(), (*C.uint8_t)(&secret[0]))
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// Stats is the state of a filter; rates and counts are estimates from its bits.
type Stats struct {
	Kind          Kind
	K             uint32
	Keys          uint64 // planned; 0: unknown
	KeysEstimated float64
	Bits          uint64
	BitsSet       uint64
	Bytes         uint64
	Fill          float64
	FPR           float64 // now
	FPRPlanned    float64
	Overloaded    bool // more keys than planned
	Saturated     bool // KeysEstimated is a lower bound
	Derived       bool // an intersection: KeysEstimated and FPR are NaN
	ReadOnly      bool
	Locked        bool // Unlock it
	ValueBits     uint32
	CheckBits     uint32
}

// Stats reads the whole filter.
func (f *Filter) Stats() (Stats, error) {
	s := C.nay_stats{size: C.sizeof_nay_stats}
	status := C.nay_filter_stats(f.asks(), &s)
	runtime.KeepAlive(f)
	if status != 0 {
		return Stats{}, failed(status, nil)
	}
	return Stats{Kind(s.kind), uint32(s.k), uint64(s.nkeys), float64(s.nkeys_estimated), uint64(s.nbits),
		uint64(s.nbits_set), uint64(s.nbytes), float64(s.fill), float64(s.fpr_now), float64(s.fpr_planned),
		bool(s.overloaded), bool(s.saturated), bool(s.derived), bool(s.read_only), bool(s.locked),
		uint32(s.value_bits), uint32(s.check_bits)}, nil
}

// ApproximatedSize is the number of keys, estimated from the bits; 0 when it is not known.
func (f *Filter) ApproximatedSize() uint64 {
	s, err := f.Stats()
	if err != nil || s.KeysEstimated != s.KeysEstimated {
		return 0
	}
	return uint64(s.KeysEstimated + 0.5)
}

// Kind is the family; Auto for another system's layout.
func (f *Filter) Kind() Kind {
	kind := C.nay_filter_kind(f.asks())
	runtime.KeepAlive(f)
	return Kind(kind)
}

// Health is an error once a lazily mapped filter has met damaged bytes.
func (f *Filter) Health() error {
	status := C.nay_filter_health(f.asks())
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// ---- bytes ----

// MarshalBinary is the native file; of a filter in another system's layout, that layout.
func (f *Filter) MarshalBinary() ([]byte, error) {
	c := f.asks()
	defer runtime.KeepAlive(f)
	if c == nil {
		return nil, failed(C.NAY_EINVAL, nil)
	}
	format := C.nay_filter_format(c)
	out := make([]byte, C.nay_format_encoded_size(format, c)+1) // one more: &out[0] is always there
	var n C.size_t
	status := C.nay_format_encode(format, c, unsafe.Pointer(&out[0]), C.size_t(len(out)), &n)
	if status != 0 {
		return nil, failed(status, nil)
	}
	return out[:n], nil
}

// UnmarshalBinary replaces f by the filter of a native file. Everything is checked first: whoever wrote the bytes, the
// filter is safe to ask. When it fails, f is as it was.
func (f *Filter) UnmarshalBinary(bytes []byte) error {
	made, err := Decode(bytes)
	if err != nil {
		return err
	}
	f.Close()
	f.o = made.o
	return nil
}

// WriteTo writes the native file.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	bytes, err := f.MarshalBinary()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(bytes)
	return int64(n), err
}

// ReadFrom replaces f by the filter of a native file, of which it reads all that r has.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	bytes, err := io.ReadAll(r)
	if err == nil {
		err = f.UnmarshalBinary(bytes)
	}
	return int64(len(bytes)), err
}

// Decode makes a filter from a native file.
func Decode(bytes []byte) (*Filter, error) {
	var made *C.nay_filter
	diag := C.nay_diag{}
	status := C.nay_filter_decode(unsafe.Pointer(data(bytes)), C.size_t(len(bytes)), nil, &diag, &made)
	if status != 0 {
		return nil, failed(status, &diag)
	}
	return adopt(made, false), nil
}

// DecodeFormat makes a filter from another system's layout.
func DecodeFormat(layout string, bytes []byte) (*Filter, error) {
	format, err := findFormat(layout)
	if err != nil {
		return nil, err
	}
	var made *C.nay_filter
	diag := C.nay_diag{}
	status := C.nay_format_decode(format, unsafe.Pointer(data(bytes)), C.size_t(len(bytes)), 0, nil, &diag, &made)
	if status != 0 {
		return nil, failed(status, &diag)
	}
	return adopt(made, false), nil
}

// Save replaces a file atomically: after a crash it is the old one or the new one.
func (f *Filter) Save(path string) error {
	c, err := cString(path)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(c))
	diag := C.nay_diag{}
	status := C.nay_filter_save(f.asks(), c, &diag)
	runtime.KeepAlive(f)
	return failed(status, &diag)
}

// Open reads a file into memory, every checksum verified.
func Open(path string) (*Filter, error) {
	c, err := cString(path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(c))
	var made *C.nay_filter
	diag := C.nay_diag{}
	if status := C.nay_filter_open(c, nil, &diag, &made); status != 0 {
		return nil, failed(status, &diag)
	}
	return adopt(made, false), nil
}

// Mmap answers from a file in place. Lazily: each 64 KiB is verified when a test first reads it; damage answers maybe.
func Mmap(path string, lazily bool) (*Filter, error) {
	c, err := cString(path)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(c))
	var made *C.nay_filter
	diag := C.nay_diag{}
	flags := C.uint32_t(0)
	if lazily {
		flags = C.NAY_MMAP_LAZY
	}
	if status := C.nay_filter_mmap(c, flags, nil, &diag, &made); status != 0 {
		return nil, failed(status, &diag)
	}
	return adopt(made, false), nil
}

// Meta are the user's own bytes, kept in the file; a copy.
func (f *Filter) Meta() []byte {
	var n C.size_t
	at := C.nay_filter_meta(f.asks(), &n)
	defer runtime.KeepAlive(f)
	if at == nil {
		return nil
	}
	return append([]byte(nil), unsafe.Slice((*byte)(at), int(n))...)
}

// SetMeta replaces them; none removes them.
func (f *Filter) SetMeta(meta []byte) error {
	status := C.nay_filter_set_meta(f.changes(), unsafe.Pointer(data(meta)), C.size_t(len(meta)))
	runtime.KeepAlive(f)
	return failed(status, nil)
}

// ---- builders ----

// Builder makes filters of all keys at once: static families and maps, and keys whose number is not known before.
type Builder struct {
	c           *C.nay_builder
	description string
}

// NewBuilder makes a builder. Params.Keys 0 means as many as there will be.
func NewBuilder(p Params) (*Builder, error) {
	c, diag := p.c(), C.nay_diag{}
	var made *C.nay_builder
	if status := C.nay_builder_new(&c, nil, &diag, &made); status != 0 {
		return nil, failed(status, &diag)
	}
	b := &Builder{made, p.KeyDescription}
	runtime.SetFinalizer(b, (*Builder).free)
	return b, nil
}

func (b *Builder) free() {
	C.nay_builder_free(b.c)
	b.c = nil
}

// Close releases the memory of the builder. It may be called more than once.
func (b *Builder) Close() error {
	runtime.SetFinalizer(b, nil)
	b.free()
	return nil
}

// Add adds a key.
func (b *Builder) Add(key []byte) error {
	status := C.nay_builder_add(b.c, unsafe.Pointer(data(key)), C.size_t(len(key)))
	runtime.KeepAlive(b)
	return failed(status, nil)
}

// AddMany adds keys in calls of 512.
func (b *Builder) AddMany(keys [][]byte) error {
	status := inBlocks(keys, func(some *batch, _, n int) C.nay_status {
		bytes, offsets := some.addresses()
		return C.nay_go_builder_many(b.c, bytes, offsets, C.size_t(n))
	})
	runtime.KeepAlive(b)
	return failed(status, nil)
}

// AddValue adds a key of a map and its value.
func (b *Builder) AddValue(key []byte, value uint64) error {
	status := C.nay_builder_add_value(b.c, unsafe.Pointer(data(key)), C.size_t(len(key)), C.uint64_t(value))
	runtime.KeepAlive(b)
	return failed(status, nil)
}

// Finish makes the filter; the builder is then empty. When it fails, the builder keeps its keys.
func (b *Builder) Finish() (*Filter, error) {
	var made *C.nay_filter
	diag := C.nay_diag{}
	status := C.nay_builder_finish(b.c, &diag, &made)
	runtime.KeepAlive(b)
	if status != 0 {
		return nil, failed(status, &diag)
	}
	return describe(adopt(made, false), b.description)
}

// Version is that of the library that runs.
func Version() string { return C.GoString(C.nay_version()) }

// nothing is an empty call of C, for the benchmark of cgo's own cost.
func nothing(key []byte) { C.nay_go_nothing(data(key), C.size_t(len(key))) }
