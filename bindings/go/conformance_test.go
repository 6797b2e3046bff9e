package nay

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"nay/reader"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// kit is the directory of the conformance kit: NAY_CONFORMANCE, or where it is in the source tree.
func kit() string {
	if dir := os.Getenv("NAY_CONFORMANCE"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "tests", "conformance")
}

type testCase map[string]string

func (c testCase) number(name string) uint64 {
	n, _ := strconv.ParseUint(c[name], 10, 64)
	return n
}
func (c testCase) real(name string) float64 {
	x, _ := strconv.ParseFloat(c[name], 64)
	return x
}
func (c testCase) bytes(name string) []byte {
	b, _ := hex.DecodeString(c[name])
	return b
}
func (c testCase) secret(name string) (s [16]byte) {
	copy(s[:], c.bytes(name))
	return
}

func (c testCase) params() Params {
	p := Params{Keys: c.number("nkeys"), FPR: c.real("fpr"), BitsPerKey: c.real("bits_per_key"), Bytes: c.number("nbytes"),
		Bits: c.number("nbits"), K: uint32(c.number("k")), Fold: c.number("fold"), Seed: c.number("seed"),
		ValueBits: uint32(c.number("value_bits")), CheckBits: uint32(c.number("check_bits")),
		RangeLength: c.number("range_length"), RangeKeys: RangeKeys(c.number("range_keys")),
		RangeDelimiter: byte(c.number("range_delimiter")), StoreSecret: c["store_key"] != "", KeyDescription: c["key_type"]}
	if c["kind"] != "" {
		p.Kind, _ = ParseKind(c["kind"])
	}
	if c["secret"] != "" {
		secret := c.secret("secret")
		p.Secret = &secret
	}
	return p
}

func (c testCase) keys(name string) (keys []string) {
	spec := strings.Split(c[name], ":")
	first, _ := strconv.Atoi(spec[1])
	n, _ := strconv.Atoi(spec[2])
	for i := 0; i < n; i++ {
		keys = append(keys, spec[0]+strconv.Itoa(first+i))
	}
	return
}

func (c testCase) file(name string) []byte {
	b, err := os.ReadFile(filepath.Join(kit(), "files", c[name]))
	if err != nil {
		panic(err)
	}
	if flip := c.number("flip"); c["flip"] != "" {
		b[flip/8] ^= 1 << (flip % 8)
	}
	if c["cut"] != "" {
		b = b[:c.number("cut")]
	}
	if c["append"] != "" {
		b = append(b, 0)
	}
	return b
}

func (c testCase) open(name string) (*Filter, error) {
	f, err := Decode(c.file(name))
	if c["format"] != "" {
		f, err = DecodeFormat(c["format"], c.file(name))
	}
	if err == nil && c["unlock"] != "" {
		err = f.Unlock(c.secret("unlock"))
	}
	return f, err
}

