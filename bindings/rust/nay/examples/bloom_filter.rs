//! The `BloomFilter` that Rust tutorials write by hand, with the same methods, in 40 lines: it takes whatever is `Hash`. What
//! the hand-made one lacks: the hash is the same in every version of Rust, the filter can be saved, and the file is checked.
use nay::{Error, Filter, Kind, Params};
use std::hash::{Hash, Hasher};

pub struct BloomFilter(Filter);

/// Collects the bytes that an item hashes.
struct Bytes(Vec<u8>);
impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    fn finish(&self) -> u64 {
        0
    }
}

fn key<T: Hash + ?Sized>(item: &T) -> Vec<u8> {
    let mut bytes = Bytes(Vec::new());
    item.hash(&mut bytes);
    bytes.0
}

impl BloomFilter {
    pub fn from_false_positive_rate(n: u64, p: f64) -> Result<BloomFilter, Error> {
        Filter::new(&Params::new(Kind::Bloom, n, p)).map(BloomFilter)
    }
    pub fn insert<T: Hash + ?Sized>(&mut self, item: &T) -> Result<bool, Error> {
        self.0.add(key(item))
    }
    pub fn contains<T: Hash + ?Sized>(&self, item: &T) -> bool {
        self.0.may_contain(key(item))
    }
    pub fn theoretical_false_positive_rate(&self) -> f64 {
        self.0.stats().map_or(1.0, |s| s.fpr_planned)
    }
    pub fn capacity_utilization(&self) -> f64 {
        self.0.stats().map_or(1.0, |s| s.nkeys_estimated / s.nkeys as f64)
    }
}

fn main() -> Result<(), Error> {
    let mut seen = BloomFilter::from_false_positive_rate(1000, 0.01)?;
    for face in 0..500 {
        seen.insert(&("face", face))?;
    }
    assert!((0..500).all(|face| seen.contains(&("face", face))));
    let strangers = (500..10_500).filter(|&face| seen.contains(&("face", face))).count();
    println!("{:.1}% full, {strangers} of 10000 strangers look familiar", 100.0 * seen.capacity_utilization());
    println!("{:.2}% of them will when it is full", 100.0 * seen.theoretical_false_positive_rate());
    Ok(())
}
