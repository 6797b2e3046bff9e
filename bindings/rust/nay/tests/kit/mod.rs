//! The cases of tests/conformance: fields, keys, files, and TAP. The runners are conformance.rs and conformance_pure.rs.
#![allow(dead_code)] // each of them uses a part
use std::{collections::HashMap, env, fs, path::PathBuf, str::FromStr};

fn kit() -> PathBuf {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/conformance");
    env::var_os("NAY_CONFORMANCE").map_or(tree.into(), PathBuf::from)
}
pub fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}
pub fn bits(x: f64) -> String {
    format!("{:016x}", x.to_bits())
}
/// Answer i is bit i.
pub fn bitmap(answers: &[bool]) -> String {
    hex(&answers.chunks(8).map(|eight| eight.iter().rev().fold(0, |byte, &b| byte << 1 | u8::from(b))).collect::<Vec<_>>())
}

/// A case: names and values. A line is split at its quotes.
pub struct Case(HashMap<String, String>);

impl Case {
    fn of(line: &str) -> Case {
        let parts: Vec<&str> = line.split('"').collect();
        Case(parts[1..].chunks_exact(4).map(|p| (p[0].into(), p[2].into())).collect())
    }
    pub fn find(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
    pub fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or("")
    }
    pub fn number<T: FromStr + Default>(&self, name: &str) -> T {
        self.get(name).parse().unwrap_or_default()
    }
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        unhex(self.get(name))
    }
    pub fn secret(&self, name: &str) -> Option<[u8; 16]> {
        self.find(name).map(|s| unhex(s).try_into().unwrap())
    }
    /// PREFIX:FIRST:COUNT
    pub fn texts(&self, name: &str) -> Vec<String> {
        let spec: Vec<&str> = self.get(name).split(':').collect();
        let first: u64 = spec[1].parse().unwrap();
        (first..first + spec[2].parse::<u64>().unwrap()).map(|i| format!("{}{i}", spec[0])).collect()
    }
    /// A file, damaged as the case says.
    pub fn file(&self, name: &str) -> Vec<u8> {
        let mut bytes = read(self.get(name));
        if self.has("flip") {
            let bit: usize = self.number("flip");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if self.has("cut") {
            bytes.truncate(self.number("cut"));
        }
        if self.has("append") {
            bytes.push(0);
        }
        bytes
    }
}

fn read(name: &str) -> Vec<u8> {
    fs::read(kit().join("files").join(name)).unwrap()
}

/// Prints TAP into the file `name` of the directory NAY_TAP, else to standard output.
pub fn run(name: &str, takes: impl Fn(&Case) -> bool, answer: impl Fn(&Case) -> Vec<u8>) {
    let (mut tap, mut n, mut failed) = (String::new(), 0, 0);
    for c in fs::read_to_string(kit().join("vectors.jsonl")).unwrap().lines().map(Case::of) {
        n += 1;
        let case = c.get("name");
        if !takes(&c) {
            tap += &format!("ok {n} - {case} # SKIP not for readers\n");
            continue;
        }
        let want = c.get("want").strip_prefix('@').map_or_else(|| c.get("want").into(), read);
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
