"""The bytes of DUMP for a value of a module type: opcodes of the server around the fields of the module.

    07  type id (8 bytes after 81)  { 02 unsigned | 04 double | 05 string } ... 00  version (2)  crc64 (8)

Fields are (kind, value): ("u", 100), ("d", 0.01), ("s", b"..."). Strings are written uncompressed.
"""
import struct

POLYNOMIAL = 0x95AC9329AC4BC9B5  # CRC-64 of Jones, bit-reversed
FOOTER = 10


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def crc64(data):
    crc = 0
    for byte in data:
        crc = TABLE[crc & 255 ^ byte] ^ crc >> 8
    return crc


def seal(body, version):
    """A body with its footer, so that the server looks inside whatever the body says."""
    body += struct.pack("<H", version)
    return body + struct.pack("<Q", crc64(body))


def version_of(payload):
    return struct.unpack("<H", payload[-FOOTER : -FOOTER + 2])[0]


def length(number):
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return struct.pack(">H", 0x4000 | number)
    return b"\x80" + struct.pack(">I", number) if number < 1 << 32 else b"\x81" + struct.pack(">Q", number)


def read_length(data, at):
    """(number, whether it names an encoding of a string, place after it)."""
    first = data[at]
    if first >> 6 == 0:
        return first, False, at + 1
    if first >> 6 == 1:
        return (first & 63) << 8 | data[at + 1], False, at + 2
    if first == 0x80:
        return struct.unpack(">I", data[at + 1 : at + 5])[0], False, at + 5
    if first == 0x81:
        return struct.unpack(">Q", data[at + 1 : at + 9])[0], False, at + 9
    return first & 63, True, at + 1


def unpack_lzf(data, size):
    out, at = bytearray(), 0
    while at < len(data):
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
            continue
        run = control >> 5
        if run == 7:
            run += data[at]
            at += 1
        start = len(out) - ((control & 31) << 8) - data[at] - 1
        at += 1
        for i in range(run + 2):
            out.append(out[start + i])
    assert len(out) == size
    return bytes(out)


def read_string(data, at):
    size, encoded, at = read_length(data, at)
    if not encoded:
        return data[at : at + size], at + size
    if size < 3:  # a small integer, as 1, 2 or 4 bytes
        width = 1 << size
        return str(int.from_bytes(data[at : at + width], "little", signed=True)).encode(), at + width
    packed, _, at = read_length(data, at)
    size, _, at = read_length(data, at)
    return unpack_lzf(data[at : at + packed], size), at + packed


def decode(payload):
    """(type id as 8 bytes, fields)."""
    assert payload[:2] == b"\x07\x81"
    at, fields = 10, []
    while payload[at] != 0:
        opcode, at = payload[at], at + 1
        if opcode == 2:
            value, _, at = read_length(payload, at)
            fields.append(("u", value))
        elif opcode == 4:
            fields.append(("d", struct.unpack("<d", payload[at : at + 8])[0]))
            at += 8
        else:
            assert opcode == 5, f"opcode {opcode} at {at}"
            value, at = read_string(payload, at)
            fields.append(("s", value))
    assert at + 1 + FOOTER == len(payload)
    return payload[2:10], fields


def field_bytes(kind, value):
    if kind == "u":
        return b"\x02" + length(value)
    if kind == "d":
        return b"\x04" + struct.pack("<d", value)
    return b"\x05" + length(len(value)) + value


def body(type_id, fields):
    return b"\x07\x81" + type_id + b"".join(field_bytes(*field) for field in fields) + b"\x00"


def encode(type_id, fields, version):
    return seal(body(type_id, fields), version)
