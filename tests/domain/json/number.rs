//! Which literals are one number, how is it written, and which integers may a tool trust?

use callonce::domain::json::{Number, parse};

use super::{canonical, refused};

fn number(literal: &str) -> Number {
    parse(literal.as_bytes())
        .ok()
        .and_then(|value| value.as_number().cloned())
        .unwrap_or_else(|| panic!("{literal}"))
}

/// The bits of a double, and its text, from the RFC's own table.
const TABLE: &[(u64, &str)] = &[
    (0x0000000000000000, "0"),
    (0x8000000000000000, "0"),
    (0x0000000000000001, "5e-324"),
    (0x8000000000000001, "-5e-324"),
    (0x7fefffffffffffff, "1.7976931348623157e+308"),
    (0xffefffffffffffff, "-1.7976931348623157e+308"),
    (0x4340000000000000, "9007199254740992"),
    (0xc340000000000000, "-9007199254740992"),
    (0x4430000000000000, "295147905179352830000"),
    (0x44b52d02c7e14af5, "9.999999999999997e+22"),
    (0x44b52d02c7e14af6, "1e+23"),
    (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
    (0x444b1ae4d6e2ef4e, "999999999999999700000"),
    (0x444b1ae4d6e2ef4f, "999999999999999900000"),
    (0x444b1ae4d6e2ef50, "1e+21"),
    (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
    (0x3eb0c6f7a0b5ed8d, "0.000001"),
    (0x41b3de4355555553, "333333333.3333332"),
    (0x41b3de4355555554, "333333333.33333325"),
    (0x41b3de4355555555, "333333333.3333333"),
    (0x41b3de4355555556, "333333333.3333334"),
    (0x41b3de4355555557, "333333333.33333343"),
    (0xbecbf647612f3696, "-0.0000033333333333333333"),
    (0x43143ff3c1cb0959, "1424953923781206.2"),
];

#[test]
fn the_published_doubles_have_their_published_text() {
    for &(bits, expected) in TABLE {
        let double = f64::from_bits(bits);
        assert_eq!(Number::from_f64(double).as_ref().map(Number::as_str), Some(expected), "{bits:016x}");
        assert_eq!(canonical(&format!("{double:e}")), expected, "{bits:016x}");
        assert_eq!(canonical(expected), expected, "{bits:016x}");
        assert_eq!(number(expected).as_f64(), double, "{bits:016x}");
    }
}

#[test]
fn what_is_no_number_has_no_text() {
    for bits in [0x7fffffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000] {
        assert_eq!(Number::from_f64(f64::from_bits(bits)), None, "{bits:016x}");
    }
}

#[test]
fn spellings_of_one_number_are_one() {
    let spellings: &[(&str, &[&str])] = &[
        ("1", &["1", "1.0", "1e0", "1E0", "10e-1", "0.1e1", "0.1E+1", "1.000", "1e-0", "1e00"]),
        ("0", &["0", "-0", "0.0", "-0.0", "0e10", "-0e-10", "1e-400", "-1e-400", "0e99999999999999999999"]),
        ("1000", &["1000", "1e3", "1.0e3", "1000.000"]),
        ("1e+30", &["1e30", "1000000000000000000000000000000.0"]),
        ("0.000001", &["1e-6", "0.000001", "0.0000010"]),
        ("1e-7", &["1e-7", "0.0000001"]),
        ("9007199254740991", &["9007199254740991", "9007199254740991.0", "9.007199254740991e15"]),
        ("-9007199254740991", &["-9007199254740991", "-9007199254740991.0"]),
        ("100000000000000000000", &["1e20", "100000000000000000000", "100000000000000000000.0"]),
        ("1e+21", &["1e21", "1000000000000000000000.0"]),
        ("0.1", &["0.1", "0.1000000000000000055511151231257827", "1e-1"]),
        ("1.577777777777", &["1.577777777777"]),
        ("1.5777777777770001", &["1.5777777777770001"]),
    ];
    for (expected, literals) in spellings {
        for literal in *literals {
            assert_eq!(canonical(literal), *expected, "{literal}");
            assert_eq!(number(literal), number(expected), "{literal}");
        }
    }
}

#[test]
fn rounding_is_to_the_nearest_double_and_to_even_between_two() {
    // Literals that careless readers get one unit wrong: halfway cases, and ones that 64-bit arithmetic
    // cannot decide.
    let hard = [
        ("9007199254740993.0", "9007199254740992"),
        ("9007199254740995.0", "9007199254740996"),
        ("9007199254740993.00000000000000000000000000000000001", "9007199254740994"),
        ("1.00000000000000011102230246251565404236316680908203125", "1"),
        ("1.00000000000000011102230246251565404236316680908203126", "1.0000000000000002"),
        ("0.500000000000000166533453693773481063544750213623046875", "0.5000000000000002"),
        ("2.2250738585072011e-308", "2.225073858507201e-308"),
        ("2.2250738585072012e-308", "2.2250738585072014e-308"),
        ("6.9294956446009195e15", "6929495644600920"),
        ("2.4703282292062327e-324", "0"),
        ("2.4703282292062328e-324", "5e-324"),
        ("1.7976931348623158e308", "1.7976931348623157e+308"),
        ("8.41e21", "8.41e+21"),
        ("5e-324", "5e-324"),
        ("123456789012345680.0", "123456789012345680"),
    ];
    for (literal, expected) in hard {
        assert_eq!(canonical(literal), expected, "{literal}");
    }
}

#[test]
fn integer_literals_keep_their_digits() {
    let pairs = [
        ("9007199254740992", "9007199254740993"),
        ("18446744073709551615", "18446744073709551616"),
        ("1234567890123456789", "1234567890123456788"),
        ("-9007199254740992", "-9007199254740993"),
        ("10000000000000000000000", "1e22"),
    ];
    for (one, other) in pairs {
        assert_eq!(canonical(one), one);
        assert_ne!(canonical(one), canonical(other));
    }
    let beyond_doubles = format!("-1{}", "0".repeat(400));
    assert_eq!(canonical(&beyond_doubles), beyond_doubles);
    assert_eq!(number(&beyond_doubles).as_f64(), f64::NEG_INFINITY);
    assert_eq!(number(&beyond_doubles).as_i64(), None);
}

#[test]
fn an_amount_is_an_integer_only_if_it_was_written_exactly() {
    let exact = [
        ("1", 1),
        ("1e3", 1000),
        ("1000.0", 1000),
        ("-0.0", 0),
        ("100000000000000000", 100_000_000_000_000_000),
        ("9007199254740991", 9_007_199_254_740_991),
        ("9007199254740991.0", 9_007_199_254_740_991),
        ("9.007199254740991e15", 9_007_199_254_740_991),
        ("9007199254740992", 9_007_199_254_740_992),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ];
    for (literal, expected) in exact {
        assert_eq!(number(literal).as_i64(), Some(expected), "{literal}");
        assert_eq!(Number::from(expected), number(literal), "{literal}");
    }
    let not_exact = [
        "1.5",
        "0.1",
        "1e-7",
        "9007199254740992.0",
        "9007199254740993.0",
        "-9007199254740992e0",
        "1e17",
        "1e20",
        "1e21",
        "1e300",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
    ];
    for literal in not_exact {
        assert_eq!(number(literal).as_i64(), None, "{literal}");
    }
}

#[test]
fn the_canonical_form_no_longer_tells_how_a_large_integer_was_written() {
    let written = number("1e17");
    assert_eq!(written.as_i64(), None);
    assert_eq!(written, number("100000000000000000"));
    assert_eq!(number(written.as_str()).as_i64(), Some(100_000_000_000_000_000));
}

#[test]
fn a_literal_too_long_to_be_rounded_rightly_is_refused() {
    let zeros = "0".repeat(1_000_000);
    for literal in [format!("0.{zeros}1e1000001"), format!("1{zeros}e-1000000"), format!("1.{zeros}")] {
        assert!(refused(&literal).to_string().contains("65536 characters"));
    }
    let zeros = "0".repeat(60_000);
    assert_eq!(canonical(&format!("0.{zeros}1e60001")), "1");
    assert_eq!(canonical(&format!("1{zeros}e-60000")), "1");
    assert_eq!(canonical(&format!("1.{zeros}1")), "1");
}
