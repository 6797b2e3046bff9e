//! Membership filters: is this key in the set? A filter answers *nay* (certain) or *maybe* (it is, or this is one of the
//! few false positives whose rate you chose). This is libnay, with files that are byte for byte those of every other
//! program that uses the library.
//!
//! ```
//! use nay::{Filter, Kind, Params};
//!
//! let mut seen = Filter::new(&Params::new(Kind::Blocked, 1_000_000, 0.01))?;
//! seen.add("foo")?;
//! assert!(seen.may_contain("foo"));
//! assert!(!seen.may_contain("bar"));
//! # Ok::<(), nay::Error>(())
//! ```
//!
//! A key is bytes: whatever is `AsRef<[u8]>`. An integer is none: `"7"` and the eight bytes of 7 are different keys, and
//! [`key::int`] makes the latter, the same as in every language.
//!
//! What asks is on [`Reader`], which [`Filter`] and [`View`] dereference to. What changes takes `&mut self`, so the compiler
//! keeps changes and questions apart; [`Concurrent`] takes adds from many threads.
//!
//! A filter cannot be used after it is gone. This compiles, and each program below has one line of it in another place, so
//! that the compiler refuses that alone:
//!
//! ```
//! # use nay::{Filter, Kind, Params, View};
//! let file = Filter::build(&Params::rate(Kind::Fuse, 0.01), ["a"])?.encode()?;
//! let view = View::open(&file)?;
//! assert!(view.may_contain("a"));
//! drop(file);
//! let mut filter = Filter::new(&Params::new(Kind::Bloom, 10, 0.01))?;
//! filter.add("a")?;
//! std::thread::scope(|s| {
//!     s.spawn(|| filter.may_contain("a"));
//! });
//! drop(filter);
//! # Ok::<(), nay::Error>(())
//! ```
//!
//! a view of bytes that are gone:
//!
//! ```compile_fail
//! # use nay::{Filter, Kind, Params, View};
//! let file = Filter::build(&Params::rate(Kind::Fuse, 0.01), ["a"])?.encode()?;
//! let view = View::open(&file)?;
//! drop(file);
//! assert!(view.may_contain("a"));
//! # Ok::<(), nay::Error>(())
//! ```
//!
//! a filter that was freed:
//!
//! ```compile_fail
//! # use nay::{Filter, Kind, Params, View};
//! let mut filter = Filter::new(&Params::new(Kind::Bloom, 10, 0.01))?;
//! drop(filter);
//! filter.add("a")?;
//! # Ok::<(), nay::Error>(())
//! ```
//!
//! a filter that changes while another thread asks it:
//!
//! ```compile_fail
//! # use nay::{Filter, Kind, Params, View};
//! let mut filter = Filter::new(&Params::new(Kind::Bloom, 10, 0.01))?;
//! std::thread::scope(|s| {
//!     s.spawn(|| filter.may_contain("a"));
//!     filter.add("a").unwrap();
//! });
//! # Ok::<(), nay::Error>(())
//! ```
#![warn(missing_docs)]

mod error;
pub mod key;

pub use error::{Error, Result, Status};
use error::{check, check_diag, no_diag};
use nay_sys as sys;
use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut, NonNull};

/// A family of filters; the numbers are those of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum Kind {
    /// Let the planner choose among the families that take adds; of a filter: another system's layout.
    Auto = 0,
    /// Classic Bloom: any size, tiny sets, lowest rates.
    Bloom = 1,
    /// One cache line for each probe.
    Blocked = 2,
    /// Blocked, with removal.
    Counting = 3,
    /// Grows when the number of keys is not known.
    Scalable = 4,
    /// Forgets old keys.
    Window = 5,
    /// Removal at low rates.
    Cuckoo = 6,
    /// Static: the classic xor filter.
    Xor = 7,
    /// Static: fastest probe for big lists.
    Fuse = 8,
    /// Static: fewest bits.
    Ribbon = 9,
    /// Static: is a key between a and b: [`Reader::may_contain_range`].
    Range = 10,
    /// Static: a value for each key.
    Map = 12,
    /// Static: which keys of a known universe are listed; built from C or by the command, read as a filter.
    List = 13,
    /// Of [`Params::plan`] alone: choose among the static families.
    AutoStatic = 256,
}

impl Kind {
    fn from_raw(kind: sys::nay_kind) -> Kind {
        use Kind::*;
        [Bloom, Blocked, Counting, Scalable, Window, Cuckoo, Xor, Fuse, Ribbon, Range, Map, List]
            .into_iter()
            .find(|&k| k as i32 == kind)
            .unwrap_or(Auto)
    }

