package nay

// The runner of tests/conformance for the package reader, which has no C: the cases for readers.

import (
	"fmt"
	"nay/reader"
	"testing"
)

func pure(c testCase) (string, error) {
	if c["op"] == "hash" {
		return fmt.Sprintf("%016x", reader.Hash(c.bytes("key"), c.number("seed"))), nil
	}
	f, err := reader.Open(c.file("a"))
	if err != nil || c["op"] == "open" {
		return "OK", err
	}
	return bitmap(c.keys("keys"), func(_ int, key string) bool { return f.TestString(key) }), nil
}

func TestConformancePure(t *testing.T) {
	run(t, func(c testCase) string {
		if !c.has("reader") {
			return "not for readers"
		}
		return ""
	}, pure)
}

func TestZeroReader(t *testing.T) {
	var f reader.Filter
	if !f.Test([]byte("a")) || !f.TestString("") || !f.TestHash(7) {
		t.Error("the zero Filter says nay")
	}
}
