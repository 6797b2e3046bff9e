//! The runner of the conformance kit, twice: for the crate `nay`, and, of the cases for readers, for `nay-reader`. Prints TAP
//! into the file NAY_TAP, else to standard output.
use nay::{key, Builder, Filter, Kind, Params, RangeKeys, Result, Status};
use std::{collections::HashMap, env, fs, path::PathBuf};

type Case = HashMap<String, String>;

fn kit() -> PathBuf {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/conformance");
    env::var_os("NAY_CONFORMANCE").map_or(tree.into(), PathBuf::from)
}
fn get<'a>(c: &'a Case, name: &str) -> &'a str {
    c.get(name).map_or("", String::as_str)
}
fn number<T: std::str::FromStr + Default>(c: &Case, name: &str) -> T {
    get(c, name).parse().unwrap_or_default()
}
fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
fn secret(hex: &str) -> [u8; 16] {
    unhex(hex).try_into().unwrap()
}
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn params(c: &Case) -> Params {
    Params {
        kind: Kind::parse(get(c, "kind")).unwrap_or(Kind::Auto),
        nkeys: number(c, "nkeys"), fpr: number(c, "fpr"), bits_per_key: number(c, "bits_per_key"),
        nbytes: number(c, "nbytes"), nbits: number(c, "nbits"), k: number(c, "k"), fold: number(c, "fold"),
        seed: number(c, "seed"), value_bits: number(c, "value_bits"), check_bits: number(c, "check_bits"),
        range_length: number(c, "range_length"),
        range_keys: [RangeKeys::Be8, RangeKeys::Be4, RangeKeys::Decimal].into_iter().nth(number(c, "range_keys"))
            .unwrap_or_default(),
        range_delimiter: number(c, "range_delimiter"),
        secret: c.get("secret").map(|s| secret(s)), store_secret: c.contains_key("store_key"), ..Params::default()
    }
}

fn keys(c: &Case) -> Vec<String> {
    texts(get(c, "keys"))
}
fn texts(spec: &str) -> Vec<String> {
    let spec: Vec<&str> = spec.split(':').collect();
    let first: u64 = spec[1].parse().unwrap();
    (first..first + spec[2].parse::<u64>().unwrap()).map(|i| format!("{}{i}", spec[0])).collect()
}

