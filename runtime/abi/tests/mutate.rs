//! Readers survive any change of their input: an error or a value, never a panic, and what is read can
//! be written and read again.

use tilewright_abi::text::blocks;
use tilewright_abi::{Cond, ConfigFile, Expr, Manifest, ManifestHead, Variant};

/// A small generator of numbers; the same every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

/// Changes a few places: a byte replaced, removed, doubled, or a part moved.
fn mutate(text: &str, r: &mut Numbers) -> String {
    const LETTERS: &[u8] = b"[]{}\"'\\=,.#\n -+*%()<>09az_\xc3";
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=r.next(4) {
        let at = r.next(bytes.len());
        match r.next(4) {
            0 if !bytes.is_empty() => bytes[at] = LETTERS[r.next(LETTERS.len())],
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.insert(at, LETTERS[r.next(LETTERS.len())]),
            _ => {
                let end = (at + r.next(40)).min(bytes.len());
                let part: Vec<u8> = bytes.drain(at..end).collect();
                let to = r.next(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const MANIFEST: &str = r#"magic = "tilewright manifest"
format_version = 1
toolchain = "llvm-22.1"
target = "cpu/x86-64-v3"
features = ["avx2", "fma"]
preference = 7

[[spec]]
name = "gemm"
doc = "c = a · bᵀ"
axes = [{ name = "m", doc = "rows", min = 0, key = "bucket" }]
tensors = [{ name = "a", role = "in", dtypes = ["f32"], shape = ["m", "ceil_div(m, 2)"], strides = "rows" }]
scalars = [{ name = "eps", dtype = "f32", min = 0.0, max = inf, default = 1e-6 }]
attrs = [{ name = "mode", values = ["a", "b"] }]
constraints = ["m % 2 == 0"]
tolerance = { abs = 0.0, rel = 1e-4, ulp = 2 }

[[kernel]]
name = "gemm.k"
symbol = "k"
artifact = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
kind = "so"
params = ["a: view<f32, 2>", "eps: f32"]
assumes = ["a: dim 0 multiple 8"]
source_hash = "1"
ir_hash = "2"
toolchain = "llvm-22.1"

[[impl]]
op = "gemm"
algorithm = "panel"
variant = "bm=6"
dtypes = { a = "f32" }
when = ["m <= 16"]
priority = -1
workspace = [{ name = "w", dtype = "f32", dims = ["m", "4"] }]
launches = [{ kernel = "gemm.k", grid = ["m", "1", "1"], args = [{ tensor = "a", view = ["m", "m"] }, { scalar = "eps" }] }]
"#;

const CONFIG: &str = r#"schema = 1
tool = "t"
device = "cpu-x86-64-v3-4"

[[record]]
op = "gemm"
problem = { m = "33..=64", n = 7168, a = "f32", "a.layout" = "rows,align=4" }
algorithm = "panel"
variant = "bm=6"
time_us = 11.9
spread = 0.02
provenance = { source = "s", artifact = "a", toolchain = "t", driver = "", date = "2026-11-20" }
"#;

#[test]
fn manifests_and_configs() {
    let mut r = Numbers(1);
    assert!(Manifest::from_text(MANIFEST).is_ok_and(|m| m.check().is_empty()));
    assert!(ConfigFile::from_text(CONFIG).is_ok_and(|f| f.records.len() == 1));
    let mut read = 0;
    for _ in 0..5_000 {
        let text = mutate(MANIFEST, &mut r);
        let _ = ManifestHead::from_text(&text);
        if let Ok(m) = Manifest::from_text(&text) {
            read += 1;
            let _ = m.check();
            let again = Manifest::from_text(&m.to_text()).map(|m| m.to_text());
            assert_eq!(again, Ok(m.to_text()), "{text}");
        }
        let text = mutate(CONFIG, &mut r);
        if let Ok(f) = ConfigFile::from_text(&text) {
            let again = ConfigFile::from_text(&f.to_text()).map(|f| f.records);
            assert_eq!(again.as_ref(), Ok(&f.records), "{text}");
        }
    }
    assert!(read > 100, "mutations are too wild to reach the later checks: {read}");
}

#[test]
fn small_texts() {
    let mut r = Numbers(2);
    for _ in 0..20_000 {
        let text = mutate("ceil_div(m + 1, 6) * (n - 2) % 3", &mut r);
        if let Ok(e) = text.parse::<Expr>() {
            assert_eq!(e.to_string().parse::<Expr>().as_ref(), Ok(&e), "{text}");
            let _ = e.eval(&|s| Some(s.len() as i64 * 0x7fff_ffff_ffff));
        }
        if let Ok(c) = mutate("k % 32 == 0", &mut r).parse::<Cond>() {
            assert_eq!(c.to_string().parse::<Cond>().as_ref(), Ok(&c));
        }
        if let Ok(v) = mutate("bm=128,bn=64", &mut r).parse::<Variant>() {
            assert_eq!(v.to_string().parse::<Variant>().as_ref(), Ok(&v));
        }
        for b in blocks(&mutate("a = [1, 2]\n[[x]]\nb = { c = \"\\u0041\" }\n", &mut r)) {
            let _ = b.parse();
        }
    }
}
