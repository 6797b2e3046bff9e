package nay

/*
#include <nay.h>
*/
import "C"

import (
	"fmt"
	"syscall"
)

// Status is the kind of an error: compare with errors.Is(err, nay.ErrCorrupt). doc/status.md says what each means.
type Status int

// The statuses of nay.h.
const (
	ErrNoMemory    Status = C.NAY_ENOMEM
	ErrInvalid     Status = C.NAY_EINVAL
	ErrUnsupported Status = C.NAY_ENOTSUP
	ErrMismatch    Status = C.NAY_EMISMATCH
	ErrCorrupt     Status = C.NAY_ECORRUPT
	ErrVersion     Status = C.NAY_EVERSION
	ErrFormat      Status = C.NAY_EFORMAT
	ErrKey         Status = C.NAY_EKEY
	ErrBuffer      Status = C.NAY_EBUFFER
	ErrIO          Status = C.NAY_EIO
	ErrFull        Status = C.NAY_EFULL
	ErrNotFound    Status = C.NAY_ENOENT
	ErrCanceled    Status = C.NAY_ECANCELED
	ErrEnd         Status = C.NAY_EEND
)

func (s Status) Error() string { return C.GoString(C.nay_status_text(C.nay_status(s))) }

// Name is "EINVAL" and so on, for logs.
func (s Status) Name() string {
	name := C.nay_status_name(C.nay_status(s))
	if name == nil {
		return ""
	}
	return C.GoString(name)[len("NAY_"):]
}

// Error is what every call returns that fails; what it worked on is as it was.
type Error struct {
	Status Status
	What   string        // what exactly was wrong; may be empty
	Offset uint64        // of the input: the byte to blame; 0 when none is
	Errno  syscall.Errno // of the system, when Status is ErrIO
}

func (e *Error) Error() string {
	text := e.Status.Error()
	if e.What != "" {
		text += ": " + e.What
	}
	if e.Offset != 0 {
		text += fmt.Sprintf(" (at byte %d)", e.Offset)
	}
	if e.Errno != 0 {
		text += ": " + e.Errno.Error()
	}
	return "nay: " + text
}

// Is makes errors.Is(err, nay.ErrCorrupt) work, and errors.Is(err, fs.ErrNotExist) for files.
func (e *Error) Is(target error) bool {
	return target == e.Status || e.Errno != 0 && e.Errno.Is(target)
}

func failed(status C.nay_status, diag *C.nay_diag) error {
	if status == 0 {
		return nil
	}
	e := &Error{Status: Status(status)}
	if diag != nil {
		e.Offset, e.Errno = uint64(diag.offset), syscall.Errno(diag.os_error)
		if diag.what != nil {
			e.What = C.GoString(diag.what)
		}
	}
	return e
}
