// The lab in Go: foo and bar in its layout, false positives, a union. Prints what the program of each other language prints.
package main

import (
	"errors"
	"fmt"
	"nay"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func lab(n uint64) *nay.Filter {
	return must(nay.NewFormat("lab", nay.Params{Keys: n, BitsPerKey: 10}))
}

func keys(prefix string, first, n int) (made []string) {
	for i := first; i < first+n; i++ {
		made = append(made, fmt.Sprint(prefix, i))
	}
	return
}

func maybes(f *nay.Filter, keys []string) (sum int) {
	for _, maybe := range must(f.TestStrings(keys, nil)) {
		if maybe {
			sum++
		}
	}
	return
}

func main() {
	two, a, b := lab(2), lab(600), lab(600)
	must(two.AddStrings([]string{"foo", "bar"}))
	fmt.Printf("%x\n", must(two.MarshalBinary()))
	must(a.AddStrings(keys("key", 0, 400)))
	must(b.AddStrings(keys("key", 200, 400)))
	if err := a.Merge(b); err != nil {
		panic(err)
	}
	fmt.Printf("union: %d of 600 members, %d of 4000 others\n", maybes(a, keys("key", 0, 600)), maybes(a, keys("absent", 0, 4000)))
	if _, err := a.Remove([]byte("key1")); errors.Is(err, nay.ErrUnsupported) {
		fmt.Println("remove:", nay.ErrUnsupported)
	}
}