    /// "bloom", "blocked", ...
    pub fn name(self) -> &'static str {
        let name = unsafe { sys::nay_kind_name(self as i32) };
        if name.is_null() { "auto" } else { error::text(name) }
    }

    /// The inverse of [`Kind::name`].
    pub fn parse(name: &str) -> Result<Kind> {
        let name = c_string(name.as_bytes())?;
        let mut kind = 0;
        check(unsafe { sys::nay_kind_parse(name.as_ptr(), &mut kind) })?;
        Ok(Kind::from_raw(kind))
    }
}

/// How the keys of a range filter end in a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum RangeKeys {
    /// In 8 bytes, big-endian: the order of the bytes.
    #[default]
    Be8 = 0,
    /// In 4 bytes, big-endian.
    Be4 = 1,
    /// In decimal digits; 7 and 007 are one number.
    Decimal = 2,
}

/// What you want: `nkeys`, and one of `fpr`, `bits_per_key`, `nbytes`, `nbits`. All 0 is the default; values out of range
/// are refused, never clamped. `nay.h` explains each.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Params {
    pub kind: Kind,
    pub nkeys: u64,
    pub fpr: f64,
    pub bits_per_key: f64,
    pub nbytes: u64,
    pub nbits: u64,
    pub k: u32,
    pub fold: u64,
    pub seed: u64,
    /// SipHash-1-3 under this key, instead of XXH3.
    pub secret: Option<[u8; 16]>,
    /// Files will contain the secret key.
    pub store_secret: bool,
    /// You bring 64 well-mixed bits: [`Filter::add_hash`].
    pub caller_hashes: bool,
    /// Counting, cuckoo: adding a key that tests maybe changes nothing.
    pub unique: bool,
    pub tag_bits: u32,
    pub generations: u32,
    pub window: u64,
    pub max_nkeys: u64,
    pub max_nbytes: u64,
    pub threads: u32,
    pub value_bits: u32,
    pub check_bits: u32,
    /// Range filters: how many numbers the longest range has for which the FPR is planned,
    pub range_length: u64,
    /// how keys end in a number,
    pub range_keys: RangeKeys,
    /// and the byte that their prefix ends in; 0: any.
    pub range_delimiter: u8,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            kind: Kind::Auto, nkeys: 0, fpr: 0.0, bits_per_key: 0.0, nbytes: 0, nbits: 0, k: 0, fold: 0, seed: 0,
            secret: None, store_secret: false, caller_hashes: false, unique: false, tag_bits: 0, generations: 0, window: 0,
            max_nkeys: 0, max_nbytes: 0, threads: 0, value_bits: 0, check_bits: 0, range_length: 0,
            range_keys: RangeKeys::Be8, range_delimiter: 0,
        }
    }
}

impl Params {
    /// For so many keys at this false-positive rate.
    pub fn new(kind: Kind, nkeys: u64, fpr: f64) -> Params {
        Params { kind, nkeys, fpr, ..Params::default() }
    }

    /// At this false-positive rate, for as many keys as there will be: for builders.
    pub fn rate(kind: Kind, fpr: f64) -> Params {
        Params::new(kind, 0, fpr)
    }

    fn raw(&self) -> sys::nay_params {
        let flag = |set, flag| if set { flag } else { 0 };
        sys::nay_params {
            size: std::mem::size_of::<sys::nay_params>(),
            kind: self.kind as i32,
            nkeys: self.nkeys,
            fpr: self.fpr,
            bits_per_key: self.bits_per_key,
            nbytes: self.nbytes,
            nbits: self.nbits,
            k: self.k,
            flags: flag(self.store_secret, sys::NAY_STORE_KEY) | flag(self.unique, sys::NAY_UNIQUE),
            fold: self.fold,
            hash: match (self.caller_hashes, self.secret) {
                (true, _) => sys::NAY_HASH_CALLER,
                (false, Some(_)) => sys::NAY_HASH_SIPHASH,
                (false, None) => sys::NAY_HASH_XXH3,
            },
            seed: self.seed,
            key: self.secret.unwrap_or_default(),
            tag_bits: self.tag_bits,
            generations: self.generations,
            window: self.window,
            max_nkeys: self.max_nkeys,
            max_nbytes: self.max_nbytes,
            threads: self.threads,
            spill_dir: null(),
            value_bits: self.value_bits,
            check_bits: self.check_bits,
            range_length: self.range_length,
            range_keys: self.range_keys as u32,
            range_delimiter: self.range_delimiter.into(),
        }
    }

