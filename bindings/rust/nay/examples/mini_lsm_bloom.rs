//! The filter of a toy SSTable in the shape of mini-lsm's module `table::bloom`: `Bloom` has the methods of the course, so that
//! a mini-lsm can swap the module. The bytes are mini-lsm's own (doc/formats/mini-lsm.md), checksum included; `main` compares
//! with a filter that mini-lsm built.
use nay::{Builder, Error, Filter, Hash, Params};

const LAYOUT: &str = "mini-lsm";

/// Implements a bloom filter
pub struct Bloom(Filter);

impl Bloom {
    /// Decode a bloom filter
    pub fn decode(buf: &[u8]) -> Result<Self, Error> {
        Filter::decode_layout(LAYOUT, buf).map(Bloom)
    }

    /// Encode a bloom filter
    pub fn encode(&self, buf: &mut Vec<u8>) -> Result<(), Error> {
        buf.extend(self.0.encode()?);
        Ok(())
    }

    /// Get bloom filter bits per key from entries count and FPR
    pub fn bloom_bits_per_key(entries: usize, false_positive_rate: f64) -> usize {
        let size = -(entries as f64) * false_positive_rate.ln() / std::f64::consts::LN_2.powi(2);
        (size / entries as f64).ceil() as usize
    }

    /// Build bloom filter from key hashes
    pub fn build_from_key_hashes(keys: &[u32], bits_per_key: usize) -> Result<Self, Error> {
        let params = Params { nkeys: keys.len() as u64, bits_per_key: bits_per_key as f64, ..Params::default() };
        let mut builder = Builder::new_layout(LAYOUT, &params)?;
        for &key in keys {
            builder.add_hash(u64::from(key))?;
        }
        builder.finish().map(Bloom)
    }

    /// Check if a bloom filter may contain some data
    pub fn may_contain(&self, h: u32) -> bool {
        self.0.may_contain_hash(u64::from(h))
    }
}

/// A table of the course: sorted keys, and the filter of their hashes, which a lookup asks first.
struct SsTable {
    keys: Vec<String>,
    bloom: Bloom,
    fingerprint: nay::Hasher,
}

impl SsTable {
    fn build(mut keys: Vec<String>) -> Result<SsTable, Error> {
        keys.sort();
        let fingerprint = Filter::new_layout(LAYOUT, &Params { nkeys: 1, bits_per_key: 10.0, ..Params::default() })?.hasher()?;
        let hashes = keys.iter().map(|key| Ok(fingerprint.hash(key)?.lo as u32)).collect::<Result<Vec<_>, Error>>()?;
        let bloom = Bloom::build_from_key_hashes(&hashes, Bloom::bloom_bits_per_key(hashes.len(), 0.01))?;
        Ok(SsTable { keys, bloom, fingerprint })
    }

    /// Whether the key is here, and whether blocks had to be read to know.
    fn get(&self, key: &str) -> Result<(bool, bool), Error> {
        let Hash { lo, .. } = self.fingerprint.hash(key)?;
        if !self.bloom.may_contain(lo as u32) {
            return Ok((false, false));
        }
        Ok((self.keys.binary_search_by(|k| k.as_str().cmp(key)).is_ok(), true))
    }
}

fn main() -> Result<(), Error> {
    let table = SsTable::build(vec!["foo".into(), "bar".into()])?;
    let mut bytes = Vec::new();
    table.bloom.encode(&mut bytes)?;
    // doc/formats/mini-lsm.md: the filter that mini-lsm makes of foo and bar
    assert_eq!(bytes, [0x0a, 0x08, 0x20, 0x18, 0x48, 0x08, 0x09, 0, 0x06, 0xcb, 0x7f, 0x99, 0x32]);
    assert!(Bloom::decode(&bytes)?.may_contain(0x6b50_25e3)); // fingerprint32(foo)
    bytes[3] ^= 1;
    println!("damaged: {}", Bloom::decode(&bytes).err().map_or(String::new(), |error| error.to_string()));

    let table = SsTable::build((0..1000).map(|i| format!("key{i}")).collect())?;
    assert!((0..1000).all(|i| table.get(&format!("key{i}")) == Ok((true, true))));
    let reads = (0..10_000).filter(|i| table.get(&format!("none{i}")).map_or(true, |(_, read)| read)).count();
    println!("10000 absent keys, {reads} reads");
    Ok(())
}
