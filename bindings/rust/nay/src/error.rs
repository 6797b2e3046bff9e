use nay_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

/// What every call returns that can fail.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// The kind of an error; `doc/status.md` says what to do about each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Status { $($(#[$doc])* $name,)* }

        impl Status {
            /// The status of this number.
            pub fn from_number(number: i32) -> Option<Status> {
                match number { $($number => Some(Status::$name),)* _ => None }
            }
            /// The number in C.
            pub fn number(self) -> i32 {
                match self { $(Status::$name => $number,)* }
            }
        }
    };
}
statuses! {
    /// Success: never in an error.
    Ok = 0,
    /// No memory.
    NoMemory = -1,
    /// An argument is out of its range.
    Invalid = -2,
    /// Not supported.
    Unsupported = -3,
    /// The filters differ in family, shape, hash, seed or key description.
    Mismatch = -4,
    /// The bytes are damaged.
    Corrupt = -5,
    /// The bytes need a newer library.
    Version = -6,
    /// The bytes are not of this format.
    Format = -7,
    /// The secret key is missing or is another.
    Key = -8,
    /// The output buffer is too small.
    Buffer = -9,
    /// The operating system refused a file operation.
    Io = -10,
    /// The result would exceed a limit on rate or size.
    Full = -11,
    /// The key is not in the filter.
    NotFound = -12,
    /// A callback ended the call.
    Canceled = -13,
    /// There are no more.
    End = -14,
    /// A status that this version of the crate does not know.
    Unknown = -999,
}

impl Status {
    /// "EINVAL" and so on, for logs.
    pub fn name(self) -> &'static str {
        let name = unsafe { sys::nay_status_name(self.number()) };
        if name.is_null() { "unknown" } else { text(name).trim_start_matches("NAY_") }
    }

    /// One line for people.
    pub fn text(self) -> &'static str {
        text(unsafe { sys::nay_status_text(self.number()) })
    }
}

/// Why a call failed; what it worked on is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The kind.
    pub status: Status,
    /// What exactly was wrong; may be empty.
    pub what: &'static str,
    /// Of the input: the byte to blame; 0 when none is.
    pub offset: u64,
    /// `errno`, when status is [`Status::Io`].
    pub os_error: i32,
    /// Of a batch of adds: how many of its keys were added.
    pub taken: usize,
}

impl Error {
    pub(crate) fn new(status: Status, what: &'static str, offset: u64) -> Error {
        Error { status, what, offset, os_error: 0, taken: 0 }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status.text())?;
        if !self.what.is_empty() {
            write!(f, ": {}", self.what)?;
        }
        if self.offset != 0 {
            write!(f, " (at byte {})", self.offset)?;
        }
        if self.os_error != 0 {
            write!(f, ": {}", std::io::Error::from_raw_os_error(self.os_error))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        match error.status {
            Status::Io if error.os_error != 0 => std::io::Error::from_raw_os_error(error.os_error),
            Status::Corrupt | Status::Format | Status::Version => {
                std::io::Error::new(std::io::ErrorKind::InvalidData, error)
            }
            _ => std::io::Error::new(std::io::ErrorKind::Other, error),
        }
    }
}

/// Static text of the library.
pub(crate) fn text(c: *const c_char) -> &'static str {
    if c.is_null() { "" } else { unsafe { CStr::from_ptr(c) }.to_str().unwrap_or("") }
}

pub(crate) fn no_diag() -> sys::nay_diag {
    sys::nay_diag { what: std::ptr::null(), offset: 0, os_error: 0, reserved32: 0, reserved: [0; 4] }
}

#[inline]
pub(crate) fn check(status: sys::nay_status) -> Result<()> {
    if status == sys::NAY_OK { Ok(()) } else { Err(failed(status)) }
}

#[cold]
fn failed(status: sys::nay_status) -> Error {
    Error::new(Status::from_number(status).unwrap_or(Status::Unknown), "", 0)
}

#[inline]
pub(crate) fn check_diag(status: sys::nay_status, diag: &sys::nay_diag) -> Result<()> {
    check(status).map_err(|error| Error {
        what: text(diag.what),
        offset: diag.offset,
        os_error: diag.os_error,
        ..error
    })
}