    /// What a filter would be, before there is one. Computed, not measured.
    pub fn plan(&self) -> Result<Plan> {
        let mut plan: sys::nay_plan = unsafe { std::mem::zeroed() };
        plan.size = std::mem::size_of_val(&plan);
        let mut diag = no_diag();
        check_diag(unsafe { sys::nay_params_plan(&self.raw(), &mut diag, &mut plan) }, &diag)?;
        Ok(Plan {
            kind: Kind::from_raw(plan.kind), k: plan.k, nkeys: plan.nkeys, nbits: plan.nbits, nbytes: plan.nbytes,
            nbytes_file: plan.nbytes_file, nbytes_build: plan.nbytes_build, bits_per_key: plan.bits_per_key, fpr: plan.fpr,
        })
    }
}

/// What a filter will be: [`Params::plan`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Plan {
    pub kind: Kind,
    pub k: u32,
    pub nkeys: u64,
    pub nbits: u64,
    pub nbytes: u64,
    pub nbytes_file: u64,
    pub nbytes_build: u64,
    pub bits_per_key: f64,
    pub fpr: f64,
}

/// The state of a filter: [`Reader::stats`]. Rates and counts are estimates from its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Stats {
    pub kind: Kind,
    pub k: u32,
    /// Planned; 0: unknown.
    pub nkeys: u64,
    pub nkeys_estimated: f64,
    pub nbits: u64,
    pub nbits_set: u64,
    pub nbytes: u64,
    pub fill: f64,
    pub fpr_now: f64,
    pub fpr_planned: f64,
    /// More keys than planned.
    pub overloaded: bool,
    /// `nkeys_estimated` is a lower bound.
    pub saturated: bool,
    /// Made by intersection: `nkeys_estimated` and `fpr_now` are NaN.
    pub derived: bool,
    pub read_only: bool,
    pub locked: bool,
    pub value_bits: u32,
    pub check_bits: u32,
}

/// What a filter knows of a key. Native families use `lo` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Hash {
    pub lo: u64,
    pub hi: u64,
}

impl From<u64> for Hash {
    #[inline]
    fn from(lo: u64) -> Hash {
        Hash { lo, hi: 0 }
    }
}

/// A hash function with its seed or secret key: a value, which outlives the filter it came from. A key that is hashed once
/// serves every filter with an equal hasher.
#[derive(Clone, Copy)]
pub struct Hasher(sys::nay_hasher);

impl Hasher {
    /// [`Status::Key`]: it is locked; [`Status::Unsupported`]: the caller hashes.
    pub fn hash(&self, key: impl AsRef<[u8]>) -> Result<Hash> {
        let key = key.as_ref();
        let mut hash = sys::nay_hash { lo: 0, hi: 0 };
        check(unsafe { sys::nay_hasher_hash(&self.0, key.as_ptr().cast(), key.len(), &mut hash) })?;
        Ok(Hash { lo: hash.lo, hi: hash.hi })
    }
}

impl PartialEq for Hasher {
    fn eq(&self, other: &Hasher) -> bool {
        unsafe { sys::nay_hasher_same(&self.0, &other.0) }
    }
}

fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|at| Error::new(Status::Invalid, "a zero byte", at.nul_position() as u64))
}

fn c_path(path: &Path) -> Result<CString> {
    c_string(path.as_os_str().as_bytes())
}

fn layout(name: &str) -> Result<*const sys::nay_format> {
    let name = c_string(name.as_bytes())?;
    let format = unsafe { sys::nay_format_find(name.as_ptr()) };
    if format.is_null() { Err(Error::new(Status::Invalid, "no layout has this name", 0)) } else { Ok(format) }
}

/// Gives keys to `call` up to 512 at a time: a multiple of 64, so that no word of a bitmap belongs to two calls.
fn in_blocks<K: AsRef<[u8]>>(
    keys: &[K], mut call: impl FnMut(*const *const c_void, *const usize, usize, usize) -> sys::nay_status,
) -> sys::nay_status {
    let mut ptrs = [null::<c_void>(); 512];
    let mut lens = [0usize; 512];
    for (block, some) in keys.chunks(512).enumerate() {
        for (i, key) in some.iter().enumerate() {
            let key = key.as_ref();
            ptrs[i] = key.as_ptr().cast();
            lens[i] = key.len();
        }
        let status = call(ptrs.as_ptr(), lens.as_ptr(), some.len(), 512 * block);
        if status != sys::NAY_OK {
            return status;
        }
    }
    sys::NAY_OK
}

/// What can be asked: [`Filter`] and [`View`] dereference to it, as `String` does to `str`.
#[repr(transparent)]
pub struct Reader(sys::nay_filter);

// Calls on a const filter are safe together (nay.h), and `&Reader` gives no others.
unsafe impl Sync for Reader {}
unsafe impl Send for Reader {}

impl Reader {
    #[inline]
    fn raw(&self) -> *const sys::nay_filter {
        &self.0
    }

