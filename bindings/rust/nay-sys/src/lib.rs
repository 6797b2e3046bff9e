//! The stable functions of libnay, as its headers declare them: `nay.h`, `nay_advanced.h`, `nay_format.h`, `nay_key.h`,
//! `nay_map.h`, `nay_range.h`. The headers are the documentation; the crate `nay` is the safe interface.

#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_void};

pub type nay_status = c_int;
pub const NAY_OK: nay_status = 0;
pub const NAY_EINVAL: nay_status = -2;
pub const NAY_EEND: nay_status = -14;
pub const NAY_ENOENT: nay_status = -12;

pub type nay_kind = c_int;
pub type nay_hash_kind = c_int;
pub const NAY_HASH_XXH3: nay_hash_kind = 0;
pub const NAY_HASH_SIPHASH: nay_hash_kind = 1;
pub const NAY_HASH_CALLER: nay_hash_kind = 2;

pub const NAY_CONCURRENT: u32 = 0x01;
pub const NAY_STORE_KEY: u32 = 0x02;
pub const NAY_UNIQUE: u32 = 0x08;
pub const NAY_MMAP_LAZY: u32 = 0x01;

/// An opaque type of C, behind pointers only; neither Send nor Sync.
macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name {
            _bytes: [u8; 0],
            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}
