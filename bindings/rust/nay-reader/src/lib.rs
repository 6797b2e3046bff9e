//! Reads native files of nay with blocked and fuse filters in Rust alone: no FFI, no unsafe code, no allocation.
//!
//! It follows `doc/formats/nay.md` and shares no code with libnay; the conformance kit compares the two. [`Filter::open`]
//! checks every byte before there is a filter, so a filter that you get is safe to ask, whoever wrote the bytes. Other
//! families, and files hashed with a secret key, are [`Error::Unsupported`]: use the crate `nay` for them.
//!
//! ```
//! # let data: &[u8] = include_bytes!("../../../../tests/conformance/files/adding-blocked-300.bin");
//! let filter = nay_reader::Filter::open(data)?;
//! assert!(filter.may_contain("key7"));
//! assert!(!filter.may_contain("no such key"));
//! # Ok::<(), nay_reader::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod xxh3;

use core::fmt;
pub use xxh3::hash;
use xxh3::{fold, u32_at, u64_at};

/// Why a file is not read: what is wrong, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are not a nay file.
    Format,
    /// The bytes are damaged: a checksum, length or field is wrong.
    Corrupt(&'static str, u64),
    /// The bytes need a newer reader.
    Version(&'static str, u64),
    /// Another family, or a secret key.
    Unsupported,
}
use Error::{Corrupt, Format, Unsupported, Version};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format => f.write_str("the bytes are not a nay file"),
            Corrupt(what, at) => write!(f, "the bytes are damaged: {what}, at byte {at}"),
            Version(what, at) => write!(f, "the bytes need a newer reader: {what}, at byte {at}"),
            Unsupported => f.write_str("another family than blocked and fuse, or a secret key"),
        }
    }
}

const CHUNK: u64 = 65536;

/// A filter over the bytes that [`Filter::open`] was given.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'a> {
    hash: u8,
    seed: u64,
    nkeys: u64,
    nunits: u64,
    k: u64,
    fuse: Option<Fuse>,
    payload: &'a [u8],
    meta: &'a [u8],
    key_description: Option<&'a [u8]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Fuse {
    premix: u64,
    nshards: u64,
    slot_bits: u64,
    segment: u64,
    span: u64,
    arrays_at: u64,
    stride: u64,
}

fn up(n: u64, to: u64) -> u64 {
    (n + to - 1) / to * to
}

fn reduce(a: u64, n: u64) -> u64 {
    ((u128::from(a) * u128::from(n)) >> 64) as u64
}

fn split_mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

fn must(good: bool, what: &'static str, at: u64) -> Result<(), Error> {
    if good { Ok(()) } else { Err(Corrupt(what, at)) }
}

fn zeros(b: &[u8]) -> bool {
    b.iter().all(|&x| x == 0)
}

/// The grammar of 3.5.
fn describes_keys(b: &[u8]) -> bool {
    let name = |s: &[u8]| {
        s.first().map_or(false, u8::is_ascii_lowercase)
            && s.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-')
    };
    let plain = |c: u8| (0x21..=0x7e).contains(&c) && !b",:%".contains(&c);
    let argument = |mut s: &[u8]| loop {
        s = match *s {
            [] => return true,
            [b'%', a, b, ref rest @ ..] => match (digit(a), digit(b)) {
                (Some(a), Some(b)) if !plain(16 * a + b) => rest,
                _ => return false,
            },
            [c, ref rest @ ..] if plain(c) => rest,
            _ => return false,
        }
    };
    let mut parts = b.split(|&c| c == b',');
    let kind = parts.next().unwrap_or_default();
    b.len() <= 63 && b != b"text" && name(kind) && ![&b"bytes"[..], b"hex", b"b64"].contains(&kind)
        && parts.all(|part| {
            let mut arguments = part.split(|&c| c == b':');
            name(arguments.next().unwrap_or_default()) && arguments.all(argument)
        })
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'A'..=b'F' => Some(c - b'A' + 10),
        _ => None,
    }
}