    /// `false` is certain.
    #[inline]
    pub fn may_contain(&self, key: impl AsRef<[u8]>) -> bool {
        let key = key.as_ref();
        unsafe { sys::nay_filter_may_contain(self.raw(), key.as_ptr().cast(), key.len()) }
    }

    /// [`Reader::may_contain`] of a hash.
    #[inline]
    pub fn may_contain_hash(&self, hash: impl Into<Hash>) -> bool {
        let Hash { lo, hi } = hash.into();
        unsafe { sys::nay_filter_may_contain_hash(self.raw(), sys::nay_hash { lo, hi }) }
    }

    /// The answers for many keys; their cache misses overlap. [`Status::Corrupt`]: a lazily mapped file is damaged.
    pub fn may_contain_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut bitmap = [0u64; 8];
        check(in_blocks(keys, |ptrs, lens, n, _| {
            let status = unsafe { sys::nay_filter_may_contain_many(self.raw(), ptrs, lens, n, bitmap.as_mut_ptr()) };
            answers.extend((0..n).map(|i| bitmap[i / 64] >> (i % 64) & 1 != 0));
            status
        }))?;
        Ok(answers)
    }

    /// Of a range filter: whether a key may lie between `lo` and `hi`, both included; in doubt `true`.
    /// [`Status::Invalid`]: `lo` is above `hi`.
    ///
    /// ```
    /// use nay::{key, Filter, Kind, Params};
    /// let params = Params { range_length: 60, ..Params::rate(Kind::Range, 0.01) };
    /// let seen = Filter::build(&params, (0..100).map(|i| key::ordered_int(1000 * i)))?;
    /// assert!(seen.may_contain_range(key::ordered_int(1990), key::ordered_int(2020))?);
    /// assert!(!seen.may_contain_range(key::ordered_int(2010), key::ordered_int(2069))?);
    /// # Ok::<(), nay::Error>(())
    /// ```
    pub fn may_contain_range(&self, lo: impl AsRef<[u8]>, hi: impl AsRef<[u8]>) -> Result<bool> {
        let (lo, hi, mut maybe) = (lo.as_ref(), hi.as_ref(), true);
        check(unsafe {
            let (lo_at, hi_at) = (lo.as_ptr().cast(), hi.as_ptr().cast());
            sys::nay_filter_may_contain_range(self.raw(), lo_at, lo.len(), hi_at, hi.len(), &mut maybe)
        })?;
        Ok(maybe)
    }

    /// The answers for many ranges of keys that are 8 bytes, big-endian; [`key::ordered`] makes a number of an integer.
    pub fn may_contain_ranges(&self, ranges: &[std::ops::RangeInclusive<u64>]) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(ranges.len());
        let (mut lo, mut hi, mut bitmap) = ([0; 512], [0; 512], [0u64; 8]);
        for some in ranges.chunks(512) {
            for (i, range) in some.iter().enumerate() {
                (lo[i], hi[i]) = (*range.start(), *range.end());
            }
            let (lo, hi, n) = (lo.as_ptr(), hi.as_ptr(), some.len());
            check(unsafe { sys::nay_filter_may_contain_range_u64_many(self.raw(), lo, hi, n, bitmap.as_mut_ptr()) })?;
            answers.extend((0..n).map(|i| bitmap[i / 64] >> (i % 64) & 1 != 0));
        }
        Ok(answers)
    }

    /// At most how often the key was added: counting and cuckoo filters.
    pub fn count(&self, key: impl AsRef<[u8]>) -> Result<u64> {
        let (key, mut n) = (key.as_ref(), 0);
        check(unsafe { sys::nay_filter_count(self.raw(), key.as_ptr().cast(), key.len(), &mut n) })?;
        Ok(n)
    }

    /// The value of a key of a map; `None`: the map has check bits, and the key is certainly not in it. Without check bits a
    /// key outside the set gets an arbitrary value.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>> {
        let (key, mut value) = (key.as_ref(), 0);
        match unsafe { sys::nay_filter_get(self.raw(), key.as_ptr().cast(), key.len(), &mut value) } {
            sys::NAY_ENOENT => Ok(None),
            status => check(status).map(|()| Some(value)),
        }
    }

    /// Reads the whole filter.
    pub fn stats(&self) -> Result<Stats> {
        let mut s: sys::nay_stats = unsafe { std::mem::zeroed() };
        s.size = std::mem::size_of_val(&s);
        check(unsafe { sys::nay_filter_stats(self.raw(), &mut s) })?;
        Ok(Stats {
            kind: Kind::from_raw(s.kind), k: s.k, nkeys: s.nkeys, nkeys_estimated: s.nkeys_estimated, nbits: s.nbits,
            nbits_set: s.nbits_set, nbytes: s.nbytes, fill: s.fill, fpr_now: s.fpr_now, fpr_planned: s.fpr_planned,
            overloaded: s.overloaded, saturated: s.saturated, derived: s.derived, read_only: s.read_only, locked: s.locked,
            value_bits: s.value_bits, check_bits: s.check_bits,
        })
    }

    /// An independent filter, writable even if this one is mapped.
    pub fn copy(&self) -> Result<Filter> {
        Filter::made(|diag, made| unsafe { sys::nay_filter_copy(self.raw(), null(), diag, made) })
    }

    /// The native file; of a filter in another system's layout, that layout.
    pub fn encode(&self) -> Result<Vec<u8>> {
        unsafe {
            let format = sys::nay_filter_format(self.raw());
            let mut n = sys::nay_format_encoded_size(format, self.raw());
            let mut bytes = vec![0; n];
            check(sys::nay_format_encode(format, self.raw(), bytes.as_mut_ptr().cast(), n, &mut n))?;
            bytes.truncate(n);
            Ok(bytes)
        }
    }

    /// Replaces a file atomically: after a crash it is the old one or the new one.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, mut diag) = (c_path(path.as_ref())?, no_diag());
        check_diag(unsafe { sys::nay_filter_save(self.raw(), path.as_ptr(), &mut diag) }, &diag)
    }

    /// The family; [`Kind::Auto`] for another system's layout.
    pub fn kind(&self) -> Kind {
        Kind::from_raw(unsafe { sys::nay_filter_kind(self.raw()) })
    }

    /// "nay", or the name of another system's layout.
    pub fn layout(&self) -> &'static str {
        error::text(unsafe { sys::nay_format_name(sys::nay_filter_format(self.raw())) })
    }

    /// Its hash function.
    pub fn hasher(&self) -> Result<Hasher> {
        let mut hasher = sys::nay_hasher { size: std::mem::size_of::<sys::nay_hasher>(), opaque: [0; 15] };
        check(unsafe { sys::nay_filter_hasher(self.raw(), &mut hasher) })?;
        Ok(Hasher(hasher))
    }

    /// Prefetches the cache lines that a probe of this hash reads.
    #[inline]
    pub fn prefetch(&self, hash: impl Into<Hash>) {
        let Hash { lo, hi } = hash.into();
        unsafe { sys::nay_filter_prefetch(self.raw(), sys::nay_hash { lo, hi }) }
    }

    /// An error once a lazily mapped filter has met damaged bytes.
    pub fn health(&self) -> Result<()> {
        check(unsafe { sys::nay_filter_health(self.raw()) })
    }

    /// The memory of the filter.
    pub fn nbytes(&self) -> usize {
        unsafe { sys::nay_filter_nbytes(self.raw()) }
    }

    /// The user's own bytes, kept in the file.
    pub fn meta(&self) -> &[u8] {
        let mut n = 0;
        let at = unsafe { sys::nay_filter_meta(self.raw(), &mut n) };
        if at.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(at.cast(), n) } }
    }

    /// How keys were made of texts: "int", or "text" when nobody said.
    pub fn key_description(&self) -> &str {
        unsafe { CStr::from_ptr(sys::nay_filter_key(self.raw())) }.to_str().unwrap_or("")
    }

    /// The key of a text as the file describes its keys: where they are "int", "7" and "007" are one, and "seven" is an error.
    pub fn key(&self, text: &str) -> Result<Vec<u8>> {
        key::described(unsafe { CStr::from_ptr(sys::nay_filter_key(self.raw())) }, text)
    }
}

