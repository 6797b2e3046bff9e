//! The crate as a user meets it.
use nay::{Builder, Concurrent, Filter, Hash, Kind, Params, Reader, Status, View};
use std::fs;

fn numbered(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

fn some(kind: Kind) -> Params {
    Params::new(kind, 1000, 0.01)
}

#[test]
fn every_kind() {
    use Kind::*;
    let keys = numbered("key", 1000);
    for kind in [Bloom, Blocked, Counting, Scalable, Window, Cuckoo, Xor, Fuse, Ribbon] {
        let f = Filter::build(&some(kind), &keys).unwrap();
        let again = Filter::decode(&f.encode().unwrap()).unwrap();
        assert_eq!((f.kind(), again.kind(), f.layout()), (kind, kind, "nay"));
        assert!(keys.iter().all(|key| again.may_contain(key)));
        assert!(again.may_contain_many(&keys).unwrap().iter().all(|&maybe| maybe));
        assert_eq!(Kind::parse(kind.name()), Ok(kind));
    }
    assert_eq!(Filter::new(&some(Fuse)).unwrap_err().status, Status::Unsupported);
    assert_eq!(Filter::new(&Params::default()).unwrap_err().status, Status::Invalid);
    assert_eq!(Kind::parse("colour").unwrap_err().status, Status::Invalid);
    assert_eq!(Kind::parse("a\0b").unwrap_err().offset, 1);
}

#[test]
fn batches_are_singles() {
    for n in [0, 1, 63, 64, 65, 511, 512, 513, 1024, 2000] {
        let (mut keys, absent) = (numbered("in", n), numbered("out", n));
        if n > 3 {
            keys[3].clear();
        }
        let (mut one, mut many) = (Filter::new(&some(Kind::Blocked)).unwrap(), Filter::new(&some(Kind::Blocked)).unwrap());
        for key in &keys {
            one.add(key).unwrap();
        }
        many.add_many(&keys).unwrap();
        assert_eq!(one.encode(), many.encode());
        let answers = many.may_contain_many(&absent).unwrap();
        assert!(answers.len() == n && answers.iter().zip(&absent).all(|(&maybe, key)| maybe == one.may_contain(key)));
    }
    let keys = numbered("key", 3000);
    let mut full = Filter::new(&Params::new(Kind::Cuckoo, 10, 0.01)).unwrap();
    let error = full.add_many(&keys).unwrap_err();
    assert!(error.status == Status::Full && error.taken > 0 && error.taken < 3000);
    assert!(keys[..error.taken].iter().all(|key| full.may_contain(key)));
}

#[test]
fn changes() {
    let mut f = Filter::new(&some(Kind::Counting)).unwrap();
    assert!(f.add("a").unwrap() && !f.add("a").unwrap());
    assert_eq!(f.count("a"), Ok(2));
    assert!(f.remove("a").unwrap() && f.may_contain("a") && f.remove("a").unwrap() && !f.may_contain("a"));
    assert!(!f.remove("a").unwrap());
    let bloom = Filter::new(&some(Kind::Bloom)).unwrap();
    assert_eq!(f.merge(&bloom).unwrap_err().status, Status::Mismatch);
    let mut copy = bloom.copy().unwrap();
    copy.add([1u8, 2].as_slice()).unwrap();
    assert!(copy.may_contain(vec![1u8, 2]) && !bloom.may_contain([1u8, 2]));
    copy.clear().unwrap();
    assert!(!copy.may_contain([1u8, 2]));
    let mut hashes = Filter::new(&Params { caller_hashes: true, ..some(Kind::Blocked) }).unwrap();
    assert!(hashes.add_hash(nay::mix(1)).unwrap() && hashes.may_contain_hash(nay::mix(1)));
    assert!(!hashes.may_contain_hash(Hash::from(nay::mix(2))) && hashes.may_contain("what cannot be hashed"));
    assert_eq!(hashes.add("x").unwrap_err().status, Status::Unsupported);
}

#[test]
fn builders() {
    let mut b = Builder::new(&Params::rate(Kind::Fuse, 0.01)).unwrap();
    b.extend(["a", "b"]);
    b.extend(numbered("key", 10));
    assert_eq!(b.nkeys(), 12);
    assert!(b.finish().unwrap().may_contain("key9") && b.nkeys() == 0);
    let mut map = Builder::new(&Params { kind: Kind::Map, check_bits: 16, ..Params::default() }).unwrap();
    map.extend(["no value"]); // fails, and is not forgotten
    assert_eq!(map.finish().unwrap_err().status, Status::Unsupported);
}

#[test]
fn files_and_views() {
    let path = std::env::temp_dir().join(format!("nay-rust-test-{}.nay", std::process::id()));
    let mut f = Filter::build(&some(Kind::Blocked), numbered("key", 100)).unwrap();
    f.set_meta(b"about").unwrap();
    f.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(f.encode().unwrap(), bytes);
    let (opened, mapped) = (Filter::open(&path).unwrap(), unsafe { Filter::mmap(&path, true) }.unwrap());
    let view = View::open(&bytes).unwrap();
    let pure = nay_reader::Filter::open(&bytes).unwrap();
    let ask = |r: &Reader| r.may_contain("key7") && !r.may_contain("no key") && r.meta() == b"about";
    assert!(ask(&f) && ask(&opened) && ask(&mapped) && ask(&view) && mapped.health().is_ok());
    assert!(pure.may_contain("key7") && !pure.may_contain("no key") && pure.meta() == b"about");
    let moved = std::thread::spawn(move || (opened.may_contain("key7"), opened)).join().unwrap();
    assert!(moved.0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| assert!(view.may_contain("key8")));
        }
    });
    let boxed = Box::new(view); // a view may be moved
    assert!(ask(&boxed));
    fs::remove_file(&path).unwrap();
    let error = Filter::open(&path).unwrap_err();
    assert_eq!(error.status, Status::Io);
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
    let error = Filter::decode(b"no filter").unwrap_err();
    assert_eq!((error.status, std::io::Error::from(error).kind()), (Status::Format, std::io::ErrorKind::InvalidData));
}

