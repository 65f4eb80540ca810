//! What is written is TOML: the `toml` crate reads the same values from it as the reader here.

use proptest::collection::vec;
use proptest::prelude::*;
use tilewright_abi::text::{Table, Value, blocks};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::Str),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec(("[a-z]{0,3}[.é]?", inner), 0..4).prop_map(|pairs| Value::Table(table(pairs))),
        ]
    })
}

/// A table of these entries; of equal keys the first one counts.
fn table(pairs: Vec<(String, Value)>) -> Table {
    let mut out = Table::new();
    for (key, value) in pairs {
        if out.get(&key).is_none() {
            out.set(&key, value);
        }
    }
    out
}

fn same(ours: &Value, theirs: &toml::Value) -> bool {
    match (ours, theirs) {
        (Value::Str(a), toml::Value::String(b)) => a == b,
        (Value::Int(a), toml::Value::Integer(b)) => a == b,
        (Value::Float(a), toml::Value::Float(b)) => a == b || a.is_nan() && b.is_nan(),
        (Value::Bool(a), toml::Value::Boolean(b)) => a == b,
        (Value::List(a), toml::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Table(a), toml::Value::Table(b)) => same_table(a, b),
        _ => false,
    }
}

fn same_table(ours: &Table, theirs: &toml::Table) -> bool {
    ours.iter().count() == theirs.len()
        && ours.iter().all(|(key, value)| theirs.get(key).is_some_and(|other| same(value, other)))
}

proptest! {
    #[test]
    fn both_read_the_same(pairs in vec(("[a-zA-Z_-]{1,4}", value()), 0..6)) {
        let written = table(pairs);
        let mut text = String::new();
        written.write_lines(&mut text);
        let theirs: toml::Table = text.parse().map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(same_table(&written, &theirs), "{}", text);
        let ours = blocks(&text)[0].parse().map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(same_table(&ours, &theirs), "{}", text);
    }
}