impl<'a> Filter<'a> {
    /// Checks the bytes of a file (`doc/formats/nay.md`, 16, in that order) and makes a filter over them.
    pub fn open(data: &'a [u8]) -> Result<Filter<'a>, Error> {
        let size = data.len() as u64;
        if !data.starts_with(b"\x89nay\r\n\x1a\n") {
            return Err(Format);
        }
        must(size >= 64, "shorter than a header", size)?;
        if data[8] != 1 {
            return Err(Version("version of the file", 8));
        }
        must(hash(&data[..56], 0) == u64_at(data, 56), "digest of the header", 56)?;
        let (kind, nsections, body_len) = (data[9], u64::from(data[13]), u64_at(data, 48));
        let mut f = Filter {
            hash: data[10],
            seed: u64_at(data, 16),
            nkeys: u64_at(data, 24),
            nunits: u64_at(data, 32),
            k: u32_at(data, 40),
            fuse: None,
            payload: &[],
            meta: &[],
            key_description: None,
        };
        if data[11] != 0 {
            return Err(Version("a required flag", 11));
        }
        must(zeros(&data[14..16]), "a reserved field", 14)?;
        must(f.nkeys <= 1 << 56, "number of keys", 24)?;
        must(body_len < size, "length of the body", 48)?;
        let table = 64 + 16 * nsections;
        let end = table + 8 * ((body_len + CHUNK - 1) / CHUNK);
        let body_at = up(end + 8, 64);
        must(body_at + body_len == size, "length of the file", size)?;
        f.check_shape(kind, u32_at(data, 44))?;
        // From here on offsets are below the length of the file.
        must(hash(&data[56..end as usize], 0) == u64_at(data, end as usize), "digest of the directory", end)?;
        must(zeros(&data[end as usize + 8..body_at as usize]), "padding", end + 8)?;
        for (i, chunk) in data[body_at as usize..].chunks(CHUNK as usize).enumerate() {
            let at = body_at + CHUNK * i as u64;
            must(hash(chunk, 0) == u64_at(data, table as usize + 8 * i), "digest of a chunk", at)?;
        }
        f.read_sections(data, nsections, body_at)?;
        f.check_fuse()?;
        Ok(f)
    }

    fn check_shape(&mut self, kind: u8, extra: u64) -> Result<(), Error> {
        if !matches!(kind, 1..=10 | 12) {
            return Err(Version("kind", 9));
        }
        if self.hash > 2 {
            return Err(Version("hash", 10));
        }
        match kind {
            2 => {
                let good = (1..=1 << 51).contains(&self.nunits) && (1..=64).contains(&self.k) && extra == 0;
                must(good, "shape", 32)?;
            }
            8 => {
                let (nshards, slot_bits) = (extra >> 8, extra & 255);
                let good = (3..=4).contains(&self.k) && (4..=32).contains(&slot_bits) && nshards >= 1
                    && self.nunits % nshards == 0 && (self.k..1 << 31).contains(&(self.nunits / nshards));
                must(good, "shape", 32)?;
                let align = if nshards == 1 { 8 } else { 64 };
                let pad = if matches!(slot_bits, 8 | 16 | 32) { 0 } else { 8 };
                let stride = up((self.nunits / nshards * slot_bits + 7) / 8 + pad, align);
                let arrays_at = up(24 + 8 * nshards, align);
                self.fuse = Some(Fuse { nshards, slot_bits, arrays_at, stride, ..Fuse::default() });
            }
            _ => return Err(Unsupported),
        }
        if self.hash == 1 { Err(Unsupported) } else { Ok(()) }
    }

    fn payload_len(&self) -> u64 {
        match self.fuse {
            None => 64 * self.nunits,
            Some(fuse) => fuse.arrays_at + fuse.nshards * fuse.stride,
        }
    }

    fn read_sections(&mut self, data: &'a [u8], nsections: u64, mut end: u64) -> Result<(), Error> {
        let (size, mut payload, mut meta) = (data.len() as u64, None, None);
        for i in 0..nsections {
            let entry = 64 + 16 * i as usize;
            let (kind, flags, length) = (u32_at(data, entry), u32_at(data, entry + 4), u64_at(data, entry + 8));
            if flags > 1 {
                return Err(Version("flags of a section", entry as u64 + 4));
            }
            let at = if i == 0 { end } else { up(end, 64) };
            must(at <= size && zeros(&data[end as usize..at as usize]) && length <= size - at, "a section", at)?;
            end = at + length;
            let content = &data[at as usize..end as usize];
            match kind {
                1 if payload.is_none() && length == self.payload_len() => payload = Some(content),
                3 if meta.is_none() && length > 0 => meta = Some(content),
                4 if self.key_description.is_none() && describes_keys(content) => self.key_description = Some(content),
                1..=4 => return Err(Corrupt("a section", at)),
                _ if flags == 1 => return Err(Version("a required section", entry as u64)),
                _ => {}
            }
        }
        must(end == size && payload.is_some(), "sections", end)?;
        self.payload = payload.unwrap_or_default();
        self.meta = meta.unwrap_or_default();
        Ok(())
    }

    fn check_fuse(&mut self) -> Result<(), Error> {
        let (p, k) = (self.payload, self.k);
        if let Some(fuse) = &mut self.fuse {
            let nslots = self.nunits / fuse.nshards;
            fuse.premix = u64_at(p, 0);
            fuse.segment = u32_at(p, 12);
            fuse.span = u32_at(p, 16);
            let (segment, span) = (fuse.segment, fuse.span);
            let good = u32_at(p, 8) == nslots && segment.is_power_of_two() && segment <= 65536 && span > 0
                && span % segment == 0 && span + (k - 1) * segment <= nslots && u32_at(p, 20) == 0;
            must(good, "sizes of a fuse filter", 0)?;
            let factors_end = 24 + 8 * fuse.nshards as usize;
            let factors = p[24..factors_end].chunks(8).map(|factor| u64_at(factor, 0));
            must(factors.into_iter().all(|factor| factor % 2 == 1 || factor <= 2), "a factor", 24)?;
            must(zeros(&p[factors_end..fuse.arrays_at as usize]), "padding", factors_end as u64)?;
        }
        Ok(())
    }

    /// `false` when the key is certainly not in the set. A filter whose caller hashes says `true`: use
    /// [`Filter::may_contain_hash`].
    pub fn may_contain(&self, key: impl AsRef<[u8]>) -> bool {
        self.hash != 0 || self.may_contain_hash(hash(key.as_ref(), self.seed))
    }

    /// [`Filter::may_contain`] of a hash: [`hash`] with [`Filter::seed`], or the caller's own.
    pub fn may_contain_hash(&self, h: u64) -> bool {
        if let Some(fuse) = &self.fuse {
            return fuse.may_contain(self.payload, self.k, h);
        }
        let block = &self.payload[64 * reduce(h, self.nunits) as usize..][..64];
        let mut p = h as u32;
        (0..self.k).all(|_| {
            let bit = (p >> 23) as usize;
            p = p.wrapping_mul(0x9E37_79B9);
            block[bit / 8] >> (bit % 8) & 1 != 0
        })
    }

    /// The seed of the hash.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of keys that the filter was planned for; 0: unknown.
    pub fn nkeys(&self) -> u64 {
        self.nkeys
    }

    /// The user's own bytes.
    pub fn meta(&self) -> &'a [u8] {
        self.meta
    }

