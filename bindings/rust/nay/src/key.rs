//! Values as keys, the same bytes in every program and language: `doc/keys.md`.

use crate::error::{check_diag, no_diag};
use crate::{c_string, Result};
use nay_sys as sys;
use std::ffi::CStr;
use std::ptr::null_mut;

/// The key of an integer of any width, a date as days or a timestamp as microseconds since 1970. A `u64` above `i64::MAX`
/// is cast first.
pub fn int(value: impl Into<i64>) -> [u8; 8] {
    value.into().to_le_bytes()
}

/// The key of a float: there is one zero and one NaN.
pub fn float(value: impl Into<f64>) -> [u8; 8] {
    let mut key = [0; 8];
    unsafe { sys::nay_key_float(value.into(), key.as_mut_ptr()) };
    key
}

/// The key of an integer for range filters: its bytes have the order of the values.
pub fn ordered_int(value: impl Into<i64>) -> [u8; 8] {
    ordered(value).to_be_bytes()
}

/// [`ordered_int`] as a number, for [`crate::Reader::may_contain_ranges`].
pub fn ordered(value: impl Into<i64>) -> u64 {
    value.into() as u64 ^ 1 << 63
}

/// The key of a float for range filters: NaN is above infinity.
pub fn ordered_float(value: impl Into<f64>) -> [u8; 8] {
    let bits = u64::from_le_bytes(float(value)); // one zero, one NaN
    (if bits >> 63 != 0 { !bits } else { bits | 1 << 63 }).to_be_bytes()
}

/// The key of a text as a value of a type: "int", "float", "bool", "date", "timestamp", "uuid", "numeric", "hex", "b64" or
/// "text", for range filters "ordered-int", "ordered-float", "ordered-date" or "ordered-timestamp"; or a key description, such
/// as "int,trim".
///
/// ```
/// assert_eq!(nay::key::parse("int", "007")?, nay::key::int(7));
/// let error = nay::key::parse("date", "2023-02-29").unwrap_err();
/// assert_eq!((error.status, error.offset), (nay::Status::Invalid, 8));
/// # Ok::<(), nay::Error>(())
/// ```
pub fn parse(key_type: &str, text: &str) -> Result<Vec<u8>> {
    described(&c_string(key_type.as_bytes())?, text)
}

/// The key of a text as a key description says.
pub(crate) fn described(description: &CStr, text: &str) -> Result<Vec<u8>> {
    let mut how: sys::nay_key_description = unsafe { std::mem::zeroed() };
    how.size = std::mem::size_of_val(&how);
    let mut diag = no_diag();
    check_diag(unsafe { sys::nay_key_description_parse(description.as_ptr(), &mut diag, &mut how) }, &diag)?;
    converted(|diag, dst, cap, n| unsafe {
        sys::nay_key_convert(&how, text.as_ptr().cast(), text.len(), diag, dst, cap, n)
    })
}

/// Measures, then writes.
fn converted(
    call: impl Fn(*mut sys::nay_diag, *mut u8, usize, *mut usize) -> sys::nay_status,
) -> Result<Vec<u8>> {
    let (mut diag, mut n) = (no_diag(), 0);
    check_diag(call(&mut diag, null_mut(), 0, &mut n), &diag)?;
    let mut key = vec![0; n.max(1)]; // a pointer of its own for no bytes, too
    check_diag(call(&mut diag, key.as_mut_ptr(), key.len(), &mut n), &diag)?;
    key.truncate(n);
    Ok(key)
}
