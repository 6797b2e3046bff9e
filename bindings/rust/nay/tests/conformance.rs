//! The runner of the conformance kit for the crate `nay`: what each operation answers.
mod kit;
use kit::{bitmap, bits, hex, run, text, Case};
use nay::{key, Builder, Filter, Kind, Params, RangeKeys, Result, Status};

fn params(c: &Case) -> Params {
    let forms = [RangeKeys::Be8, RangeKeys::Be4, RangeKeys::Decimal];
    Params {
        kind: Kind::parse(c.get("kind")).unwrap_or(Kind::Auto),
        nkeys: c.number("nkeys"), fpr: c.number("fpr"), bits_per_key: c.number("bits_per_key"),
        nbytes: c.number("nbytes"), nbits: c.number("nbits"), k: c.number("k"), fold: c.number("fold"),
        seed: c.number("seed"), value_bits: c.number("value_bits"), check_bits: c.number("check_bits"),
        range_length: c.number("range_length"), range_delimiter: c.number("range_delimiter"),
        range_keys: forms.into_iter().nth(c.number("range_keys")).unwrap_or_default(),
        secret: c.secret("secret"), store_secret: c.has("store_key"), ..Params::default()
    }
}

fn open(c: &Case, name: &str) -> Result<Filter> {
    let mut f = match c.find("format") {
        Some(layout) => Filter::decode_layout(layout, &c.file(name))?,
        None => Filter::decode(&c.file(name))?,
    };
    c.secret("unlock").map_or(Ok(()), |secret| f.unlock(&secret))?;
    Ok(f)
}

fn key_of(c: &Case) -> Result<Vec<u8>> {
    Ok(match c {
        _ if c.has("int") => key::int(c.number::<i64>("int")).to_vec(),
        _ if c.has("float") => key::float(f64::from_bits(u64::from_str_radix(c.get("float"), 16).unwrap())).to_vec(),
        _ => key::parse(c.get("type"), &text(c.bytes("text")))?,
    })
}

fn add(c: &Case) -> Result<Vec<u8>> {
    let mut f = match c.find("format") {
        Some(layout) => Filter::new_layout(layout, &params(c))?,
        None => Filter::new(&params(c))?,
    };
    c.find("key_type").map_or(Ok(()), |description| f.set_key_description(description))?;
    f.add_many(&c.texts("keys"))?;
    f.encode()
}

fn build(c: &Case) -> Result<Vec<u8>> {
    let (mut b, name) = (Builder::new(&params(c))?, c.find("key_type").unwrap_or("text"));
    for (i, text) in c.texts("keys").iter().enumerate() {
        match c.get("kind") {
            "map" => b.add_value(text, (i as u64).wrapping_mul(c.number("mul")) & u64::MAX >> (64 - c.number::<u32>("value_bits")))?,
            _ => b.add(key::parse(name, text)?)?,
        }
    }
    let mut f = b.finish()?;
    f.set_key_description(name)?;
    f.encode()
}

fn remove(f: &mut Filter, keys: &[String]) -> Result<Vec<u8>> {
    for key in keys {
        if !f.remove(key)? {
            return Ok("ENOENT".into());
        }
    }
    f.encode()
}

/// The answer, or the bytes of a file.
fn answer(c: &Case) -> Result<Vec<u8>> {
    let (op, key) = (c.get("op"), c.bytes("key"));
    if ["hash", "key", "plan", "status", "add", "build"].contains(&op) {
        return Ok(match op {
            "hash" => format!("{:016x}", Filter::new(&Params { nkeys: 1, fpr: 0.5, ..params(c) })?.hasher()?.hash(key)?.lo).into(),
            "key" => hex(&key_of(c)?).into(),
            "plan" => params(c).plan().map(|p| format!("{} {} {} {} {} {}", p.kind.name(), p.k, p.nbits, p.nbytes, p.nbytes_file, bits(p.fpr)))?.into(),
            "status" => Status::from_number(c.number("number")).map(|s| format!("{}: {}", s.name(), s.text())).unwrap().into(),
            "add" => add(c)?,
            _ => build(c)?,
        });
    }
    let mut f = open(c, "a")?;
    let line = match op {
        "open" => "OK".into(),
        "count" => f.count(key)?.to_string(),
        "get" => f.get(key)?.map_or("ENOENT".into(), |value| value.to_string()),
        "ask" => format!("{} {}", f.key_description(), if f.may_contain(f.key(&text(key))?) { "maybe" } else { "nay" }),
        "stats" => f.stats().map(|s| format!("{} {} {} {} {} {}", s.k, s.nkeys, s.nbits, s.nbits_set, bits(s.nkeys_estimated), bits(s.fpr_now)))?,
        "probe" => bitmap(&c.texts("keys").iter().map(|key| f.may_contain(key)).collect::<Vec<_>>()),
        "ranges" => {
            let ends = c.texts("keys").into_iter().zip(c.texts("ends"));
            bitmap(&ends.map(|(lo, hi)| f.may_contain_range(f.key(&lo)?, f.key(&hi)?)).collect::<Result<Vec<_>>>()?)
        }
        "merge" => return f.merge_limit(&*open(c, "b")?, c.find("max_fpr").map_or(1.0, |x| x.parse().unwrap())).and_then(|_| f.encode()),
        "intersect" => return f.intersect(&*open(c, "b")?).and_then(|_| f.encode()),
        "fold" => return f.fold(c.number("factor")).and_then(|_| f.encode()),
        _ => return remove(&mut f, &c.texts("keys")),
    };
    Ok(line.into())
}

#[test]
fn conformance() {
    run("rust", |_| true, |c| answer(c).unwrap_or_else(|error| error.status.name().into()));
}
