//! What a call costs: `cargo run --release --example cost`. 1,000 keys, a blocked filter in the cache; least of ten runs, and the
//! same calls of C's functions in turn.
use nay::{Filter, Kind, Params};
use std::time::Instant;

fn ns_per_call(least: &mut f64, keys: &[String], mut call: impl FnMut(&str) -> bool) {
    const ROUNDS: usize = 5000;
    let start = Instant::now();
    let mut sum = 0usize;
    for _ in 0..ROUNDS {
        for key in keys {
            sum += usize::from(call(key));
        }
    }
    assert!(sum <= ROUNDS * keys.len());
    *least = least.min(start.elapsed().as_secs_f64() * 1e9 / (ROUNDS * keys.len()) as f64);
}

fn main() -> Result<(), nay::Error> {
    let keys: Vec<String> = (0..1000).map(|i| format!("key{i}")).collect();
    let mut f = Filter::build(&Params::new(Kind::Blocked, 1000, 0.01), &keys)?;
    let bytes = f.encode()?;
    let pure = nay_reader::Filter::open(&bytes).expect("a file of this library");
    let mut c_filter = std::ptr::null_mut();
    let status = unsafe {
        nay_sys::nay_filter_decode(bytes.as_ptr().cast(), bytes.len(), std::ptr::null(), std::ptr::null_mut(), &mut c_filter)
    };
    assert_eq!(status, 0);
    let mut least = [f64::MAX; 6];
    for _ in 0..10 {
        ns_per_call(&mut least[0], &keys, |key| unsafe {
            nay_sys::nay_filter_may_contain(c_filter, key.as_ptr().cast(), key.len())
        });
        ns_per_call(&mut least[1], &keys, |key| f.may_contain(key));
        ns_per_call(&mut least[2], &keys, |key| unsafe {
            let mut is_new = false;
            nay_sys::nay_filter_add(c_filter, key.as_ptr().cast(), key.len(), &mut is_new) == 0 && is_new
        });
        ns_per_call(&mut least[3], &keys, |key| f.add(key).unwrap_or(true));
        ns_per_call(&mut least[4], &keys, |key| pure.may_contain(key));
        let start = Instant::now();
        for _ in 0..5000 {
            assert!(f.may_contain_many(&keys)?[0]);
        }
        least[5] = least[5].min(start.elapsed().as_secs_f64() * 1e9 / 5e6);
    }
    unsafe { nay_sys::nay_filter_free(c_filter) };
    println!("may_contain: C {:.2} ns, Rust {:.2} ns, without FFI {:.2} ns, in a batch {:.2} ns",
             least[0], least[1], least[4], least[5]);
    println!("add: C {:.2} ns, Rust {:.2} ns", least[2], least[3]);
    Ok(())
}
