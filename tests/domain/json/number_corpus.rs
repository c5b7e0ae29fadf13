//! Do ten thousand doubles, chosen by the RFC's authors, have the text that their list says?
//!
//! The list is generated: fixed edge cases, a run of the smallest normal doubles, then doubles cut from a
//! chain of SHA-256. Its authors publish the SHA-256 of the lines `bits,text`; whoever matches that has every
//! text right.

use std::fmt::Write;

use callonce::domain::json::Number;
use sha2::{Digest, Sha256};

use super::canonical;

const SIGN: u64 = 1 << 63;
const SMALLEST_NORMAL: u64 = 0x0010_0000_0000_0000;

/// Thirds of powers of ten, which come with both signs.
#[rustfmt::skip]
const THIRDS: [u64; 50] = [
    0x446696695dbd1cc3, 0x443211ede4974a35, 0x43fce97ca0f21056, 0x43c7213080c1a6ac, 0x439280f39a348556,
    0x435d9b1f5d20d557, 0x4327af4c4a80aaac, 0x42f2f2a36ecd5556, 0x42be51057e155558, 0x428840d131aaaaac,
    0x4253670dc1555557, 0x421f0b4935555557, 0x41e8d5d42aaaaaac, 0x41b3de4355555556, 0x417fca0555555556,
    0x41496e6aaaaaaaab, 0x4114585555555555, 0x40e046aaaaaaaaab, 0x40aa0aaaaaaaaaaa, 0x4074d55555555555,
    0x4040aaaaaaaaaaab, 0x400aaaaaaaaaaaab, 0x3fd5555555555555, 0x3fa1111111111111, 0x3f6b4e81b4e81b4f,
    0x3f35d867c3ece2a5, 0x3f0179ec9cbd821e, 0x3ecbf647612f3696, 0x3e965e9f80f29212, 0x3e61e54c672874db,
    0x3e2ca213d840baf8, 0x3df6e80fe033c8c6, 0x3dc2533fe68fd3d2, 0x3d8d51ffd74c861c, 0x3d5774ccac3d3817,
    0x3d22c3d6f030f9ac, 0x3cee0624b3818f79, 0x3cb804ea293472c7, 0x3c833721ba905bd3, 0x3c4ebe9c5db3c61e,
    0x3c18987d17c304e5, 0x3be3ad30dfcf371d, 0x3baf7b816618582f, 0x3b792f9ab81379bf, 0x3b442615600f9499,
    0x3b101e77800c76e1, 0x3ad9ca58cce0be35, 0x3aa4a1e0a3e6fe90, 0x3a708180831f320d, 0x3a3a68cd9e985016,
];

/// Doubles around which printing changes: powers of ten, the ends of the range, 1, 2^53, 1e21, 1e-6.
#[rustfmt::skip]
const EDGES: [u64; 62] = [
    0x4024000000000000, 0x4014000000000000, 0x3fe0000000000000, 0x3fa999999999999a, 0x3f747ae147ae147b,
    0x3f40624dd2f1a9fc, 0x3f0a36e2eb1c432d, 0x3ed4f8b588e368f1, 0x3ea0c6f7a0b5ed8d, 0x3e6ad7f29abcaf48,
    0x3e35798ee2308c3a, 0x3ed539223589fa95, 0x3ed4ff26cd5a7781, 0x3ed4f95a762283ff, 0x3ed4f8c60703520c,
    0x3ed4f8b72f19cd0d, 0x3ed4f8b5b31c0c8d, 0x3ed4f8b58d1c461a, 0x3ed4f8b5894f7f0e, 0x3ed4f8b588ee37f3,
    0x3ed4f8b588e47da4, 0x3ed4f8b588e3849c, 0x3ed4f8b588e36bb5, 0x3ed4f8b588e36937, 0x3ed4f8b588e368f8,
    0x3ed4f8b588e368f1, 0x3ff0000000000000, 0xbff0000000000000, 0xbfeffffffffffffa, 0xbfeffffffffffffb,
    0x3feffffffffffffa, 0x3feffffffffffffb, 0x3feffffffffffffc, 0x3feffffffffffffe, 0xbfefffffffffffff,
    0xbfefffffffffffff, 0x3fefffffffffffff, 0x3fefffffffffffff, 0x3fd3333333333332, 0x3fd3333333333333,
    0x3fd3333333333334, 0x0010000000000000, 0x000ffffffffffffd, 0x000fffffffffffff, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x4340000000000000, 0xc340000000000000, 0x4430000000000000, 0x44b52d02c7e14af5,
    0x44b52d02c7e14af6, 0x44b52d02c7e14af7, 0x444b1ae4d6e2ef4e, 0x444b1ae4d6e2ef4f, 0x444b1ae4d6e2ef50,
    0x3eb0c6f7a0b5ed8c, 0x3eb0c6f7a0b5ed8d, 0x41b3de4355555553, 0x41b3de4355555554, 0x41b3de4355555555,
    0x41b3de4355555556, 0x41b3de4355555557,
];

fn corpus() -> impl Iterator<Item = u64> {
    let fixed = [0, SIGN, 1, SIGN | 1]
        .into_iter()
        .chain(THIRDS.map(|bits| bits | SIGN))
        .chain(THIRDS)
        .chain(EDGES)
        .chain([0xbecbf647612f3696, 0x43143ff3c1cb0959]);
    let serial = (0..2000).map(|n| SMALLEST_NORMAL + n);
    let blocks = std::iter::successors(Some([0_u8; 32]), |block| Some(Sha256::digest(block).into())).skip(1);
    let random = blocks
        .flat_map(|block| block.as_chunks::<8>().0.to_vec())
        .map(u64::from_le_bytes)
        .filter(|&bits| f64::from_bits(bits).is_finite() && f64::from_bits(bits) != 0.0);
    fixed.chain(serial).chain(random)
}

#[test]
fn the_published_corpus_is_reproduced() {
    let published = [
        (1_000, "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687"),
        (10_000, "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"),
    ];
    for (lines, expected) in published {
        let mut text = String::new();
        for bits in corpus().take(lines) {
            let number = Number::from_f64(f64::from_bits(bits)).expect("the corpus is finite");
            writeln!(text, "{bits:x},{}", number.as_str()).expect("writing to a String cannot fail");
        }
        let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, expected, "the first {lines} lines");
    }
}

#[test]
fn each_text_of_the_corpus_is_read_back_as_itself() {
    for bits in corpus().take(10_000) {
        let number = Number::from_f64(f64::from_bits(bits)).expect("the corpus is finite");
        assert_eq!(canonical(number.as_str()), number.as_str());
        assert_eq!(number.as_f64(), f64::from_bits(bits), "{bits:016x}");
    }
}