fn file(c: &Case, name: &str) -> Vec<u8> {
    let mut bytes = fs::read(kit().join("files").join(get(c, name))).unwrap();
    if c.contains_key("flip") {
        let bit: usize = number(c, "flip");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    if c.contains_key("cut") {
        bytes.truncate(number(c, "cut"));
    }
    if c.contains_key("append") {
        bytes.push(0);
    }
    bytes
}

fn open(c: &Case, name: &str) -> Result<Filter> {
    let mut f = match c.get("format") {
        Some(layout) => Filter::decode_layout(layout, &file(c, name))?,
        None => Filter::decode(&file(c, name))?,
    };
    if let Some(s) = c.get("unlock") {
        f.unlock(&secret(s))?;
    }
    Ok(f)
}

fn bitmap(keys: &[String], may_contain: impl Fn(&str) -> bool) -> String {
    let mut bits = vec![0; (keys.len() + 7) / 8];
    for (i, key) in keys.iter().enumerate() {
        bits[i / 8] |= u8::from(may_contain(key)) << (i % 8);
    }
    hex(&bits)
}

/// The answer, or the bytes of a file.
fn answer(c: &Case) -> Result<Vec<u8>> {
    let key = unhex(get(c, "key"));
    let line = match get(c, "op") {
        "hash" => {
            let f = Filter::new(&Params { nkeys: 1, fpr: 0.5, ..params(c) })?;
            format!("{:016x}", f.hasher()?.hash(key)?.lo)
        }
        "key" if c.contains_key("int") => hex(&key::int(number::<i64>(c, "int"))),
        "key" if c.contains_key("float") => {
            hex(&key::float(f64::from_bits(u64::from_str_radix(get(c, "float"), 16).unwrap())))
        }
        "key" => hex(&key::parse(get(c, "type"), &text(unhex(get(c, "text"))))?),
        "plan" => {
            let p = params(c).plan()?;
            let fpr = p.fpr.to_bits();
            format!("{} {} {} {} {} {fpr:016x}", p.kind.name(), p.k, p.nbits, p.nbytes, p.nbytes_file)
        }
        "status" => {
            let status = Status::from_number(number(c, "number")).unwrap();
            format!("{}: {}", status.name(), status.text())
        }
        "add" => {
            let mut f = match c.get("format") {
                Some(layout) => Filter::new_layout(layout, &params(c))?,
                None => Filter::new(&params(c))?,
            };
            if let Some(description) = c.get("key_type") {
                f.set_key_description(description)?;
            }
            f.add_many(&keys(c))?;
            return f.encode();
        }
        "build" if get(c, "kind") == "map" => {
            let mut b = Builder::new(&params(c))?;
            let mask = u64::MAX >> (64 - number::<u32>(c, "value_bits"));
            for (i, key) in keys(c).iter().enumerate() {
                b.add_value(key, (i as u64).wrapping_mul(number(c, "mul")) & mask)?;
            }
            return b.finish()?.encode();
        }
        "build" => {
            let name = c.get("key_type").map_or("text", String::as_str);
            let keys = keys(c).iter().map(|text| key::parse(name, text)).collect::<Result<Vec<_>>>()?;
            let mut f = Filter::build(&params(c), keys)?;
            f.set_key_description(name)?;
            return f.encode();
        }
        op => {
            let mut f = open(c, "a")?;
            match op {
                "open" => "OK".into(),
                "count" => f.count(key)?.to_string(),
                "get" => f.get(key)?.map_or("ENOENT".into(), |value| value.to_string()),
                "ask" => {
                    let maybe = f.may_contain(f.key(&text(key))?);
                    format!("{} {}", f.key_description(), if maybe { "maybe" } else { "nay" })
                }
                "stats" => {
                    let s = f.stats()?;
                    let (n, fpr) = (s.nkeys_estimated.to_bits(), s.fpr_now.to_bits());
                    format!("{} {} {} {} {n:016x} {fpr:016x}", s.k, s.nkeys, s.nbits, s.nbits_set)
                }
                "ranges" => {
                    let (mut map, lo) = (vec![0; (keys(c).len() + 7) / 8], keys(c));
                    for (i, (lo, hi)) in lo.iter().zip(texts(get(c, "ends"))).enumerate() {
                        map[i / 8] |= u8::from(f.may_contain_range(f.key(lo)?, f.key(&hi)?)?) << (i % 8);
                    }
                    hex(&map)
                }
                "probe" => bitmap(&keys(c), |key| f.may_contain(key)),
                _ => {
                    match op {
                        "merge" => f.merge_limit(&*open(c, "b")?, c.get("max_fpr").map_or(1.0, |x| x.parse().unwrap()))?,
                        "intersect" => f.intersect(&*open(c, "b")?)?,
                        "fold" => f.fold(number(c, "factor"))?,
                        _ => {
                            for key in keys(c) {
                                if !f.remove(key)? {
                                    return Ok("ENOENT".into());
                                }
                            }
                        }
                    }
                    return f.encode();
                }
            }
        }
    };
    Ok(line.into_bytes())
}

/// The answer of the reader without FFI.
fn pure(c: &Case) -> Vec<u8> {
    if get(c, "op") == "hash" {
        return format!("{:016x}", nay_reader::hash(&unhex(get(c, "key")), number(c, "seed"))).into_bytes();
    }
    let data = file(c, "a");
    let line = match nay_reader::Filter::open(&data) {
        Ok(_) if get(c, "op") == "open" => "OK".into(),
        Ok(f) => bitmap(&keys(c), |key| f.may_contain(key)),
        Err(nay_reader::Error::Format) => "EFORMAT".into(),
        Err(nay_reader::Error::Corrupt(..)) => "ECORRUPT".into(),
        Err(nay_reader::Error::Version(..)) => "EVERSION".into(),
        Err(nay_reader::Error::Unsupported) => "ENOTSUP".into(),
    };
    line.into_bytes()
}

fn run(name: &str, takes: impl Fn(&Case) -> bool, answer: impl Fn(&Case) -> Vec<u8>) {
    let (mut tap, mut n, mut failed) = (String::new(), 0, 0);
    for line in fs::read_to_string(kit().join("vectors.jsonl")).unwrap().lines() {
        let parts: Vec<&str> = line.split('"').collect();
        let c: Case = parts[1..].chunks_exact(4).map(|p| (p[0].into(), p[2].into())).collect();
        n += 1;
        let case = get(&c, "name");
        if !takes(&c) {
            tap += &format!("ok {n} - {case} # SKIP not for readers\n");
            continue;
        }
        let want = match get(&c, "want").strip_prefix('@') {
            Some(name) => fs::read(kit().join("files").join(name)).unwrap(),
            None => get(&c, "want").into(),
        };
        let same = answer(&c) == want;
        failed += u32::from(!same);
        tap += &format!("{}ok {n} - {case}\n", if same { "" } else { "not " });
    }
    tap += &format!("1..{n}\n");
    match env::var_os("NAY_TAP") {
        Some(directory) => fs::write(PathBuf::from(directory).join(name), &tap).unwrap(),
        None => print!("{tap}"),
    }
    assert!(failed == 0 && n > 1000, "{failed} of {n} cases fail");
}

#[test]
fn conformance() {
    run("rust", |_| true, |c| answer(c).unwrap_or_else(|error| error.status.name().into()));
}

#[test]
fn conformance_pure() {
    run("rust_pure", |c| c.contains_key("reader"), pure);
}