    /// How keys were made of texts: `doc/keys.md`.
    pub fn key_description(&self) -> &'a str {
        self.key_description.and_then(|d| core::str::from_utf8(d).ok()).unwrap_or("text")
    }
}

impl Fuse {
    fn may_contain(&self, payload: &[u8], k: u64, h: u64) -> bool {
        let x = if self.premix == 0 { h } else { split_mix(h ^ self.premix) };
        let shard = reduce(x, self.nshards);
        let factor = u64_at(payload, 24 + 8 * shard as usize);
        if factor % 2 == 0 {
            return factor == 2;
        }
        let array = &payload[(self.arrays_at + shard * self.stride) as usize..];
        let y = fold(x, 0xD6E8_FEB8_6659_FD93);
        let z = y.wrapping_mul(factor);
        let first = reduce(y, self.span);
        let slices = [z >> 48, z >> 32, z.wrapping_mul(0xA076_1D64_78BD_642F) >> 48];
        let sum = (1..k).zip(slices).fold(z ^ self.slot(array, first), |sum, (j, slice)| {
            sum ^ self.slot(array, (first + j * self.segment) ^ (slice & (self.segment - 1)))
        });
        sum << (64 - self.slot_bits) == 0
    }

    /// `bits(array, s * slot_bits, slot_bits)`, perhaps with other bits above.
    fn slot(&self, array: &[u8], s: u64) -> u64 {
        let bit = s * self.slot_bits;
        let bytes = &array[(bit / 8) as usize..((bit + self.slot_bits + 7) / 8) as usize];
        bytes.iter().rev().fold(0, |value, &b| value << 8 | u64::from(b)) >> (bit % 8)
    }
}
