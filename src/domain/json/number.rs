//! Numbers: when two literals are one number, how it is written, and which integers are exact.

/// The largest integer up to which every integer is a double of its own: 2^53 - 1.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// How many characters a literal with a fraction or an exponent may have. The exact expansion of any double
/// needs about 1,100; the standard library's parser is correct up to exponents of 65,536, which only longer
/// literals can bring back into range.
const MAX_ROUNDED_LITERAL: usize = 65_536;

/// A JSON number, held as its canonical text.
///
/// An integer literal (no fraction, no exponent) keeps its exact digits, however many. Any other literal is
/// the nearest double, written as ECMAScript writes it. So `1`, `1.0` and `1e0` are one number, and
/// `9007199254740992` and `9007199254740993` are two. Equality is equality of the canonical text.
#[derive(Debug, Clone)]
pub struct Number {
    text: Box<str>,
    /// The literal had a fraction or an exponent and lies where doubles skip integers: its digits are not
    /// what was written.
    approximate: bool,
}

impl Number {
    /// The number that an integer literal of valid JSON stands for.
    pub(super) fn from_integer_literal(literal: &str) -> Self {
        let text = if literal == "-0" { "0" } else { literal };
        Self { text: text.into(), approximate: false }
    }

    /// The number that a valid literal with a fraction or an exponent stands for, or what is wrong with it.
    pub(super) fn from_rounded_literal(literal: &str) -> Result<Self, String> {
        if literal.len() > MAX_ROUNDED_LITERAL {
            let reason = "a number with a fraction or an exponent may have at most";
            return Err(format!("{reason} {MAX_ROUNDED_LITERAL} characters"));
        }
        let double = literal.parse().expect("JSON's number grammar is within that of f64");
        Self::from_f64(double).ok_or_else(|| "the number is too large: a double ends near 1.8e308".to_owned())
    }

    /// The number that `double` is; `None` for NaN and the infinities, which JSON does not have.
    pub fn from_f64(double: f64) -> Option<Self> {
        if !double.is_finite() {
            return None;
        }
        let text = ryu_js::Buffer::new().format_finite(double).into();
        Some(Self { text, approximate: double.abs() > MAX_SAFE })
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The integer that the sender wrote, if it is one, it was written exactly, and it fits.
    ///
    /// `1e3` and `1000.0` are 1000. A literal with a fraction or an exponent counts only within ±(2^53 - 1),
    /// because beyond it doubles skip integers: `100000000000000000` is an integer, `1e17` is not. The
    /// canonical form writes both alike, so that this difference is seen only in a value parsed from what the
    /// client sent, and must be checked there.
    pub fn as_i64(&self) -> Option<i64> {
        if self.approximate { None } else { self.text.parse().ok() }
    }

    /// The nearest double; infinite for an integer literal of more than 308 digits or so, never NaN.
    pub fn as_f64(&self) -> f64 {
        self.text.parse().expect("the canonical text of a number is within the grammar of f64")
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self { text: integer.to_string().into(), approximate: false }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Number {}
