//! The lab in Rust: foo and bar in its layout, false positives, a union. Prints what the program of each other language prints.
use nay::{Error, Filter, Params};

fn lab(nkeys: u64) -> Result<Filter, Error> {
    Filter::new_layout("lab", &Params { nkeys, bits_per_key: 10.0, ..Params::default() })
}

fn keys(prefix: &str, range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|i| format!("{prefix}{i}")).collect()
}

fn main() -> Result<(), Error> {
    let (mut two, mut a, mut b) = (lab(2)?, lab(600)?, lab(600)?);
    two.add_many(&["foo", "bar"])?;
    println!("{}", two.encode()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    a.add_many(&keys("key", 0..400))?;
    b.add_many(&keys("key", 200..600))?;
    a.merge(&b)?;
    let maybes = |keys: Vec<String>| keys.iter().filter(|key| a.may_contain(key)).count();
    println!("union: {} of 600 members, {} of 4000 others", maybes(keys("key", 0..600)), maybes(keys("absent", 0..4000)));
    if let Err(error) = a.remove("key1") {
        println!("remove: {error}");
    }
    Ok(())
}
