//! XXH3, 64 bits, with its default secret: <https://github.com/Cyan4973/xxHash>.

const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];
const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME64: [u64; 5] = [
    0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5,
];

pub(crate) fn u32_at(b: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap()).into()
}
pub(crate) fn u64_at(b: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(b[at..at + 8].try_into().unwrap())
}
fn secret(at: usize) -> u64 {
    u64_at(&SECRET, at)
}

/// The low half of a * b, xor the high one.
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

fn avalanche(h: u64) -> u64 {
    let h = (h ^ h >> 37).wrapping_mul(0x1656_6791_9E37_79F9);
    h ^ h >> 32
}

fn avalanche_xxh64(h: u64) -> u64 {
    let h = (h ^ h >> 33).wrapping_mul(PRIME64[1]);
    let h = (h ^ h >> 29).wrapping_mul(PRIME64[2]);
    h ^ h >> 32
}

fn short(b: &[u8], seed: u64) -> u64 {
    let n = b.len();
    match n {
        0 => avalanche_xxh64(seed ^ secret(56) ^ secret(64)),
        1..=3 => {
            let mixed = u64::from(b[0]) << 16 | u64::from(b[n >> 1]) << 24 | u64::from(b[n - 1]) | (n as u64) << 8;
            avalanche_xxh64(mixed ^ (u32_at(&SECRET, 0) ^ u32_at(&SECRET, 4)).wrapping_add(seed))
        }
        4..=8 => {
            let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
            let mut h = (u32_at(b, n - 4) + (u32_at(b, 0) << 32)) ^ (secret(8) ^ secret(16)).wrapping_sub(seed);
            h ^= h.rotate_left(49) ^ h.rotate_left(24);
            h = h.wrapping_mul(0x9FB2_1C65_1E98_DF25);
            h = (h ^ (h >> 35).wrapping_add(n as u64)).wrapping_mul(0x9FB2_1C65_1E98_DF25);
            h ^ h >> 28
        }
        _ => {
            let low = u64_at(b, 0) ^ (secret(24) ^ secret(32)).wrapping_add(seed);
            let high = u64_at(b, n - 8) ^ (secret(40) ^ secret(48)).wrapping_sub(seed);
            avalanche((n as u64).wrapping_add(low.swap_bytes()).wrapping_add(high).wrapping_add(fold(low, high)))
        }
    }
}

fn middle(b: &[u8], seed: u64) -> u64 {
    let n = b.len();
    let mix = |at: usize, key: usize| {
        fold(u64_at(b, at) ^ secret(key).wrapping_add(seed), u64_at(b, at + 8) ^ secret(key + 8).wrapping_sub(seed))
    };
    let mut acc = (n as u64).wrapping_mul(PRIME64[0]);
    if n <= 128 {
        for i in (0..=(n - 1) / 32).rev() {
            acc = acc.wrapping_add(mix(16 * i, 32 * i)).wrapping_add(mix(n - 16 * (i + 1), 32 * i + 16));
        }
        return avalanche(acc);
    }
    acc = avalanche((0..8).fold(acc, |acc, i| acc.wrapping_add(mix(16 * i, 16 * i))));
    acc = (8..n / 16).fold(acc, |acc, i| acc.wrapping_add(mix(16 * i, 16 * (i - 8) + 3)));
    avalanche(acc.wrapping_add(mix(n - 16, 119)))
}

fn long(b: &[u8], seed: u64) -> u64 {
    let n = b.len();
    let mut own = [0; 192];
    for i in (0..192).step_by(16) {
        own[i..i + 8].copy_from_slice(&secret(i).wrapping_add(seed).to_le_bytes());
        own[i + 8..i + 16].copy_from_slice(&secret(i + 8).wrapping_sub(seed).to_le_bytes());
    }
    let mut acc =
        [PRIME32[2], PRIME64[0], PRIME64[1], PRIME64[2], PRIME64[3], PRIME32[1], PRIME64[4], PRIME32[0]];
    let stripe = |acc: &mut [u64; 8], at: usize, key: usize| {
        for i in 0..8 {
            let data = u64_at(b, at + 8 * i);
            let x = data ^ u64_at(&own, key + 8 * i);
            acc[i ^ 1] = acc[i ^ 1].wrapping_add(data);
            acc[i] = acc[i].wrapping_add((x & 0xFFFF_FFFF).wrapping_mul(x >> 32));
        }
    };
    for number in 0..(n - 1) / 64 {
        stripe(&mut acc, 64 * number, 8 * (number % 16));
        if number % 16 == 15 {
            for (i, a) in acc.iter_mut().enumerate() {
                *a = (*a ^ *a >> 47 ^ u64_at(&own, 128 + 8 * i)).wrapping_mul(PRIME32[0]);
            }
        }
    }
    stripe(&mut acc, n - 64, 121);
    avalanche((0..4).fold((n as u64).wrapping_mul(PRIME64[0]), |sum, i| {
        sum.wrapping_add(fold(acc[2 * i] ^ u64_at(&own, 11 + 16 * i), acc[2 * i + 1] ^ u64_at(&own, 19 + 16 * i)))
    }))
}

/// `XXH3_64bits_withSeed`: what a native file with hash 0 knows of a key.
pub fn hash(key: &[u8], seed: u64) -> u64 {
    match key.len() {
        0..=16 => short(key, seed),
        17..=240 => middle(key, seed),
        _ => long(key, seed),
    }
}
