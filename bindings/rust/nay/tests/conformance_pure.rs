//! The runner of the conformance kit for `nay-reader`, which has no FFI: the cases for readers.
mod kit;
use kit::{bitmap, run, Case};
use nay_reader::{Error, Filter};

fn answer(c: &Case) -> String {
    if c.get("op") == "hash" {
        return format!("{:016x}", nay_reader::hash(&c.bytes("key"), c.number("seed")));
    }
    match Filter::open(&c.file("a")) {
        Ok(_) if c.get("op") == "open" => "OK".into(),
        Ok(f) => bitmap(&c.texts("keys").iter().map(|key| f.may_contain(key)).collect::<Vec<_>>()),
        Err(Error::Format) => "EFORMAT".into(),
        Err(Error::Corrupt(..)) => "ECORRUPT".into(),
        Err(Error::Version(..)) => "EVERSION".into(),
        Err(Error::Unsupported) => "ENOTSUP".into(),
    }
}

#[test]
fn conformance_pure() {
    run("rust_pure", |c| c.has("reader"), |c| answer(c).into_bytes());
}
