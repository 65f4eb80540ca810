//! Tuned configs: which record serves, what is ignored and why, and what is said.

mod common;

use common::{TempDir, builder, pack};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tilewright::abi::{ConfigFile, ConfigKey, ConfigRecord, DType, Problem, Provenance};
use tilewright::{Builder, Reason, Runtime};

fn problem(m: i64) -> Problem {
    Problem::new("axpy").dtype("x", DType::F32).axis("m", m).axis("n", 8)
}

/// A runtime over the configs of a directory, and what it says.
fn runtime(configs: &Path) -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    let b: Builder = builder(1).pack(pack()).config_dir(configs);
    let rt = b.on_notice(move |text| sink.lock().unwrap().push(text.to_owned())).build().unwrap();
    (rt, said)
}

fn device_key() -> String {
    builder(1).pack(pack()).build().unwrap().device_key().to_owned()
}

fn record(m: i64, variant: &str) -> ConfigRecord {
    let rt = builder(1).pack(pack()).build().unwrap();
    ConfigRecord {
        key: ConfigKey::of(rt.spec("axpy").unwrap(), &problem(m)),
        algorithm: "rows".into(),
        variant: variant.parse().unwrap(),
        time_us: 1.5,
        spread: 0.01,
        provenance: Provenance {
            source: "sha256:src".into(),
            toolchain: "cc".into(),
            ..Provenance::default()
        },
    }
}

fn file(records: Vec<ConfigRecord>) -> ConfigFile {
    ConfigFile { tool: "test".into(), device: device_key(), records, skipped: Vec::new() }
}

/// Writes `axpy.toml` for this device.
fn write(dir: &TempDir, text: &str) {
    let folder = dir.0.join(device_key());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("axpy.toml"), text).unwrap();
}

#[test]
fn a_record_decides_for_its_bucket() {
    let dir = TempDir::new();
    write(&dir, &file(vec![record(40, "bm=1")]).to_text());
    let (rt, said) = runtime(&dir.0);
    assert!(rt.configs().faults().is_empty(), "{:?}", rt.configs().faults());
    for (m, chosen) in [(32, "bm=4"), (33, "bm=1"), (64, "bm=1"), (65, "bm=4")] {
        let plan = rt.plan_problem(&problem(m)).unwrap();
        assert_eq!(plan.chosen(), format!("axpy.rows.{chosen}"), "m = {m}");
        assert_eq!(plan.reason() == &Reason::Default, chosen == "bm=4");
    }
    // One notice a key, with key, choice and remedy; none for the tuned one.
    let said = said.lock().unwrap().clone();
    assert_eq!(said.len(), 2, "{said:?}");
    for part in ["no tuned config for axpy(", "m = 17..=32", "`axpy.rows.bm=4`", "tilewright tune"]
    {
        assert!(said[0].contains(part), "{}", said[0]);
    }
}

#[test]
fn notices_are_given_once_for_a_key() {
    let dir = TempDir::new();
    let (rt, said) = runtime(&dir.0);
    for m in [17, 18, 19, 32, 17] {
        rt.plan_problem(&problem(m)).unwrap();
    }
    assert_eq!(said.lock().unwrap().len(), 1);
}

#[test]
fn a_record_that_does_not_apply_is_passed_over() {
    let dir = TempDir::new();
    // n = 8 suits `bm=4`; a record for n = 7 that names it breaks the kernel's fact.
    let mut r = record(40, "bm=4");
    r.key.problem.insert("n".into(), tilewright::abi::KeyField::Int(7));
    write(&dir, &file(vec![r]).to_text());
    let (rt, said) = runtime(&dir.0);
    let plan = rt.plan_problem(&problem(40).axis("n", 7)).unwrap();
    assert_eq!(plan.chosen(), "axpy.rows.bm=1");
    assert!(matches!(plan.reason(), Reason::RecordRefused { .. }), "{:?}", plan.reason());
    assert!(said.lock().unwrap()[0].contains("does not apply"), "{:?}", said.lock().unwrap());
}

