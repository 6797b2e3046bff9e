package nay

// The runner of tests/conformance for this package: tables of operations. One that fails panics with its error.

import (
	"fmt"
	"math"
	"testing"
)

func (c testCase) params() Params {
	p := Params{Keys: c.number("nkeys"), FPR: c.real("fpr"), BitsPerKey: c.real("bits_per_key"), Bytes: c.number("nbytes"),
		Bits: c.number("nbits"), K: c.number32("k"), Fold: c.number("fold"), Seed: c.number("seed"),
		ValueBits: c.number32("value_bits"), CheckBits: c.number32("check_bits"), RangeLength: c.number("range_length"),
		RangeKeys: RangeKeys(c.number("range_keys")), RangeDelimiter: byte(c.number("range_delimiter")),
		StoreSecret: c.has("store_key"), KeyDescription: c["key_type"]}
	p.Kind, _ = ParseKind(c["kind"])
	if secret := c.secret("secret"); c.has("secret") {
		p.Secret = &secret
	}
	return p
}

func (c testCase) open(name string) *Filter {
	f, err := Decode(c.file(name))
	if c.has("format") {
		f, err = DecodeFormat(c["format"], c.file(name))
	}
	if err == nil && c.has("unlock") {
		err = f.Unlock(c.secret("unlock"))
	}
	return must(f, err)
}

func (c testCase) key(text string) []byte { return must(ParseKey(or(c["key_type"], "text"), text)) }

// making needs no file; what it gives is printed, a filter as its bytes.
var making = map[string]func(c testCase) any{
	"hash": func(c testCase) any {
		p := c.params()
		p.Keys, p.FPR = 1, 0.5
		return fmt.Sprintf("%016x", must(must(New(p)).Hash(c.bytes("key"))))
	},
	"int":   func(c testCase) any { return fmt.Sprintf("%x", IntKey(c.int("int"))) },
	"float": func(c testCase) any { return fmt.Sprintf("%x", FloatKey(math.Float64frombits(c.hex("float")))) },
	"key":   func(c testCase) any { return fmt.Sprintf("%x", must(ParseKey(c["type"], string(c.bytes("text"))))) },
	"plan": func(c testCase) any {
		p := must(NewPlan(c.params()))
		return fmt.Sprintf("%v %d %d %d %d %s", p.Kind, p.K, p.Bits, p.Bytes, p.FileBytes, bits(p.FPR))
	},
	"status": func(c testCase) any { s := Status(c.int("number")); return s.Name() + ": " + s.Error() },
	"add": func(c testCase) any {
		f, err := New(c.params())
		if c.has("format") {
			f, err = NewFormat(c["format"], c.params())
		}
		must(must(f, err).AddStrings(c.keys("keys")))
		return f
	},
	"build": func(c testCase) any {
		b, mask := must(NewBuilder(c.params())), ^uint64(0)>>(64-c.number("value_bits"))
		for i, text := range c.keys("keys") {
			if c["kind"] == "map" {
				check(b.AddValue(c.key(text), uint64(i)*c.number("mul")&mask))
			} else {
				check(b.Add(c.key(text)))
			}
		}
		return must(b.Finish())
	},
}

// asking answers from the file a.
var asking = map[string]func(c testCase, f *Filter) any{
	"open":  func(c testCase, f *Filter) any { return "OK" },
	"count": func(c testCase, f *Filter) any { return must(f.Count(c.bytes("key"))) },
	"get": func(c testCase, f *Filter) any {
		value, ok, err := f.Get(c.bytes("key"))
		return found(must(value, err), ok)
	},
	"ask": func(c testCase, f *Filter) any {
		return f.KeyDescription() + maybe(f.Test(must(f.Key(string(c.bytes("key"))))))
	},
	"probe": func(c testCase, f *Filter) any {
		return bitmap(c.keys("keys"), func(_ int, key string) bool { return f.TestString(key) })
	},
	"stats": func(c testCase, f *Filter) any {
		s := must(f.Stats())
		return fmt.Sprintf("%d %d %d %d %s %s", s.K, s.Keys, s.Bits, s.BitsSet, bits(s.KeysEstimated), bits(s.FPR))
	},
	"ranges": func(c testCase, f *Filter) any {
		ends := c.keys("ends")
		return bitmap(c.keys("keys"), func(i int, lo string) bool { return must(f.TestRange(must(f.Key(lo)), must(f.Key(ends[i])))) })
	},
	"merge":     func(c testCase, f *Filter) any { check(f.MergeLimit(c.open("b"), c.realOr("max_fpr", 1))); return f },
	"intersect": func(c testCase, f *Filter) any { check(f.Intersect(c.open("b"))); return f },
	"fold":      func(c testCase, f *Filter) any { check(f.Fold(c.number("factor"))); return f },
	"remove": func(c testCase, f *Filter) any {
		for _, key := range c.keys("keys") {
			if !must(f.Remove([]byte(key))) {
				return "ENOENT"
			}
		}
		return f
	},
}

func (c testCase) answer() (got string, err error) {
	defer func() { err = failure(recover(), err) }()
	if make, ok := making[c.operation()]; ok {
		return fileOr(make(c))
	}
	return fileOr(asking[c["op"]](c, c.open("a")))
}

func TestConformance(t *testing.T) {
	run(t, func(testCase) string { return "" }, testCase.answer)
}
