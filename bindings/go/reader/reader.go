// Package reader reads native files of nay with blocked and fuse filters in Go alone: no cgo, no library.
//
// It follows doc/formats/nay.md and shares no code with libnay; the conformance kit compares the two. Open checks every
// byte before there is a filter, so a filter that you get is safe to query, whoever wrote the bytes. Other families,
// and files hashed with a secret key, are ErrUnsupported: use the package nay for them.
//
//	filter, err := reader.Open(data)
//	if err != nil { ... }
//	if !filter.TestString("foo") { ... } // certainly not in the set
package reader

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
)

// What Open returns, wrapped with the reason: compare with errors.Is.
var (
	ErrFormat      = errors.New("the bytes are not a nay file")
	ErrCorrupt     = errors.New("the bytes are damaged: a checksum, length or field is wrong")
	ErrVersion     = errors.New("the bytes need a newer reader")
	ErrUnsupported = errors.New("not supported by the pure reader")
)

const (
	magic       = "\x89nay\r\n\x1a\n"
	chunk       = 65536
	kindBlocked = 2
	kindFuse    = 8
)

// Filter is a filter over the bytes that Open was given: it neither copies nor changes them, and any number of goroutines
// may ask it.
type Filter struct {
	kind, hash               byte
	seed, nkeys, nunits      uint64
	k, extra                 uint32
	payload, meta, described []byte
	// fuse
	premix, nshards, slotBits, segment, span uint64
	arraysAt, stride                         uint64
}

func up(n, to uint64) uint64 { return (n + to - 1) / to * to }

func reduce(a, n uint64) uint64 {
	high, _ := bits.Mul64(a, n)
	return high
}