/// A filter that this value owns.
pub struct Filter(NonNull<Reader>);

unsafe impl Send for Filter {}
unsafe impl Sync for Filter {}

impl Deref for Filter {
    type Target = Reader;
    #[inline]
    fn deref(&self) -> &Reader {
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        unsafe { sys::nay_filter_free(self.0.as_ptr().cast()) }
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Filter({}, {} bytes)", self.kind().name(), self.nbytes())
    }
}

impl Filter {
    fn made(make: impl FnOnce(*mut sys::nay_diag, *mut *mut sys::nay_filter) -> sys::nay_status) -> Result<Filter> {
        let (mut diag, mut made) = (no_diag(), null_mut());
        check_diag(make(&mut diag, &mut made), &diag)?;
        Ok(Filter(NonNull::new(made.cast()).expect("a filter was made")))
    }

    #[inline]
    fn mut_raw(&mut self) -> *mut sys::nay_filter {
        self.0.as_ptr().cast()
    }

    /// An empty filter that takes adds. [`Status::Unsupported`]: the kind is static, see [`Filter::build`].
    pub fn new(params: &Params) -> Result<Filter> {
        Filter::made(|diag, made| unsafe { sys::nay_filter_new(&params.raw(), null(), diag, made) })
    }

    /// An empty filter in another system's layout: "leveldb", "lab".
    pub fn new_layout(name: &str, params: &Params) -> Result<Filter> {
        let format = layout(name)?;
        Filter::made(|diag, made| unsafe { sys::nay_format_new(format, &params.raw(), null(), diag, made) })
    }

