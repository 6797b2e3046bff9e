package reader

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// XXH3, 64 bits, with its default secret: https://github.com/Cyan4973/xxHash.

var secret, _ = hex.DecodeString(
	"b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
		"b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
		"a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
		"170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")

const (
	prime32a = 0x9E3779B1
	prime32b = 0x85EBCA77
	prime32c = 0xC2B2AE3D
	prime64a = 0x9E3779B185EBCA87
	prime64b = 0xC2B2AE3D27D4EB4F
	prime64c = 0x165667B19E3779F9
	prime64d = 0x85EBCA77C2B2AE63
	prime64e = 0x27D4EB2F165667C5
)

func u32(b []byte, at int) uint64 { return uint64(binary.LittleEndian.Uint32(b[at:])) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// fold is the low half of a * b, xor the high one.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * 0x165667919E3779F9
	return h ^ h>>32
}

func avalancheXXH64(h uint64) uint64 {
	h = (h ^ h>>33) * prime64b
	h = (h ^ h>>29) * prime64c
	return h ^ h>>32
}

func xxh3Short(b []byte, seed uint64) uint64 {
	n := len(b)
	switch {
	case n == 0:
		return avalancheXXH64(seed ^ u64(secret, 56) ^ u64(secret, 64))
	case n <= 3:
		mixed := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return avalancheXXH64(mixed ^ ((u32(secret, 0) ^ u32(secret, 4)) + seed))
	case n <= 8:
		seed ^= uint64(bits.ReverseBytes32(uint32(seed))) << 32
		h := (u32(b, n-4) + u32(b, 0)<<32) ^ ((u64(secret, 8) ^ u64(secret, 16)) - seed)
		h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
		h *= 0x9FB21C651E98DF25
		h = (h ^ (h>>35 + uint64(n))) * 0x9FB21C651E98DF25
		return h ^ h>>28
	}
	low := u64(b, 0) ^ ((u64(secret, 24) ^ u64(secret, 32)) + seed)
	high := u64(b, n-8) ^ ((u64(secret, 40) ^ u64(secret, 48)) - seed)
	return avalanche(uint64(n) + bits.ReverseBytes64(low) + high + fold(low, high))
}

func xxh3Middle(b []byte, seed uint64) uint64 {
	n := len(b)
	mix := func(at, in int) uint64 {
		return fold(u64(b, at)^(u64(secret, in)+seed), u64(b, at+8)^(u64(secret, in+8)-seed))
	}
	acc := uint64(n) * prime64a
	if n <= 128 {
		for i := (n - 1) / 32; i >= 0; i-- {
			acc += mix(16*i, 32*i) + mix(n-16*(i+1), 32*i+16)
		}
		return avalanche(acc)
	}
	for i := 0; i < 8; i++ {
		acc += mix(16*i, 16*i)
	}
	acc = avalanche(acc)
	for i := 8; i < n/16; i++ {
		acc += mix(16*i, 16*(i-8)+3)
	}
	return avalanche(acc + mix(n-16, 119))
}

func xxh3Long(b []byte, seed uint64) uint64 {
	var own [192]byte
	for i := 0; i < 192; i += 16 {
		binary.LittleEndian.PutUint64(own[i:], u64(secret, i)+seed)
		binary.LittleEndian.PutUint64(own[i+8:], u64(secret, i+8)-seed)
	}
	acc := [8]uint64{prime32c, prime64a, prime64b, prime64c, prime64d, prime32b, prime64e, prime32a}
	stripe := func(at, in int) {
		for i := 0; i < 8; i++ {
			data := u64(b, at+8*i)
			x := data ^ u64(own[:], in+8*i)
			acc[i^1] += data
			acc[i] += (x & 0xFFFFFFFF) * (x >> 32)
		}
	}
	n := len(b)
	for number := 0; number < (n-1)/64; number++ {
		stripe(64*number, 8*(number%16))
		if number%16 == 15 {
			for i := range acc {
				acc[i] = (acc[i] ^ acc[i]>>47 ^ u64(own[:], 128+8*i)) * prime32a
			}
		}
	}
	stripe(n-64, 121)
	sum := uint64(n) * prime64a
	for i := 0; i < 4; i++ {
		sum += fold(acc[2*i]^u64(own[:], 11+16*i), acc[2*i+1]^u64(own[:], 19+16*i))
	}
	return avalanche(sum)
}

// Hash is XXH3_64bits_withSeed: what a native file with hash 0 knows of a key.
func Hash(key []byte, seed uint64) uint64 {
	switch {
	case len(key) <= 16:
		return xxh3Short(key, seed)
	case len(key) <= 240:
		return xxh3Middle(key, seed)
	}
	return xxh3Long(key, seed)
}
