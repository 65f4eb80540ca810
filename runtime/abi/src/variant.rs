//! Variants: the named choices that one compiled form of a kernel was made with.

use std::fmt;
use std::str::FromStr;

/// An ordered list of `key = value` choices, printed `bm=128,bn=64`. Keys keep the order in which they
/// were set; equality is that of the list.
///
/// ```
/// use tilewright_abi::Variant;
/// let v: Variant = "bm=128,bn=64".parse().unwrap();
/// assert_eq!(v.int("bn"), Some(64));
/// assert_eq!(v, Variant::new().with("bm", 128).with("bn", 64));
/// assert_eq!(v.to_string(), "bm=128,bn=64");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variant(Vec<(String, String)>);

impl Variant {
    /// No choice.
    pub fn new() -> Variant {
        Variant::default()
    }

    /// This variant with one choice set: replaced in place if the key is there, else appended.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Variant {
        let value = value.to_string();
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key.to_owned(), value)),
        }
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The value of a key, as an integer.
    pub fn int(&self, key: &str) -> Option<i64> {
        self.get(key)?.parse().ok()
    }

    /// The choices, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Whether there is no choice.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (k, v)) in self.0.iter().enumerate() {
            write!(f, "{}{k}={v}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for Variant {
    type Err = String;
    fn from_str(text: &str) -> Result<Variant, String> {
        let word = |s: &str| {
            !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || "_.-+".contains(c))
        };
        let mut v = Variant::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            match part.split_once('=') {
                Some((key, value)) if word(key) && word(value) => {
                    if v.get(key).is_some() {
                        return Err(format!("variant `{text}` sets `{key}` twice"));
                    }
                    v.0.push((key.to_owned(), value.to_owned()));
                }
                _ => return Err(format!("variant `{text}`: `{part}` is not `key=value`")),
            }
        }
        Ok(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form() {
        for text in ["", "bm=128", "bm=128,bn=64,epilogue=silu_and_mul"] {
            assert_eq!(text.parse::<Variant>().unwrap().to_string(), text);
        }
        for text in ["bm", "=1", "bm=", "bm=1,bm=2", "bm=1,,bn=2", "b m=1"] {
            assert!(text.parse::<Variant>().is_err(), "{text}");
        }
    }
}
