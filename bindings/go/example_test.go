package nay_test

import (
	"errors"
	"fmt"
	"nay"
	"nay/reader"
)

func Example() {
	filter, err := nay.NewWithEstimates(1_000_000, 0.01)
	if err != nil {
		panic(err)
	}
	defer filter.Close()
	filter.AddString("foo")
	fmt.Println(filter.TestString("foo"), filter.TestString("bar"))
	// Output: true false
}

func ExampleBuild() {
	words := [][]byte{[]byte("ant"), []byte("bee"), []byte("cat")}
	filter, _ := nay.Build(words, nay.Params{Kind: nay.Fuse, FPR: 0.001})
	answers, _ := filter.TestStrings([]string{"bee", "dog"}, nil)
	fmt.Println(answers)
	// Output: [true false]
}

func ExampleBuilder() {
	years, _ := nay.NewBuilder(nay.Params{Kind: nay.Map, CheckBits: 16})
	years.AddValue([]byte("ada"), 1815)
	years.AddValue([]byte("grace"), 1906)
	m, _ := years.Finish()
	year, found, _ := m.Get([]byte("ada"))
	fmt.Println(year, found)
	// Output: 1815 true
}

func ExampleDecode() {
	filter, _ := nay.NewWithEstimates(1000, 0.01)
	file, _ := filter.MarshalBinary()
	file[200] ^= 1
	_, err := nay.Decode(file)
	fmt.Println(errors.Is(err, nay.ErrCorrupt))
	_, err = reader.Open(file) // the same without cgo
	fmt.Println(errors.Is(err, reader.ErrCorrupt))
	// Output:
	// true
	// true
}

func ExampleFilter_TestRange() {
	hours, _ := nay.NewBuilder(nay.Params{Kind: nay.Range, FPR: 0.01, RangeLength: 60, KeyDescription: "ordered-int"})
	for t := int64(0); t < 1000; t++ {
		hours.Add(nay.OrderedIntKey(3600 * t))
	}
	filter, _ := hours.Finish()
	before, _ := filter.TestRange(nay.OrderedIntKey(3590), nay.OrderedIntKey(3600))
	after, _ := filter.TestRange(nay.OrderedIntKey(3601), nay.OrderedIntKey(3660))
	fmt.Println(before, after)
	// Output: true false
}
