//go:build race

package nay

import (
	"runtime"
	"unsafe"
)

const raceEnabled = true

func raceRead(guard *byte)  { runtime.RaceRead(unsafe.Pointer(guard)) }
func raceWrite(guard *byte) { runtime.RaceWrite(unsafe.Pointer(guard)) }