#[test]
fn bad_files_and_records_are_ignored_with_a_reason() {
    let good = file(vec![record(40, "bm=1")]);
    let text = good.to_text();
    let changed = |change: &dyn Fn(&mut ConfigRecord)| {
        let mut r = record(40, "bm=1");
        change(&mut r);
        file(vec![r]).to_text()
    };
    let set = |name: &'static str, field: tilewright::abi::KeyField| {
        changed(&move |r| drop(r.key.problem.insert(name.into(), field.clone())))
    };
    use tilewright::abi::KeyField::{Int, Range, Text};
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "not a file of tuned configs"),
        ("{ json }".into(), "not a file of tuned configs"),
        (text.replace("schema = 1", "schema = 2"), "newer than 1"),
        (text.replace("schema = 1", "schema = 'x'"), "not a file of tuned configs"),
        (text.replace(&device_key(), "cpu-other-9"), "is for `cpu-other-9`"),
        (text.replace("op = \"axpy\"", "op = \"axpi\""), "no op `axpi`"),
        (text.replace("\"bm=1\"", "\"bm=999\""), "no compiled variant"),
        (text.replace("\"bm=1\"", "\"-\""), "is not `key=value`"),
        (text.replace("time_us = 1.5", "time_us = -1.0"), "`time_us` is -1"),
        (changed(&|r| r.algorithm = "other".into()), "no compiled variant"),
        (changed(&|r| r.provenance.source = "sha256:old".into()), "source has changed"),
        (changed(&|r| r.provenance.toolchain = "gcc".into()), "measured with `gcc`"),
        (set("m", Range(-5, 3)), "axis `m` cannot be `-5..=3`"),
        (set("n", Int(-8)), "axis `n` cannot be `-8`"),
        (set("n", Range(1, 8)), "axis `n` cannot be"),
        (set("x", Text("f33".into())), "tensor `x` cannot be `f33`"),
        (set("mode", Text("turbo".into())), "attribute `mode`"),
        (set("extra", Int(1)), "fields that the op does not have"),
        (changed(&|r| drop(r.key.problem.remove("n"))), "axis `n` is missing"),
        (text.get(..text.len() - 40).unwrap_or("").to_owned(), "record at line"),
    ];
    for (bad, want) in cases {
        let dir = TempDir::new();
        write(&dir, &bad);
        let (rt, said) = runtime(&dir.0);
        let faults = rt.configs().faults().join("\n");
        assert!(faults.contains(want), "wanted `{want}` in `{faults}` for:\n{bad}");
        assert!(said.lock().unwrap().iter().any(|s| s.contains(want)));
        let plan = rt.plan_problem(&problem(40)).unwrap();
        assert_eq!(plan.chosen(), "axpy.rows.bm=4");
        let kept = std::fs::read_to_string(dir.0.join(device_key()).join("axpy.toml")).unwrap();
        assert_eq!(kept, bad, "the runtime changes no file");
    }
}

#[test]
fn a_bad_record_does_not_take_the_others() {
    let dir = TempDir::new();
    let text = file(vec![record(40, "bm=1"), record(8, "bm=1")]).to_text();
    let first = text.find("[[record]]").unwrap();
    let bad = format!("{}[[record]]\nop = \n\n{}", &text[..first], &text[first..]);
    write(&dir, &bad);
    let (rt, _) = runtime(&dir.0);
    assert_eq!((rt.configs().len(), rt.configs().faults().len()), (2, 1));
    // A file that is no text.
    std::fs::write(dir.0.join(device_key()).join("zero.toml"), [0xff, 0xfe, 0]).unwrap();
    std::fs::write(dir.0.join(device_key()).join("axpy.toml.lock"), "").unwrap();
    let (rt, _) = runtime(&dir.0);
    assert_eq!((rt.configs().len(), rt.configs().faults().len()), (2, 2));
}

#[test]
fn a_later_record_of_one_key_replaces_the_earlier() {
    let dir = TempDir::new();
    write(&dir, &file(vec![record(40, "bm=4"), record(40, "bm=1")]).to_text());
    let (rt, _) = runtime(&dir.0);
    assert_eq!(rt.plan_problem(&problem(40)).unwrap().chosen(), "axpy.rows.bm=1");
}

#[test]
fn a_million_look_ups_keep_memory_flat() {
    let dir = TempDir::new();
    let records = (0..200).map(|i| {
        let mut r = record(40, "bm=1");
        r.key.problem.insert("n".into(), tilewright::abi::KeyField::Int(i * 4));
        r
    });
    write(&dir, &file(records.collect()).to_text());
    let (rt, said) = runtime(&dir.0);
    let (catalog, configs) = (rt.catalog(), rt.configs());
    assert_eq!(configs.len(), 200);
    let select = |n: i64| {
        let found = tilewright::select(&problem(40).axis("n", n), catalog, configs).unwrap();
        assert!(matches!(found.reason, Reason::Tuned { .. }));
    };
    let rss = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        text.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok()).unwrap_or(0) * 4096
    };
    select(4);
    let (before, start) = (rss(), Instant::now());
    // A tenth of the look-ups is enough without optimisation.
    let n = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    (0..n).for_each(|i| select(i % 200 * 4));
    let each = start.elapsed() / u32::try_from(n).unwrap();
    assert!(rss().saturating_sub(before) < 4 << 20);
    assert!(said.lock().unwrap().is_empty());
    assert!(each.as_micros() < 200, "{each:?} a selection");
}

#[test]
fn candidates_say_why_they_do_not_serve_and_can_be_asked_for() {
    let dir = TempDir::new();
    let (rt, said) = runtime(&dir.0);
    let odd = problem(3).axis("n", 7);
    let found = tilewright::candidates(&odd, rt.catalog()).unwrap();
    let refusals: Vec<_> = found.iter().map(|c| c.refusal.as_deref()).collect();
    assert_eq!(refusals, [None, Some("kernel `test.axpy4` needs `x: dim 1 multiple 4`")]);
    let plan = rt.plan_exactly(&problem(3), "rows", &"bm=1".parse().unwrap()).unwrap();
    assert_eq!((plan.chosen(), plan.reason()), ("axpy.rows.bm=1", &Reason::Asked));
    let error = rt.plan_exactly(&odd, "rows", &"bm=4".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("`rows.bm=4` does not serve"), "{error}");
    let error = rt.plan_exactly(&odd, "rows", &"bm=9".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("no such impl"), "{error}");
    assert!(said.lock().unwrap().is_empty());
}