opaque!(nay_filter nay_builder nay_format nay_allocator);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nay_diag {
    pub what: *const c_char,
    pub offset: u64,
    pub os_error: c_int,
    pub reserved32: u32,
    pub reserved: [u64; 4],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nay_params {
    pub size: usize,
    pub kind: nay_kind,
    pub nkeys: u64,
    pub fpr: f64,
    pub bits_per_key: f64,
    pub nbytes: u64,
    pub nbits: u64,
    pub k: u32,
    pub flags: u32,
    pub fold: u64,
    pub hash: nay_hash_kind,
    pub seed: u64,
    pub key: [u8; 16],
    pub tag_bits: u32,
    pub generations: u32,
    pub window: u64,
    pub max_nkeys: u64,
    pub max_nbytes: u64,
    pub threads: u32,
    pub spill_dir: *const c_char,
    pub value_bits: u32,
    pub check_bits: u32,
    pub range_length: u64,
    pub range_keys: u32,
    pub range_delimiter: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nay_plan {
    pub size: usize,
    pub kind: nay_kind,
    pub k: u32,
    pub nkeys: u64,
    pub nbits: u64,
    pub nbytes: u64,
    pub nbytes_file: u64,
    pub nbytes_build: u64,
    pub bits_per_key: f64,
    pub fpr: f64,
    pub fpr_limit: f64,
    pub window_error: f64,
    pub generations: u32,
    pub tag_bits: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nay_stats {
    pub size: usize,
    pub kind: nay_kind,
    pub hash: nay_hash_kind,
    pub k: u32,
    pub nkeys: u64,
    pub nkeys_estimated: f64,
    pub nbits: u64,
    pub nbits_set: u64,
    pub nbytes: u64,
    pub fill: f64,
    pub utilisation: f64,
    pub fpr_now: f64,
    pub fpr_planned: f64,
    pub overloaded: bool,
    pub derived: bool,
    pub saturated: bool,
    pub read_only: bool,
    pub locked: bool,
    pub stores_key: bool,
    pub nlevels: u32,
    pub tag_bits: u32,
    pub nstuck: u64,
    pub nrefused: u64,
    pub clock: u64,
    pub value_bits: u32,
    pub check_bits: u32,
    pub range_length: u64,
    pub range_block: u64,
    pub range_exact: u32,
    pub range_shift: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nay_hash {
    pub lo: u64,
    pub hi: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nay_hasher {
    pub size: usize,
    pub opaque: [u64; 15],
}

#[repr(C)]
pub struct nay_view {
    pub size: usize,
    pub opaque: [u64; 63],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nay_key_description {
    pub size: usize,
    pub type_: c_int,
    pub ntransformations: u32,
    pub reserved: [u64; 14],
}

extern "C" {
    // nay.h
    pub fn nay_version() -> *const c_char;
    pub fn nay_status_text(status: nay_status) -> *const c_char;
    pub fn nay_status_name(status: nay_status) -> *const c_char;
    pub fn nay_kind_name(kind: nay_kind) -> *const c_char;
    pub fn nay_params_plan(params: *const nay_params, diag: *mut nay_diag, plan: *mut nay_plan) -> nay_status;
    pub fn nay_filter_new(
        params: *const nay_params, allocator: *const nay_allocator, diag: *mut nay_diag, filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_filter_copy(
        filter: *const nay_filter, allocator: *const nay_allocator, diag: *mut nay_diag, copy: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_filter_free(filter: *mut nay_filter);
    pub fn nay_filter_clear(filter: *mut nay_filter) -> nay_status;
    pub fn nay_filter_add(filter: *mut nay_filter, key: *const c_void, len: usize, is_new: *mut bool) -> nay_status;
    pub fn nay_filter_may_contain(filter: *const nay_filter, key: *const c_void, len: usize) -> bool;
    pub fn nay_filter_remove(filter: *mut nay_filter, key: *const c_void, len: usize) -> nay_status;
    pub fn nay_filter_advance(filter: *mut nay_filter, now: u64) -> nay_status;
    pub fn nay_filter_add_many(
        filter: *mut nay_filter, keys: *const *const c_void, lens: *const usize, n: usize, bitmap: *mut u64,
        taken: *mut usize,
    ) -> nay_status;
    pub fn nay_filter_may_contain_many(
        filter: *const nay_filter, keys: *const *const c_void, lens: *const usize, n: usize, bitmap: *mut u64,
    ) -> nay_status;
    pub fn nay_filter_merge(
        dst: *mut nay_filter, src: *const nay_filter, max_fpr: f64, diag: *mut nay_diag,
    ) -> nay_status;
    pub fn nay_filter_stats(filter: *const nay_filter, stats: *mut nay_stats) -> nay_status;
    pub fn nay_filter_unlock(filter: *mut nay_filter, key: *const u8) -> nay_status;
    pub fn nay_filter_health(filter: *const nay_filter) -> nay_status;
    pub fn nay_filter_decode(
        bytes: *const c_void, len: usize, allocator: *const nay_allocator, diag: *mut nay_diag,
        filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_filter_save(filter: *const nay_filter, path: *const c_char, diag: *mut nay_diag) -> nay_status;
    pub fn nay_filter_open(
        path: *const c_char, allocator: *const nay_allocator, diag: *mut nay_diag, filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_filter_mmap(
        path: *const c_char, flags: u32, allocator: *const nay_allocator, diag: *mut nay_diag,
        filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_builder_new(
        params: *const nay_params, allocator: *const nay_allocator, diag: *mut nay_diag, builder: *mut *mut nay_builder,
    ) -> nay_status;
    pub fn nay_builder_add(builder: *mut nay_builder, key: *const c_void, len: usize) -> nay_status;
    pub fn nay_builder_nkeys(builder: *const nay_builder) -> u64;
    pub fn nay_builder_finish(
        builder: *mut nay_builder, diag: *mut nay_diag, filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_builder_free(builder: *mut nay_builder);

    // nay_advanced.h
    pub fn nay_kind_parse(name: *const c_char, kind: *mut nay_kind) -> nay_status;
    pub fn nay_filter_kind(filter: *const nay_filter) -> nay_kind;
    pub fn nay_filter_hasher(filter: *const nay_filter, hasher: *mut nay_hasher) -> nay_status;
    pub fn nay_hasher_hash(
        hasher: *const nay_hasher, key: *const c_void, len: usize, hash: *mut nay_hash,
    ) -> nay_status;
    pub fn nay_hasher_same(a: *const nay_hasher, b: *const nay_hasher) -> bool;
    pub fn nay_filter_add_hash(filter: *mut nay_filter, hash: nay_hash, is_new: *mut bool) -> nay_status;
    pub fn nay_filter_may_contain_hash(filter: *const nay_filter, hash: nay_hash) -> bool;
    pub fn nay_filter_count(filter: *const nay_filter, key: *const c_void, len: usize, count: *mut u64) -> nay_status;
    pub fn nay_builder_add_hash(builder: *mut nay_builder, hash: nay_hash) -> nay_status;
    pub fn nay_filter_prefetch(filter: *const nay_filter, hash: nay_hash);
    pub fn nay_filter_intersect(dst: *mut nay_filter, src: *const nay_filter, diag: *mut nay_diag) -> nay_status;
    pub fn nay_filter_fold(filter: *mut nay_filter, factor: u64, diag: *mut nay_diag) -> nay_status;
    pub fn nay_filter_shrink(filter: *mut nay_filter, nbytes: u64, diag: *mut nay_diag) -> nay_status;
    pub fn nay_filter_nbytes(filter: *const nay_filter) -> usize;
    pub fn nay_filter_meta(filter: *const nay_filter, len: *mut usize) -> *const c_void;
    pub fn nay_filter_set_meta(filter: *mut nay_filter, bytes: *const c_void, len: usize) -> nay_status;
    pub fn nay_view_open(
        bytes: *const c_void, len: usize, key: *const u8, diag: *mut nay_diag, view: *mut nay_view,
    ) -> nay_status;
    pub fn nay_view_filter(view: *const nay_view) -> *const nay_filter;

    // nay_format.h
    pub fn nay_format_find(name: *const c_char) -> *const nay_format;
    pub fn nay_format_name(format: *const nay_format) -> *const c_char;
    pub fn nay_format_new(
        format: *const nay_format, params: *const nay_params, allocator: *const nay_allocator, diag: *mut nay_diag,
        filter: *mut *mut nay_filter,
    ) -> nay_status;
    pub fn nay_format_builder_new(
        format: *const nay_format, params: *const nay_params, allocator: *const nay_allocator, diag: *mut nay_diag,
        builder: *mut *mut nay_builder,
    ) -> nay_status;
    pub fn nay_filter_format(filter: *const nay_filter) -> *const nay_format;
    pub fn nay_format_encoded_size(format: *const nay_format, filter: *const nay_filter) -> usize;
    pub fn nay_format_encode(
        format: *const nay_format, filter: *const nay_filter, dst: *mut c_void, cap: usize, written: *mut usize,
    ) -> nay_status;
    pub fn nay_format_decode(
        format: *const nay_format, bytes: *const c_void, len: usize, flags: u32, allocator: *const nay_allocator,
        diag: *mut nay_diag, filter: *mut *mut nay_filter,
    ) -> nay_status;

    // nay_key.h
    pub fn nay_key_int(value: i64, key: *mut u8);
    pub fn nay_key_float(value: f64, key: *mut u8);
    pub fn nay_key_description_parse(
        text: *const c_char, diag: *mut nay_diag, description: *mut nay_key_description,
    ) -> nay_status;
    pub fn nay_key_convert(
        description: *const nay_key_description, text: *const c_char, len: usize, diag: *mut nay_diag, dst: *mut u8,
        cap: usize, written: *mut usize,
    ) -> nay_status;
    pub fn nay_filter_key(filter: *const nay_filter) -> *const c_char;
    pub fn nay_filter_set_key(filter: *mut nay_filter, description: *const c_char) -> nay_status;

    // nay_map.h
    pub fn nay_builder_add_value(
        builder: *mut nay_builder, key: *const c_void, len: usize, value: u64,
    ) -> nay_status;
    pub fn nay_filter_may_contain_range(
        filter: *const nay_filter, lo: *const c_void, lo_len: usize, hi: *const c_void, hi_len: usize, maybe: *mut bool,
    ) -> nay_status;
    pub fn nay_filter_may_contain_range_u64_many(
        filter: *const nay_filter, lo: *const u64, hi: *const u64, n: usize, bitmap: *mut u64,
    ) -> nay_status;
    pub fn nay_filter_get(filter: *const nay_filter, key: *const c_void, len: usize, value: *mut u64) -> nay_status;
}