    /// A filter of these keys: every family, and the only way to make the static ones.
    ///
    /// ```
    /// use nay::{Filter, Kind, Params};
    /// let filter = Filter::build(&Params::rate(Kind::Ribbon, 0.001), "ant bee cat".split(' '))?;
    /// assert!(filter.may_contain("bee") && !filter.may_contain("dog"));
    /// # Ok::<(), nay::Error>(())
    /// ```
    pub fn build<K: AsRef<[u8]>>(params: &Params, keys: impl IntoIterator<Item = K>) -> Result<Filter> {
        let mut builder = Builder::new(params)?;
        builder.extend(keys);
        builder.finish()
    }

    /// A filter from a native file, of which every byte is checked first: whoever wrote it, the filter is safe to ask.
    pub fn decode(bytes: &[u8]) -> Result<Filter> {
        Filter::made(|diag, made| unsafe {
            sys::nay_filter_decode(bytes.as_ptr().cast(), bytes.len(), null(), diag, made)
        })
    }

    /// A filter from another system's layout.
    pub fn decode_layout(name: &str, bytes: &[u8]) -> Result<Filter> {
        let format = layout(name)?;
        Filter::made(|diag, made| unsafe {
            sys::nay_format_decode(format, bytes.as_ptr().cast(), bytes.len(), 0, null(), diag, made)
        })
    }

    /// Reads a file into memory, every checksum verified.
    pub fn open(path: impl AsRef<Path>) -> Result<Filter> {
        let path = c_path(path.as_ref())?;
        Filter::made(|diag, made| unsafe { sys::nay_filter_open(path.as_ptr(), null(), diag, made) })
    }

    /// Asks a file in place, read-only. `lazily`: each 64 KiB is verified when it is first read; damage answers maybe.
    ///
    /// # Safety
    ///
    /// Nobody may change or shorten the file while it is mapped; [`Reader::save`], which replaces files, does not.
    pub unsafe fn mmap(path: impl AsRef<Path>, lazily: bool) -> Result<Filter> {
        let path = c_path(path.as_ref())?;
        let flags = if lazily { sys::NAY_MMAP_LAZY } else { 0 };
        Filter::made(|diag, made| sys::nay_filter_mmap(path.as_ptr(), flags, null(), diag, made))
    }

    /// Adds a key; whether it is new, as `HashSet::insert`: the filter would have said nay before. [`Status::Full`]: a cuckoo
    /// filter has no room, or a growing one met its limit.
    #[inline]
    pub fn add(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let (key, mut is_new) = (key.as_ref(), false);
        check(unsafe { sys::nay_filter_add(self.mut_raw(), key.as_ptr().cast(), key.len(), &mut is_new) })?;
        Ok(is_new)
    }

    /// [`Filter::add`] of a hash.
    #[inline]
    pub fn add_hash(&mut self, hash: impl Into<Hash>) -> Result<bool> {
        let (Hash { lo, hi }, mut is_new) = (hash.into(), false);
        check(unsafe { sys::nay_filter_add_hash(self.mut_raw(), sys::nay_hash { lo, hi }, &mut is_new) })?;
        Ok(is_new)
    }

    /// Adds many keys. An error says in `taken` how many were added before it: exactly the first ones.
    pub fn add_many<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<()> {
        let (raw, mut sum) = (self.mut_raw(), 0);
        let status = in_blocks(keys, |ptrs, lens, n, _| {
            let mut taken = 0;
            let status = unsafe { sys::nay_filter_add_many(raw, ptrs, lens, n, null_mut(), &mut taken) };
            sum += taken;
            status
        });
        check(status).map_err(|error| Error { taken: sum, ..error })
    }

