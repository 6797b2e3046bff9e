package nay

/*
#include <stdlib.h>
#include <nay_key.h>
*/
import "C"

import (
	"encoding/binary"
	"math"
	"runtime"
	"time"
	"unsafe"
)

// A key is bytes. These functions make the keys of values, the same as in every language: doc/keys.md.

// IntKey is the key of an integer of any width; uint64 above 1<<63 is converted first.
func IntKey(value int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(value)) }

// FloatKey is the key of a float: there is one zero and one NaN.
func FloatKey(value float64) []byte {
	bits := math.Float64bits(value)
	if value == 0 {
		bits = 0
	} else if value != value {
		bits = 0x7ff8000000000000
	}
	return binary.LittleEndian.AppendUint64(nil, bits)
}

// OrderedIntKey and OrderedFloatKey are keys of range filters, whose bytes have the order of the values.
func OrderedIntKey(value int64) []byte { return binary.BigEndian.AppendUint64(nil, OrderedInt(value)) }

// OrderedFloatKey is OrderedIntKey of a float: NaN is above infinity.
func OrderedFloatKey(value float64) []byte {
	return binary.BigEndian.AppendUint64(nil, OrderedFloat(value))
}

// OrderedInt and OrderedFloat are those keys as numbers.
func OrderedInt(value int64) uint64 { return uint64(value) ^ 1<<63 }

// OrderedFloat is OrderedInt of a float.
func OrderedFloat(value float64) uint64 {
	bits := binary.LittleEndian.Uint64(FloatKey(value)) // one zero, one NaN
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// TimeKey is the key of a timestamp, in microseconds; what is finer is cut off.
func TimeKey(t time.Time) []byte { return IntKey(t.UnixMicro()) }

// ParseKey is the key of a text as a value of a type: "int", "float", "bool", "date", "timestamp", "uuid", "numeric",
// "hex", "b64" or "text", for range filters "ordered-int", "ordered-float", "ordered-date" or "ordered-timestamp"; or as a key
// description says, such as "int,trim".
func ParseKey(keyType, text string) ([]byte, error) {
	name, err := cString(keyType)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(name))
	return described(name, text)
}

// The key of a text as a key description says.
func described(description *C.char, text string) ([]byte, error) {
	how := C.nay_key_description{size: C.sizeof_nay_key_description}
	diag := C.nay_diag{}
	if status := C.nay_key_description_parse(description, &diag, &how); status != 0 {
		return nil, failed(status, &diag)
	}
	var n C.size_t
	at, size := (*C.char)(unsafe.Pointer(keyText(text))), C.size_t(len(text))
	if status := C.nay_key_convert(&how, at, size, &diag, nil, 0, &n); status != 0 { // measures
		return nil, failed(status, &diag)
	}
	key := make([]byte, n+1)
	if status := C.nay_key_convert(&how, at, size, &diag, (*C.uint8_t)(&key[0]), n+1, &n); status != 0 {
		return nil, failed(status, &diag)
	}
	return key[:n], nil
}

func keyText(s string) *C.uint8_t { return *(**C.uint8_t)(unsafe.Pointer(&s)) }

// Key is the key of a text as the file of the filter describes its keys: where they are "int", "7" and "007" are one, and
// "seven" is an error.
func (f *Filter) Key(text string) ([]byte, error) {
	c := f.asks()
	if c == nil {
		return nil, failed(C.NAY_EINVAL, nil)
	}
	key, err := described(C.nay_filter_key(c), text)
	runtime.KeepAlive(f)
	return key, err
}

// KeyDescription says how the keys of the filter were made of texts; "text" when nobody said.
func (f *Filter) KeyDescription() string {
	c := f.asks()
	defer runtime.KeepAlive(f)
	if c == nil {
		return "text"
	}
	return C.GoString(C.nay_filter_key(c))
}

// SetKeyDescription changes what the filter states, not its keys.
func (f *Filter) SetKeyDescription(description string) error {
	c, err := cString(description)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(c))
	status := C.nay_filter_set_key(f.changes(), c)
	runtime.KeepAlive(f)
	return failed(status, nil)
}