func splitMix64(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

func corrupt(what string, at uint64) error {
	return fmt.Errorf("%w: %s, at byte %d", ErrCorrupt, what, at)
}
func version(what string, at uint64) error {
	return fmt.Errorf("%w: %s, at byte %d", ErrVersion, what, at)
}

func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// Open checks the bytes of a file (doc/formats/nay.md, 16, in that order) and makes a filter over them. The bytes must not
// change afterwards.
func Open(data []byte) (*Filter, error) {
	size := uint64(len(data))
	if size < 8 || string(data[:8]) != magic {
		return nil, fmt.Errorf("%w: no magic number", ErrFormat)
	}
	if size < 64 {
		return nil, corrupt("shorter than a header", size)
	}
	if data[8] != 1 {
		return nil, version("version of the file", 8)
	}
	if Hash(data[:56], 0) != u64(data, 56) {
		return nil, corrupt("digest of the header", 56)
	}
	f := &Filter{kind: data[9], hash: data[10], seed: u64(data, 16), nkeys: u64(data, 24), nunits: u64(data, 32),
		k: uint32(u32(data, 40)), extra: uint32(u32(data, 44))}
	nsections, bodyLen := uint64(data[13]), u64(data, 48)
	if data[11] != 0 {
		return nil, version("a required flag", 11)
	}
	if data[14] != 0 || data[15] != 0 {
		return nil, corrupt("a reserved field", 14)
	}
	if f.nkeys > 1<<56 {
		return nil, corrupt("number of keys", 24)
	}
	if bodyLen >= size {
		return nil, corrupt("length of the body", 48)
	}
	table := 64 + 16*nsections
	end := table + 8*((bodyLen+chunk-1)/chunk)
	bodyAt := up(end+8, 64)
	if bodyAt+bodyLen != size {
		return nil, corrupt("length of the file", size)
	}
	if err := f.checkShape(); err != nil {
		return nil, err
	}
	if Hash(data[56:end], 0) != u64(data, int(end)) {
		return nil, corrupt("digest of the directory", end)
	}
	if !zeros(data[end+8 : bodyAt]) {
		return nil, corrupt("padding", end+8)
	}
	for i, at := uint64(0), bodyAt; at < size; i, at = i+1, at+chunk {
		last := at + chunk
		if last > size {
			last = size
		}
		if Hash(data[at:last], 0) != u64(data, int(table+8*i)) {
			return nil, corrupt("digest of a chunk", at)
		}
	}
	if err := f.readSections(data, nsections, bodyAt); err != nil {
		return nil, err
	}
	if f.kind == kindFuse {
		if err := f.checkFuse(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// checkShape checks kind, hash, nunits, k and extra, from which it computes where the arrays of a fuse filter are.
func (f *Filter) checkShape() error {
	if f.kind == 0 || f.kind == 11 || f.kind > 12 {
		return version("kind", 9)
	}
	if f.hash > 2 {
		return version("hash", 10)
	}
	switch f.kind {
	case kindBlocked:
		if f.nunits < 1 || f.nunits > 1<<51 || f.k < 1 || f.k > 64 || f.extra != 0 {
			return corrupt("shape", 32)
		}
	case kindFuse:
		f.nshards, f.slotBits = uint64(f.extra>>8), uint64(f.extra&255)
		if f.k < 3 || f.k > 4 || f.slotBits < 4 || f.slotBits > 32 || f.nshards < 1 || f.nunits%f.nshards != 0 ||
			f.nunits/f.nshards < uint64(f.k) || f.nunits/f.nshards >= 1<<31 {
			return corrupt("shape", 32)
		}
		align, used := uint64(64), (f.nunits/f.nshards*f.slotBits+7)/8
		if f.nshards == 1 {
			align = 8
		}
		if f.slotBits != 8 && f.slotBits != 16 && f.slotBits != 32 {
			used += 8
		}
		f.arraysAt, f.stride = up(24+8*f.nshards, align), up(used, align)
	default:
		return fmt.Errorf("%w: kind %d", ErrUnsupported, f.kind)
	}
	if f.hash == 1 {
		return fmt.Errorf("%w: hashed with a secret key", ErrUnsupported)
	}
	return nil
}

func (f *Filter) payloadLen() uint64 {
	if f.kind == kindBlocked {
		return 64 * f.nunits
	}
	return f.arraysAt + f.nshards*f.stride
}

func (f *Filter) readSections(data []byte, nsections, end uint64) error {
	size := uint64(len(data))
	for i := uint64(0); i < nsections; i++ {
		entry := 64 + 16*i
		kind, flags, length := u32(data, int(entry)), u32(data, int(entry)+4), u64(data, int(entry)+8)
		if flags > 1 {
			return version("flags of a section", entry+4)
		}
		at := end
		if i > 0 {
			at = up(end, 64)
		}
		if at > size || !zeros(data[end:at]) || length > size-at {
			return corrupt("a section", at)
		}
		end = at + length
		content := data[at:end:end]
		switch {
		case kind == 1 && f.payload == nil && length == f.payloadLen():
			f.payload = content
		case kind == 3 && f.meta == nil && length > 0:
			f.meta = content
		case kind == 4 && f.described == nil && describesKeys(content):
			f.described = content
		case kind >= 1 && kind <= 4:
			return corrupt("a section", at)
		case flags == 1:
			return version("a required section", entry)
		}
	}
	if end != size || f.payload == nil {
		return corrupt("sections", end)
	}
	return nil
}

var (
	description = regexp.MustCompile("^([a-z][a-z0-9-]*)(,[a-z][a-z0-9-]*(:([!-$&-+.-9;-~-]|%[0-9A-F]{2})*)*)*$")
	plainEscape = regexp.MustCompile("%(2[1-46-9A-BD-F]|3[0-9B-F]|[4-6][0-9A-F]|7[0-9A-E])")
)

func describesKeys(b []byte) bool {
	found := description.FindSubmatch(b)
	if found == nil || len(b) > 63 || string(b) == "text" || plainEscape.Match(b) {
		return false
	}
	name := string(found[1])
	return name != "bytes" && name != "hex" && name != "b64"
}

func (f *Filter) checkFuse() error {
	p := f.payload
	nslots := f.nunits / f.nshards
	f.premix, f.segment, f.span = u64(p, 0), u32(p, 12), u32(p, 16)
	if u32(p, 8) != nslots || f.segment == 0 || f.segment > 65536 || f.segment&(f.segment-1) != 0 ||
		f.span == 0 || f.span%f.segment != 0 || f.span+uint64(f.k-1)*f.segment > nslots || u32(p, 20) != 0 {
		return corrupt("sizes of a fuse filter", 0)
	}
	for i := uint64(0); i < f.nshards; i++ {
		if factor := u64(p, int(24+8*i)); factor%2 == 0 && factor > 2 {
			return corrupt("a factor", 24+8*i)
		}
	}
	if !zeros(p[24+8*f.nshards : f.arraysAt]) {
		return corrupt("padding", 24+8*f.nshards)
	}
	return nil
}

// Test is false when the key is certainly not in the set. A filter whose caller hashes says true: use TestHash.
func (f *Filter) Test(key []byte) bool { return f.hash != 0 || f.TestHash(Hash(key, f.seed)) }

// TestString is Test of the bytes of a string.
func (f *Filter) TestString(key string) bool { return f.Test([]byte(key)) }

// TestHash is Test of a hash: Hash(key, f.Seed()), or the caller's own.
func (f *Filter) TestHash(h uint64) bool {
	if len(f.payload) == 0 {
		return true // the zero Filter knows nothing
	}
	if f.kind == kindFuse {
		return f.testFuse(h)
	}
	block := f.payload[64*reduce(h, f.nunits):][:64]
	for i, p := uint32(0), uint32(h); i < f.k; i, p = i+1, p*0x9E3779B9 {
		if bit := p >> 23; block[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
	}
	return true
}

func (f *Filter) testFuse(h uint64) bool {
	if f.premix != 0 {
		h = splitMix64(h ^ f.premix)
	}
	shard := reduce(h, f.nshards)
	factor := u64(f.payload, int(24+8*shard))
	if factor%2 == 0 {
		return factor == 2
	}
	array := f.payload[f.arraysAt+shard*f.stride:]
	y := fold(h, 0xD6E8FEB86659FD93)
	z := y * factor
	first := reduce(y, f.span)
	slices := [3]uint64{z >> 48, z >> 32, z * 0xA0761D6478BD642F >> 48}
	sum := z ^ f.slot(array, first)
	for j := uint64(1); j < uint64(f.k); j++ {
		sum ^= f.slot(array, first+j*f.segment^slices[j-1]&(f.segment-1))
	}
	return sum<<(64-f.slotBits) == 0
}

// slot is bits(array, s * slotBits, slotBits), perhaps with other bits above.
func (f *Filter) slot(array []byte, s uint64) uint64 {
	bit := s * f.slotBits
	value := uint64(0)
	for i := uint64(0); 8*i < bit%8+f.slotBits; i++ {
		value |= uint64(array[bit/8+i]) << (8 * i)
	}
	return value >> (bit % 8)
}

// Seed is the seed of the hash.
func (f *Filter) Seed() uint64 { return f.seed }

// Cap is the number of keys that the filter was planned for; 0: unknown.
func (f *Filter) Cap() uint64 { return f.nkeys }

// Meta are the user's own bytes; nil: none.
func (f *Filter) Meta() []byte { return f.meta }

// KeyDescription says how the keys were made of texts: doc/keys.md. "text" when the file does not say.
func (f *Filter) KeyDescription() string {
	if f.described == nil {
		return "text"
	}
	return string(f.described)
}