func bitmap(keys []string, test func(string) bool) string {
	bits := make([]byte, (len(keys)+7)/8)
	for i, key := range keys {
		if test(key) {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return hex.EncodeToString(bits)
}

func marshal(f *Filter, err error) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := f.MarshalBinary()
	return string(b), err
}

func (c testCase) answer() (string, error) {
	switch c["op"] {
	case "hash":
		p := c.params()
		p.Keys, p.FPR = 1, 0.5
		f, err := New(p)
		if err != nil {
			return "", err
		}
		h, err := f.Hash(c.bytes("key"))
		return fmt.Sprintf("%016x", h), err
	case "key":
		if c["int"] != "" {
			n, _ := strconv.ParseInt(c["int"], 10, 64)
			return hex.EncodeToString(IntKey(n)), nil
		}
		if c["float"] != "" {
			bits, _ := strconv.ParseUint(c["float"], 16, 64)
			return hex.EncodeToString(FloatKey(math.Float64frombits(bits))), nil
		}
		key, err := ParseKey(c["type"], string(c.bytes("text")))
		return hex.EncodeToString(key), err
	case "plan":
		p, err := NewPlan(c.params())
		return fmt.Sprintf("%v %d %d %d %d %016x", p.Kind, p.K, p.Bits, p.Bytes, p.FileBytes, math.Float64bits(p.FPR)), err
	case "status":
		n, _ := strconv.Atoi(c["number"])
		return Status(n).Name() + ": " + Status(n).Error(), nil
	case "add":
		f, err := New(c.params())
		if c["format"] != "" {
			f, err = NewFormat(c["format"], c.params())
		}
		if err == nil {
			_, err = f.AddStrings(c.keys("keys"))
		}
		return marshal(f, err)
	case "build":
		b, err := NewBuilder(c.params())
		if err != nil {
			return "", err
		}
		mask := ^uint64(0) >> (64 - c.number("value_bits"))
		for i, key := range c.keys("keys") {
			if c["key_type"] != "" {
				typed, err := ParseKey(c["key_type"], key)
				if err != nil {
					return "", err
				}
				key = string(typed)
			}
			if c["kind"] == "map" {
				err = b.AddValue([]byte(key), uint64(i)*c.number("mul")&mask)
			} else {
				err = b.Add([]byte(key))
			}
			if err != nil {
				return "", err
			}
		}
		return marshal(b.Finish())
	}
	f, err := c.open("a")
	if err != nil {
		return "", err
	}
	switch c["op"] {
	case "open":
		return "OK", nil
	case "stats":
		s, err := f.Stats()
		return fmt.Sprintf("%d %d %d %d %016x %016x", s.K, s.Keys, s.Bits, s.BitsSet, math.Float64bits(s.KeysEstimated),
			math.Float64bits(s.FPR)), err
	case "probe":
		return bitmap(c.keys("keys"), f.TestString), nil
	case "count":
		n, err := f.Count(c.bytes("key"))
		return strconv.FormatUint(n, 10), err
	case "get":
		value, found, err := f.Get(c.bytes("key"))
		if err == nil && !found {
			return "ENOENT", nil
		}
		return strconv.FormatUint(value, 10), err
	case "ask":
		key, err := f.Key(string(c.bytes("key")))
		return f.KeyDescription() + map[bool]string{true: " maybe", false: " nay"}[f.Test(key)], err
	case "ranges":
		ends, i := c.keys("ends"), -1
		var first error
		answers := bitmap(c.keys("keys"), func(text string) bool {
			i++
			lo, err := f.Key(text)
			hi, other := f.Key(ends[i])
			maybe, third := f.TestRange(lo, hi)
			for _, err := range []error{err, other, third} {
				if first == nil {
					first = err
				}
			}
			return maybe
		})
		return answers, first
	case "fold":
		return marshal(f, f.Fold(c.number("factor")))
	case "remove":
		for _, key := range c.keys("keys") {
			if found, err := f.Remove([]byte(key)); err != nil {
				return "", err
			} else if !found {
				return "ENOENT", nil
			}
		}
		return marshal(f, nil)
	}
	other, err := c.open("b")
	if err == nil && c["op"] == "intersect" {
		err = f.Intersect(other)
	} else if err == nil && c["max_fpr"] != "" {
		err = f.MergeLimit(other, c.real("max_fpr"))
	} else if err == nil {
		err = f.Merge(other)
	}
	return marshal(f, err)
}

func statusName(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Status.Name()
	}
	for want, name := range map[error]string{reader.ErrFormat: "EFORMAT", reader.ErrCorrupt: "ECORRUPT",
		reader.ErrVersion: "EVERSION", reader.ErrUnsupported: "ENOTSUP"} {
		if errors.Is(err, want) {
			return name
		}
	}
	return err.Error()
}

// pure is the answer of the package reader.
func (c testCase) pure() (string, error) {
	if c["op"] == "hash" {
		return fmt.Sprintf("%016x", reader.Hash(c.bytes("key"), c.number("seed"))), nil
	}
	f, err := reader.Open(c.file("a"))
	if err != nil || c["op"] == "open" {
		return "OK", err
	}
	return bitmap(c.keys("keys"), f.TestString), nil
}

// run prints TAP, as every runner of the kit does.
func run(t *testing.T, skip func(testCase) string, answer func(testCase) (string, error)) {
	vectors, err := os.Open(filepath.Join(kit(), "vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer vectors.Close()
	n := 0
	for lines := bufio.NewScanner(vectors); lines.Scan(); {
		c := testCase{}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		if why := skip(c); why != "" {
			fmt.Printf("ok %d - %s # SKIP %s\n", n, c["name"], why)
			continue
		}
		got, err := answer(c)
		if err != nil {
			got = statusName(err)
		}
		want := c["want"]
		if strings.HasPrefix(want, "@") {
			want = string(testCase{"a": want[1:]}.file("a"))
		}
		if got == want {
			fmt.Printf("ok %d - %s\n", n, c["name"])
		} else {
			t.Fail()
			fmt.Printf("not ok %d - %s\n# got %.200q, not %.200q\n", n, c["name"], got, want)
		}
	}
	fmt.Printf("1..%d\n", n)
}

func TestConformance(t *testing.T) {
	run(t, func(testCase) string { return "" }, testCase.answer)
}

func TestConformancePure(t *testing.T) {
	run(t, func(c testCase) string {
		if c["reader"] == "" {
			return "not for readers"
		}
		return ""
	}, testCase.pure)
}
