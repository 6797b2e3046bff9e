// bits-and-blooms/bloom, live: lines of commands on standard input, an answer for each on standard output.
//
//	build N P FORM FILE KEYS   a filter of the hexadecimal lines of KEYS, sized for N keys at the rate P
//	ask FORM FILE KEYS         one digit for each line of KEYS: 1 is maybe
//
// FORM is bin (WriteTo) or json (MarshalJSON).
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/bits-and-blooms/bloom"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func keys(path string) (list [][]byte) {
	text, err := os.ReadFile(path)
	must(err)
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		key, err := hex.DecodeString(line)
		must(err)
		list = append(list, key)
	}
	return list
}

func build(n uint, p float64, form, file, from string) {
	f := bloom.NewWithEstimates(n, p)
	for _, key := range keys(from) {
		f.Add(key)
	}
	out, err := os.Create(file)
	must(err)
	if form == "json" {
		text, err := json.Marshal(f)
		must(err)
		_, err = out.Write(text)
		must(err)
	} else {
		_, err = f.WriteTo(out)
		must(err)
	}
	must(out.Close())
}

func ask(form, file, from string) string {
	f := &bloom.BloomFilter{}
	in, err := os.Open(file)
	must(err)
	if form == "json" {
		must(json.NewDecoder(in).Decode(f))
	} else {
		_, err = f.ReadFrom(bufio.NewReader(in))
		must(err)
	}
	must(in.Close())
	var answers strings.Builder
	for _, key := range keys(from) {
		if f.Test(key) {
			answers.WriteByte('1')
		} else {
			answers.WriteByte('0')
		}
	}
	return answers.String()
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		word := strings.Fields(lines.Text())
		if word[0] == "build" {
			var n uint
			var p float64
			_, err := fmt.Sscan(word[1]+" "+word[2], &n, &p)
			must(err)
			build(n, p, word[3], word[4], word[5])
			fmt.Println("built")
		} else {
			fmt.Println(ask(word[1], word[2], word[3]))
		}
	}
}