    /// Takes out a key that was added. `false`: it tests nay, and nothing changed. Never remove a key that was not added:
    /// what is removed may belong to others, who become false nays.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        match unsafe { sys::nay_filter_remove(self.mut_raw(), key.as_ptr().cast(), key.len()) } {
            sys::NAY_ENOENT => Ok(false),
            status => check(status).map(|()| true),
        }
    }

    /// Becomes the union, as if every key of `other` had been added.
    pub fn merge(&mut self, other: &Reader) -> Result<()> {
        self.merge_limit(other, 1.0)
    }

    /// [`Filter::merge`], unless the false-positive rate would be above `max_fpr`: [`Status::Full`].
    pub fn merge_limit(&mut self, other: &Reader, max_fpr: f64) -> Result<()> {
        let mut diag = no_diag();
        check_diag(unsafe { sys::nay_filter_merge(self.mut_raw(), other.raw(), max_fpr, &mut diag) }, &diag)
    }

    /// Keeps only the bits that both have.
    pub fn intersect(&mut self, other: &Reader) -> Result<()> {
        let mut diag = no_diag();
        check_diag(unsafe { sys::nay_filter_intersect(self.mut_raw(), other.raw(), &mut diag) }, &diag)
    }

    /// Shrinks by an integer factor without the keys.
    pub fn fold(&mut self, factor: u64) -> Result<()> {
        let mut diag = no_diag();
        check_diag(unsafe { sys::nay_filter_fold(self.mut_raw(), factor, &mut diag) }, &diag)
    }

    /// Makes the payload of a ribbon filter `nbytes` or less, at the price of a higher false-positive rate.
    pub fn shrink(&mut self, nbytes: u64) -> Result<()> {
        let mut diag = no_diag();
        check_diag(unsafe { sys::nay_filter_shrink(self.mut_raw(), nbytes, &mut diag) }, &diag)
    }

    /// Forgets every key.
    pub fn clear(&mut self) -> Result<()> {
        check(unsafe { sys::nay_filter_clear(self.mut_raw()) })
    }

    /// Tells a filter that expires by time what time it is.
    pub fn advance(&mut self, now: u64) -> Result<()> {
        check(unsafe { sys::nay_filter_advance(self.mut_raw(), now) })
    }

    /// Gives the secret key to a filter whose file does not contain it. [`Status::Key`]: it is another.
    pub fn unlock(&mut self, secret: &[u8; 16]) -> Result<()> {
        check(unsafe { sys::nay_filter_unlock(self.mut_raw(), secret.as_ptr()) })
    }

    /// Replaces the user's own bytes.
    pub fn set_meta(&mut self, meta: &[u8]) -> Result<()> {
        check(unsafe { sys::nay_filter_set_meta(self.mut_raw(), meta.as_ptr().cast(), meta.len()) })
    }

    /// Changes what the filter states of its keys, not the keys.
    pub fn set_key_description(&mut self, description: &str) -> Result<()> {
        let description = c_string(description.as_bytes())?;
        check(unsafe { sys::nay_filter_set_key(self.mut_raw(), description.as_ptr()) })
    }
}

/// A filter that takes adds and removals from many threads, beside questions, which never wait: bloom, blocked, counting.
///
/// ```
/// use nay::{Concurrent, Kind, Params};
/// let filter = Concurrent::new(&Params::new(Kind::Blocked, 1000, 0.01))?;
/// std::thread::scope(|s| {
///     s.spawn(|| filter.add("a"));
///     s.spawn(|| filter.add("b"));
/// });
/// assert!(filter.may_contain("a") && filter.may_contain("b"));
/// # Ok::<(), nay::Error>(())
/// ```
#[derive(Debug)]
pub struct Concurrent(Filter);

impl Concurrent {
    /// [`Status::Unsupported`] or [`Status::Invalid`]: not of this kind.
    pub fn new(params: &Params) -> Result<Concurrent> {
        let mut raw = params.raw();
        raw.flags |= sys::NAY_CONCURRENT;
        Filter::made(|diag, made| unsafe { sys::nay_filter_new(&raw, null(), diag, made) }).map(Concurrent)
    }

    /// As [`Filter::add`]. Of the threads that add one key at the same moment exactly one is told that it is new.
    #[inline]
    pub fn add(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let (key, mut is_new) = (key.as_ref(), false);
        check(unsafe { sys::nay_filter_add(self.0 .0.as_ptr().cast(), key.as_ptr().cast(), key.len(), &mut is_new) })?;
        Ok(is_new)
    }

    /// As [`Filter::remove`].
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        match unsafe { sys::nay_filter_remove(self.0 .0.as_ptr().cast(), key.as_ptr().cast(), key.len()) } {
            sys::NAY_ENOENT => Ok(false),
            status => check(status).map(|()| true),
        }
    }

    /// As [`Reader::may_contain`].
    #[inline]
    pub fn may_contain(&self, key: impl AsRef<[u8]>) -> bool {
        self.0.may_contain(key)
    }

    /// The filter, when all adds are done.
    pub fn into_inner(self) -> Filter {
        self.0
    }
}

/// Makes filters of all keys at once: static families and maps, and keys whose number is not known before.
pub struct Builder {
    raw: NonNull<sys::nay_builder>,
    failed: Result<()>, // by extend
}

unsafe impl Send for Builder {}

impl Drop for Builder {
    fn drop(&mut self) {
        unsafe { sys::nay_builder_free(self.raw.as_ptr()) }
    }
}

