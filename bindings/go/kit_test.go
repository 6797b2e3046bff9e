package nay

// The cases of tests/conformance: fields, keys, files, and TAP. The runners are conformance_test.go and pure_test.go.

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

func (c testCase) has(name string) bool { return c[name] != "" }
func (c testCase) number(name string) uint64 {
	n, _ := strconv.ParseUint(c[name], 10, 64)
	return n
}
func (c testCase) number32(name string) uint32 { return uint32(c.number(name)) }
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

func (c testCase) int(name string) int64 {
	n, _ := strconv.ParseInt(c[name], 10, 64)
	return n
}
func (c testCase) hex(name string) uint64 {
	n, _ := strconv.ParseUint(c[name], 16, 64)
	return n
}
func (c testCase) realOr(name string, otherwise float64) float64 {
	if c.has(name) {
		return c.real(name)
	}
	return otherwise
}

// operation is op; keys of numbers are operations of their own.
func (c testCase) operation() string {
	for _, name := range []string{"int", "float"} {
		if c["op"] == "key" && c.has(name) {
			return name
		}
	}
	return c["op"]
}

// keys are PREFIX:FIRST:COUNT.
func (c testCase) keys(name string) (keys []string) {
	spec := strings.Split(c[name], ":")
	first, _ := strconv.Atoi(spec[1])
	n, _ := strconv.Atoi(spec[2])
	for i := 0; i < n; i++ {
		keys = append(keys, spec[0]+strconv.Itoa(first+i))
	}
	return
}

// file is damaged as the case says.
func (c testCase) file(name string) []byte {
	b, err := os.ReadFile(filepath.Join(kit(), "files", c[name]))
	if err != nil {
		panic(err)
	}
	if flip := c.number("flip"); c.has("flip") {
		b[flip/8] ^= 1 << (flip % 8)
	}
	if c.has("cut") {
		b = b[:c.number("cut")]
	}
	if c.has("append") {
		b = append(b, 0)
	}
	return b
}

func bitmap(keys []string, test func(int, string) bool) string {
	bits := make([]byte, (len(keys)+7)/8)
	for i, key := range keys {
		if test(i, key) {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return hex.EncodeToString(bits)
}

func bits(x float64) string { return fmt.Sprintf("%016x", math.Float64bits(x)) }

func maybe(yes bool) string { return map[bool]string{true: " maybe", false: " nay"}[yes] }
func found(value uint64, ok bool) any {
	if ok {
		return value
	}
	return "ENOENT"
}
func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}
func check(err error) { must(0, err) }

// fileOr is an answer as the kit compares it: a filter is the bytes of its file.
func fileOr(answer any) (string, error) {
	if f, ok := answer.(interface{ MarshalBinary() ([]byte, error) }); ok {
		b, err := f.MarshalBinary()
		return string(b), err
	}
	return fmt.Sprint(answer), nil
}

// failure is the error that an operation panicked with, else err.
func failure(panicked any, err error) error {
	if e, ok := panicked.(error); ok && errors.As(e, new(*Error)) {
		return e
	} else if panicked != nil {
		panic(panicked)
	}
	return err
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

// run prints TAP, as every runner of the kit does. skip is why a case is not for this one, else "".
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