#[test]
fn secrets_and_descriptions() {
    let mut f = Filter::new(&Params { secret: Some([7; 16]), ..some(Kind::Blocked) }).unwrap();
    f.add("a").unwrap();
    let bytes = f.encode().unwrap();
    let mut locked = Filter::decode(&bytes).unwrap();
    assert!(locked.may_contain("b") && locked.stats().unwrap().locked);
    assert_eq!(locked.unlock(&[8; 16]).unwrap_err().status, Status::Key);
    locked.unlock(&[7; 16]).unwrap();
    assert!(locked.may_contain("a") && !locked.may_contain("b"));
    assert!(View::unlock(&bytes, &[8; 16]).is_err() && !View::unlock(&bytes, &[7; 16]).unwrap().may_contain("b"));
    let hasher = { locked }.hasher().unwrap(); // outlives its filter
    assert!(f.hasher().unwrap() == hasher && f.may_contain_hash(hasher.hash("a").unwrap()));
    assert_eq!(nay_reader::Filter::open(&bytes).unwrap_err(), nay_reader::Error::Unsupported);

    let mut ids = Filter::new(&Params::new(Kind::Bloom, 100, 1e-6)).unwrap();
    ids.set_key_description("int").unwrap();
    ids.add(nay::key::int(7)).unwrap();
    assert!(ids.may_contain(ids.key("007").unwrap()) && ids.key_description() == "int" && !ids.may_contain("7"));
    assert_eq!(ids.key("12x").unwrap_err().offset, 2);
    assert_eq!(ids.set_key_description("Int").unwrap_err().status, Status::Invalid);
}