impl Builder {
    fn made(make: impl FnOnce(*mut sys::nay_diag, *mut *mut sys::nay_builder) -> sys::nay_status) -> Result<Builder> {
        let (mut diag, mut made) = (no_diag(), null_mut());
        check_diag(make(&mut diag, &mut made), &diag)?;
        Ok(Builder { raw: NonNull::new(made).expect("a builder was made"), failed: Ok(()) })
    }

    /// `params.nkeys` 0 means as many as there will be.
    pub fn new(params: &Params) -> Result<Builder> {
        Builder::made(|diag, made| unsafe { sys::nay_builder_new(&params.raw(), null(), diag, made) })
    }

    /// A builder for another system's layout.
    pub fn new_layout(name: &str, params: &Params) -> Result<Builder> {
        let format = layout(name)?;
        Builder::made(|diag, made| unsafe { sys::nay_format_builder_new(format, &params.raw(), null(), diag, made) })
    }

    /// Adds a key.
    pub fn add(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        let key = key.as_ref();
        check(unsafe { sys::nay_builder_add(self.raw.as_ptr(), key.as_ptr().cast(), key.len()) })
    }

    /// Adds a hash.
    pub fn add_hash(&mut self, hash: impl Into<Hash>) -> Result<()> {
        let Hash { lo, hi } = hash.into();
        check(unsafe { sys::nay_builder_add_hash(self.raw.as_ptr(), sys::nay_hash { lo, hi }) })
    }

    /// Adds a key of a map and its value.
    ///
    /// ```
    /// use nay::{Builder, Kind, Params};
    /// let mut years = Builder::new(&Params { kind: Kind::Map, check_bits: 16, ..Params::default() })?;
    /// years.add_value("ada", 1815)?;
    /// years.add_value("grace", 1906)?;
    /// let map = years.finish()?;
    /// assert_eq!((map.get("ada")?, map.get("alan")?), (Some(1815), None));
    /// # Ok::<(), nay::Error>(())
    /// ```
    pub fn add_value(&mut self, key: impl AsRef<[u8]>, value: u64) -> Result<()> {
        let key = key.as_ref();
        check(unsafe { sys::nay_builder_add_value(self.raw.as_ptr(), key.as_ptr().cast(), key.len(), value) })
    }

    /// How many keys were added so far, duplicates included.
    pub fn nkeys(&self) -> u64 {
        unsafe { sys::nay_builder_nkeys(self.raw.as_ptr()) }
    }

    /// The filter; the builder is then empty. When it fails, the builder keeps its keys. An error of `extend` comes here.
    pub fn finish(&mut self) -> Result<Filter> {
        self.failed.clone()?;
        let raw = self.raw.as_ptr();
        Filter::made(|diag, made| unsafe { sys::nay_builder_finish(raw, diag, made) })
    }
}

/// An add that fails is the error of [`Builder::finish`], this time and ever after: no key is lost silently.
impl<K: AsRef<[u8]>> Extend<K> for Builder {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            if self.failed.is_ok() {
                self.failed = self.add(key);
            }
        }
    }
}

/// A filter over bytes that stay where they are, for as long as they are borrowed; the filter itself is not copied.
pub struct View<'a> {
    raw: Box<sys::nay_view>, // it has pointers into itself
    bytes: PhantomData<&'a [u8]>,
}

unsafe impl Send for View<'_> {}
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// Checks every byte, and copies none.
    pub fn open(bytes: &'a [u8]) -> Result<View<'a>> {
        View::with(bytes, null())
    }

    /// Of a filter whose file does not contain its secret key.
    pub fn unlock(bytes: &'a [u8], secret: &[u8; 16]) -> Result<View<'a>> {
        View::with(bytes, secret.as_ptr())
    }

    fn with(bytes: &'a [u8], secret: *const u8) -> Result<View<'a>> {
        let mut raw = Box::new(sys::nay_view { size: std::mem::size_of::<sys::nay_view>(), opaque: [0; 63] });
        let mut diag = no_diag();
        let status = unsafe { sys::nay_view_open(bytes.as_ptr().cast(), bytes.len(), secret, &mut diag, &mut *raw) };
        check_diag(status, &diag)?;
        Ok(View { raw, bytes: PhantomData })
    }
}

impl Deref for View<'_> {
    type Target = Reader;
    #[inline]
    fn deref(&self) -> &Reader {
        unsafe { &*sys::nay_view_filter(&*self.raw).cast() }
    }
}

/// A bijection of 64 bits that makes sequential integers look random (SplitMix64): for [`Params::caller_hashes`].
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e3779b97f4a7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

/// The version of the library that runs.
pub fn version() -> &'static str {
    error::text(unsafe { sys::nay_version() })
}
