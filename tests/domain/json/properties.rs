//! What holds for every text and every value, tried on many.

use callonce::domain::json::{Canonical, MAX_DEPTH, Number, Value, differing_paths, parse};
use proptest::collection::vec;
use proptest::prelude::*;

/// Strings with what is special somewhere: quotes, escapes, controls, both sides of the surrogates, beyond
/// the BMP.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => any::<char>(),
        4 => prop::char::range(' ', '~'),
        1 => prop::char::range('\0', '\u{20}'),
        1 => prop::char::range('\u{d7f0}', '\u{e010}'),
        1 => prop::char::range('\u{fff0}', '\u{1000f}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{80}', '\u{2028}', '\u{feff}']),
    ];
    vec(character, 0..8).prop_map(String::from_iter)
}

/// Numbers whose literals every correct implementation agrees on: doubles, and integers that are doubles of
/// their own.
fn plain_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<u64>().prop_filter_map("finite", |bits| Number::from_f64(f64::from_bits(bits))),
        (-9_007_199_254_740_991..=9_007_199_254_740_991_i64).prop_map(Number::from),
        any::<i8>().prop_map(|small| Number::from(i64::from(small))),
    ]
}

fn value(number: impl Strategy<Value = Number> + 'static) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(Value::Number),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec((text(), inner), 0..6).prop_map(|members| Value::Object(members).canonical().to_value()),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let large = "-?[1-9][0-9]{15,40}".prop_map(|digits| {
        let value = parse(digits.as_bytes()).expect("an integer literal");
        value.as_number().expect("a number").clone()
    });
    value(prop_oneof![plain_number(), any::<i64>().prop_map(Number::from), large])
}

/// Choices taken one by one from a list of random bytes, over and over.
struct Choices<'a>(std::iter::Cycle<std::slice::Iter<'a, u8>>);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::from(*self.0.next().expect("a cycle of some bytes never ends")) % bound
    }
}

/// Writes `value` in one of the many ways that JSON allows.
fn spell(out: &mut String, value: &Value, choices: &mut Choices<'_>) {
    space(out, choices);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(&truth.to_string()),
        Value::Number(number) => spell_number(out, number, choices),
        Value::String(text) => spell_string(out, text, choices),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                spell(out, item, choices);
            }
            space(out, choices);
            out.push(']');
        }
        Value::Object(members) => {
            let mut rest: Vec<_> = members.iter().collect();
            out.push('{');
            while !rest.is_empty() {
                let (name, value) = rest.swap_remove(choices.below(rest.len()));
                space(out, choices);
                spell_string(out, name, choices);
                space(out, choices);
                out.push(':');
                spell(out, value, choices);
                if !rest.is_empty() {
                    out.push(',');
                }
            }
            space(out, choices);
            out.push('}');
        }
    }
    space(out, choices);
}

fn space(out: &mut String, choices: &mut Choices<'_>) {
    out.push_str(["", "", " ", "\n", "\t", "\r\n", "   "][choices.below(7)]);
}

fn spell_string(out: &mut String, text: &str, choices: &mut Choices<'_>) {
    out.push('"');
    for character in text.chars() {
        let short = match character {
            '"' | '\\' | '/' => Some(character),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let must_escape = character < ' ' || matches!(character, '"' | '\\');
        match (choices.below(3), short) {
            (0, _) if !must_escape => out.push(character),
            (1, Some(short)) => out.extend(['\\', short]),
            (way, _) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let escape = if way == 2 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    out.push_str(&escape);
                }
            }
        }
    }
    out.push('"');
}

/// Respells a number; an integer literal only where doubles are exact, for beyond them its digits mean what
/// they say.
fn spell_number(out: &mut String, number: &Number, choices: &mut Choices<'_>) {
    let text = number.as_str();
    let exact = number.as_i64().is_some_and(|integer| integer.unsigned_abs() < 1 << 53);
    let has_fraction = text.contains('.') && !text.contains('e');
    let spelled = match choices.below(4) {
        1 if exact => format!("{text}.000"),
        2 if exact && text != "0" => format!("{text}0e-1"),
        3 if exact => format!("{text}E+0"),
        1 if has_fraction => format!("{text}000"),
        2 if has_fraction => format!("{text}00e+00"),
        1 | 2 if text.contains("e+") => text.replace("e+", "E0"),
        1 | 2 if text.contains("e-") => text.replace("e-", "E-00"),
        _ => text.to_owned(),
    };
    out.push_str(&spelled);
}