#[test]
fn many_threads() {
    let filter = Concurrent::new(&some(Kind::Blocked)).unwrap();
    let keys = numbered("key", 1000);
    std::thread::scope(|s| {
        for part in keys.chunks(250) {
            let filter = &filter;
            s.spawn(move || part.iter().for_each(|key| assert!(filter.add(key).is_ok() && filter.may_contain(key))));
        }
    });
    let filter = filter.into_inner();
    assert!(keys.iter().all(|key| filter.may_contain(key)));
    assert!(Concurrent::new(&some(Kind::Cuckoo)).is_err());
}

/// Damaged files: the reader without FFI refuses what libnay refuses, for the same reason, and never panics.
#[test]
fn damage() {
    let mut seed = 1;
    let mut random = |n: usize| {
        seed += 1;
        (nay::mix(seed) % n as u64) as usize
    };
    for (kind, fpr) in [(Kind::Blocked, 0.01), (Kind::Fuse, 0.004), (Kind::Fuse, 1e-5)] {
        let good = Filter::build(&Params::rate(kind, fpr), numbered("key", 60)).unwrap().encode().unwrap();
        for round in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random(4) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
            }
            match round % 4 {
                0 => bytes.truncate(random(good.len() + 1)),
                1 => { // right digests over wrong fields: deeper checks
                    let at = 9 + random(47);
                    bytes[at] = random(256) as u8;
                    let digest = nay_reader::hash(&bytes[..56], 0);
                    bytes[56..64].copy_from_slice(&digest.to_le_bytes());
                }
                _ => {}
            }
            let status = match nay_reader::Filter::open(&bytes) {
                Ok(pure) => {
                    let f = Filter::decode(&bytes).unwrap();
                    assert!(numbered("key", 100).iter().all(|key| f.may_contain(key) == pure.may_contain(key)));
                    continue;
                }
                Err(nay_reader::Error::Unsupported) => continue,
                Err(nay_reader::Error::Format) => Status::Format,
                Err(nay_reader::Error::Version(..)) => Status::Version,
                Err(_) => Status::Corrupt,
            };
            assert_eq!(Filter::decode(&bytes).unwrap_err().status, status, "{kind:?}, round {round}");
        }
    }
}

#[test]
fn ranges() {
    let params = Params { range_length: 100, ..Params::rate(Kind::Range, 0.001) };
    let f = Filter::build(&params, (-500..500).map(|i| nay::key::ordered_int(1000 * i))).unwrap();
    let gaps: Vec<_> = (-500..500).map(|i| nay::key::ordered(1000 * i + 1)..=nay::key::ordered(1000 * i + 100)).collect();
    let many = f.may_contain_ranges(&gaps).unwrap();
    for (i, maybe) in (-500..500).zip(&many) {
        let key = |x: i64| nay::key::ordered_int(1000 * i + x);
        assert!(f.may_contain_range(key(-99), key(0)).unwrap());
        assert_eq!(f.may_contain_range(key(1), key(100)).unwrap(), *maybe);
    }
    assert!(many.iter().filter(|&&maybe| maybe).count() < 20 && f.may_contain_ranges(&[]).unwrap().is_empty());
    let turned = f.may_contain_range(nay::key::ordered_int(1), nay::key::ordered_int(0));
    assert_eq!(turned.unwrap_err().status, Status::Invalid);
    #[allow(clippy::reversed_empty_ranges)]
    let turned = f.may_contain_ranges(&[1..=0]);
    assert_eq!(turned.unwrap_err().status, Status::Invalid);
    for x in [-1e300, -1.5, 0.0, 5e-324, 2.0, 1e300] {
        assert_eq!(nay::key::parse("ordered-float", &x.to_string()).unwrap(), nay::key::ordered_float(x));
    }
    let bloom = Filter::new(&Params::new(Kind::Bloom, 10, 0.01)).unwrap();
    assert_eq!(bloom.may_contain_range("a", "b").unwrap_err().status, Status::Unsupported);
}
