"""Columns by the Arrow C data interface, made by hand: no library of Arrow is needed."""
import ctypes


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


FreeSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
FreeArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
FreeStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GetError = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                   ("dictionary", ctypes.c_void_p), ("release", FreeSchema), ("private", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                  ("dictionary", ctypes.c_void_p), ("release", FreeArray), ("private", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", GetSchema), ("get_next", GetNext), ("get_last_error", GetError),
                   ("release", FreeStream), ("private", ctypes.c_void_p)]

capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype = ctypes.py_object
capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


@FreeSchema
def free_schema(schema):
    schema.contents.release = FreeSchema()


@FreeArray
def free_array(array):
    array.contents.release = FreeArray()
    Column.released += 1


class Column:
    """A column of one format; buffers are bytes, None, or objects of ctypes."""

    released = 0

    def __init__(self, format, buffers, length, null_count=0, offset=0):
        self.keep = [ctypes.create_string_buffer(b, len(b)) if isinstance(b, bytes) else b for b in buffers]
        addresses = [None if b is None else ctypes.addressof(b) for b in self.keep]
        self.buffers = (ctypes.c_void_p * max(1, len(buffers)))(*addresses)
        self.schema = Schema(format=format.encode(), release=free_schema)
        self.array = Array(length=length, null_count=null_count, offset=offset, n_buffers=len(buffers),
                           buffers=self.buffers, release=free_array)

    def __arrow_c_array__(self, requested_schema=None):
        return (capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
                capsule(ctypes.addressof(self.array), b"arrow_array", None))


class Chunks:
    """A stream of columns of one format; fail is the number of the chunk that fails."""

    def __init__(self, columns, fail=None):
        self.columns, self.next, self.fail = list(columns), 0, fail
        self.stream = Stream(get_schema=GetSchema(self.get_schema), get_next=GetNext(self.get_next),
                             get_last_error=GetError(lambda s: b"the disk is gone"),
                             release=FreeStream(lambda s: None))

    def get_schema(self, stream, out):
        out[0] = self.columns[0].schema
        return 0

    def get_next(self, stream, out):
        if self.next == self.fail:
            return 5
        if self.next == len(self.columns):
            out[0] = Array()
            return 0
        out[0] = self.columns[self.next].array
        self.next += 1
        return 0

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def strings(values, large=False, offset=0):
    """A column of str or None; the first `offset` rows are not part of it."""
    texts = [b"" if v is None else v.encode() for v in values]
    kind = ctypes.c_int64 if large else ctypes.c_int32
    ends, at = [0], 0
    for text in texts:
        at += len(text)
        ends.append(at)
    valid = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        valid[i // 8] |= (v is not None) << (i % 8)
    nulls = sum(v is None for v in values[offset:])
    return Column("U" if large else "u", [bytes(valid) if nulls else None, (kind * len(ends))(*ends), b"".join(texts)],
                  len(values) - offset, nulls, offset)


def numbers(format, kind, values, offset=0):
    valid = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        valid[i // 8] |= (v is not None) << (i % 8)
    nulls = sum(v is None for v in values[offset:])
    return Column(format, [bytes(valid) if nulls else None, (kind * len(values))(*[v or 0 for v in values])],
                  len(values) - offset, nulls, offset)


def views(values):
    """A column of string views."""
    data, items = b"", b""
    for v in values:
        text = v.encode()
        if len(text) <= 12:
            items += len(text).to_bytes(4, "little") + text.ljust(12, b"\0")
        else:
            items += len(text).to_bytes(4, "little") + text[:4] + (0).to_bytes(4, "little") + len(data).to_bytes(4, "little")
            data += text
    return Column("vu", [None, items, data, (ctypes.c_int64 * 1)(len(data))], len(values))