/// Lists that nest deeper than any serialiser of arguments does.
fn deep() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(vec!["[", "{\"a\":", "]", "}", "1", ",", " ", "[[[[[[[[", "]]]]]]]]"]), 0..200)
        .prop_map(|parts| parts.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_canonical_form_is_a_fixed_point(value in any_value()) {
        let text = value.canonical();
        prop_assert_eq!(&text.to_value(), &value);
        prop_assert_eq!(&text.to_value().canonical(), &text);
        prop_assert_eq!(Canonical::parse(text.as_str()), Ok(text));
    }

    #[test]
    fn every_spelling_has_one_canonical_form(value in any_value(), choices in vec(any::<u8>(), 1..64)) {
        let mut spelled = String::new();
        spell(&mut spelled, &value, &mut Choices(choices.iter().cycle()));
        let read = parse(spelled.as_bytes()).map_err(|error| TestCaseError::fail(format!("{spelled}: {error}")))?;
        prop_assert_eq!(read.canonical(), value.canonical(), "{}", spelled);
        prop_assert!(differing_paths(&read, &value, 1).is_empty());
    }

    #[test]
    fn values_differ_somewhere_exactly_if_their_texts_do(a in any_value(), b in any_value()) {
        prop_assert_eq!(differing_paths(&a, &b, 1).is_empty(), a.canonical() == b.canonical());
        prop_assert_eq!(differing_paths(&a, &b, 100), differing_paths(&b, &a, 100));
    }

    #[test]
    fn another_implementation_agrees_where_it_can(value in value(plain_number())) {
        let text = value.canonical();
        let theirs = serde_json_canonicalizer::pipe(text.as_str()).expect("it reads valid JSON");
        prop_assert_eq!(theirs, text.as_str());
    }

    #[test]
    fn names_sort_as_their_utf16_does(names in vec(text(), 0..12)) {
        let members = names.iter().map(|name| (name.clone(), Value::Null)).collect();
        let Value::Object(sorted) = Value::Object(members).canonical().to_value() else { unreachable!("it was an object") };
        let mut expected: Vec<_> = names.iter().map(|name| name.encode_utf16().collect::<Vec<_>>()).collect();
        expected.sort();
        expected.dedup();
        let sorted: Vec<_> = sorted.iter().map(|(name, _)| name.encode_utf16().collect::<Vec<_>>()).collect();
        prop_assert_eq!(sorted, expected);
    }

    #[test]
    fn a_literal_is_the_double_that_the_standard_library_reads(literal in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,25})?[eE][+-]?[0-9]{1,3}") {
        let expected: f64 = literal.parse().expect("a float literal");
        match parse(literal.as_bytes()) {
            Ok(value) => prop_assert_eq!(value.as_number().map(Number::as_f64), Some(expected)),
            Err(_) => prop_assert!(expected.is_infinite()),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Err(error) = parse(&bytes) {
            prop_assert!(error.offset() <= bytes.len());
        }
    }

    #[test]
    fn another_reader_agrees_on_almost_valid_texts_but_for_repeated_names(
        value in any_value(),
        place in any::<prop::sample::Index>(),
        patch in vec(any::<u8>(), 0..3),
        cut in 0..4_usize,
    ) {
        let mut bytes = value.canonical().as_str().as_bytes().to_vec();
        let start = place.index(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, patch);
        let theirs = serde_json::from_slice::<serde_json::Value>(&bytes);
        match parse(&bytes) {
            Err(error) if error.to_string().contains("more than once") => {}
            ours => prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{} {:?} {:?}", bytes.escape_ascii(), ours, theirs),
        }
    }

    #[test]
    fn brackets_in_any_order_are_read_or_refused(text in deep()) {
        if let Ok(value) = parse(&text) {
            prop_assert_eq!(value.canonical().to_value(), value);
            let deepest = text.iter().scan(0_i32, |depth, byte| {
                *depth += match byte { b'[' | b'{' => 1, b']' | b'}' => -1, _ => 0 };
                Some(*depth)
            });
            prop_assert!(deepest.max().unwrap_or(0) <= i32::try_from(MAX_DEPTH).expect("small"));
        }
    }
}
