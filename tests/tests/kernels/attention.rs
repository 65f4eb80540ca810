//! Attention: A1 to A18 that fit a CPU, D1, page boundaries, every layout and head dimension.

use super::harness::{BACKENDS, Backend, Case, Noise, Tensor, Tensors, assert_close, bound, round};
use tilewright_abi::DType;
use tilewright_kernels::attention::reference::{Rules, head, merge, visible};

const INF: f64 = f64::INFINITY;

/// How a case lays out its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// `[pages, page, heads, dim]` without gaps.
    Nhd,
    /// K and V of a page side by side: other strides.
    Interleaved,
    /// K transposed.
    Transposed,
}

/// Sequences with their keys and values, and the cache that holds them; unused memory is NaN.
struct Cache {
    lens: Vec<usize>,
    heads: usize,
    dim: usize,
    k: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
    tensors: Tensors,
}

fn cache(
    noise: &mut Noise,
    dtype: DType,
    layout: Layout,
    lens: &[usize],
    page: usize,
    heads: usize,
    dim: usize,
) -> Cache {
    let width = heads * dim;
    let rows = |noise: &mut Noise| -> Vec<Vec<f64>> {
        let row = |noise: &mut Noise, len: usize| {
            (0..len * width).map(|_| round(dtype, noise.normal())).collect()
        };
        lens.iter().map(|&len| row(noise, len)).collect()
    };
    let (k, v) = (rows(noise), rows(noise));
    let used: usize = lens.iter().map(|l| l.div_ceil(page)).sum();
    let pages = used + 2;
    let mut order: Vec<usize> = (0..pages).collect();
    for i in (1..pages).rev() {
        order.swap(i, noise.below(i + 1));
    }
    let (mut indptr, mut indices, mut last) = (vec![0i32], Vec::new(), Vec::new());
    let mut kc = vec![f64::NAN; pages * page * width];
    let mut vc = kc.clone();
    for (b, &len) in lens.iter().enumerate() {
        for n in 0..len {
            if n % page == 0 {
                indices.push(order[indices.len()] as i32);
            }
            let p = *indices.last().unwrap() as usize;
            for c in 0..width {
                let (h, d) = (c / dim, c % dim);
                let nhd = (p * page + n % page) * width + c;
                let at = match layout {
                    Layout::Transposed => ((p * heads + h) * dim + d) * page + n % page,
                    _ => nhd,
                };
                kc[at] = k[b][n * width + c];
                vc[nhd] = v[b][n * width + c];
            }
        }
        indptr.push(indices.len() as i32);
        last.push(if len == 0 { 0 } else { (len - 1) % page + 1 } as i32);
    }
    let (np, ps, nh, hd) = (pages as i64, page as i64, heads as i64, dim as i64);
    let nhd = [np, ps, nh, hd];
    let (mut kt, mut vt) = (Tensor::new(dtype, &nhd, &kc), Tensor::new(dtype, &nhd, &vc));
    if layout == Layout::Transposed {
        kt = Tensor::new(dtype, &[np, nh, hd, ps], &kc);
    }
    if layout == Layout::Interleaved {
        let strides = [2 * ps * nh * hd, nh * hd, hd, 1];
        (kt, vt) = (kt.spread(&strides, 0), vt.spread(&strides, ps * nh * hd));
    }
    let tensors = Tensors::from([
        (if layout == Layout::Transposed { "kt_cache" } else { "k_cache" }, kt),
        ("v_cache", vt),
        ("kv_indptr", Tensor::i32(&indptr)),
        ("kv_indices", Tensor::i32(&indices)),
        ("kv_last_page_len", Tensor::i32(&last)),
    ]);
    Cache { lens: lens.to_vec(), heads, dim, k, v, tensors }
}

/// The scalars of a case that change scores.
#[derive(Clone, Copy)]
struct Knobs {
    soft_cap: f64,
    window: i64,
    causal: bool,
    scales: (f64, f64),
}

const PLAIN: Knobs = Knobs { soft_cap: 0.0, window: -1, causal: true, scales: (1.0, 1.0) };

fn with_knobs(case: Case, dim: usize, knobs: Knobs) -> Case {
    case.scalar("sm_scale", sm_scale(dim))
        .scalar("logits_soft_cap", knobs.soft_cap)
        .scalar("window_left", knobs.window as f64)
        .scalar("k_scale", knobs.scales.0)
        .scalar("v_scale", knobs.scales.1)
}

fn sm_scale(dim: usize) -> f64 {
    f64::from(1.0 / (dim as f32).sqrt())
}

fn round_p(cache: DType) -> impl Fn(f64) -> f64 {
    move |p| match cache {
        DType::F32 => p,
        DType::F16 => round(DType::F16, p),
        _ => round(DType::BF16, p),
    }
}

/// (out, lse) of sequence b's queries `q`, `[q_len, qo_heads, dim]`.
fn want(
    c: &Cache,
    dtype: DType,
    b: usize,
    q: &[f64],
    qo_heads: usize,
    knobs: Knobs,
    sinks: Option<&[f32]>,
) -> (Vec<f64>, Vec<f64>) {
    let width = c.heads * c.dim;
    let q_len = q.len() / (qo_heads * c.dim);
    let rounding = round_p(dtype);
    let (mut out, mut lse) = (Vec::new(), Vec::new());
    for i in 0..q_len {
        let (from, to) = visible(i, q_len, c.lens[b], knobs.causal, knobs.window);
        for h in 0..qo_heads {
            let at = (h / (qo_heads / c.heads)) * c.dim;
            let of = |x: &[f64], s: f64| -> Vec<Vec<f64>> {
                let row = |n: usize| x[n * width + at..][..c.dim].iter().map(|v| v * s).collect();
                (from..to).map(row).collect()
            };
            let (k, v) = (of(&c.k[b], knobs.scales.0), of(&c.v[b], knobs.scales.1));
            let k: Vec<&[f64]> = k.iter().map(Vec::as_slice).collect();
            let v: Vec<&[f64]> = v.iter().map(Vec::as_slice).collect();
            let rules = Rules {
                sm_scale: sm_scale(c.dim),
                soft_cap: knobs.soft_cap,
                sink: sinks.map(|s| f64::from(s[h])),
                round_p: &rounding,
            };
            let query = &q[(i * qo_heads + h) * c.dim..][..c.dim];
            let (o, l) = head(query, &k, &v, rules);
            out.extend(if o.is_empty() { vec![0.0; c.dim] } else { o });
            lse.push(l);
        }
    }
    (out, lse)
}

fn tolerance(q: DType, cache: DType, dim: usize) -> f64 {
    let own = bound(q, dim + 300);
    // Weights are rounded against a running maximum, the reference's against the last.
    if cache == DType::F32 { own } else { own.max(1.0 / 512.0) }
}

struct Decode {
    q: DType,
    cache: DType,
    layout: Layout,
    page: usize,
    qo_heads: usize,
    kv_heads: usize,
    dim: usize,
    knobs: Knobs,
    sinks: bool,
}

impl Decode {
    fn new(q: DType, cache: DType, layout: Layout, dim: usize) -> Decode {
        Decode {
            q,
            cache,
            layout,
            page: 32,
            qo_heads: 3,
            kv_heads: 1,
            dim,
            knobs: PLAIN,
            sinks: false,
        }
    }

    fn check(&self, lens: &[usize], max_len: i64, algorithm: Option<&'static str>) {
        let mut noise = Noise(51);
        let (kv, dim) = (self.kv_heads, self.dim);
        let c = cache(&mut noise, self.cache, self.layout, lens, self.page, kv, dim);
        let (batch, heads) = (lens.len() as i64, self.qo_heads as i64);
        let q = noise.tensor(self.q, &[batch, heads, dim as i64]);
        let sinks: Vec<f32> = (0..heads).map(|_| noise.normal() as f32).collect();
        let mut tensors = c.tensors.clone();
        if self.sinks {
            tensors.insert("sinks", Tensor::f32(&[heads], &sinks));
        }
        let values = q.values();
        let (mut out, mut lse) = (Vec::new(), Vec::new());
        for (b, q) in values.chunks(self.qo_heads * dim).enumerate() {
            let sinks = self.sinks.then_some(&sinks[..]);
            let (o, l) = want(&c, self.cache, b, q, self.qo_heads, self.knobs, sinks);
            out.extend(o);
            lse.extend(l);
        }
        tensors.insert("q", q.spread(&[(heads + 2) * dim as i64, dim as i64, 1], 0));
        tensors.insert("out", Tensor::poison(self.q, &[batch, heads, dim as i64]));
        tensors.insert("lse", Tensor::poison(DType::F32, &[batch, heads]));
        let case = Case::new("attention.decode").axis("max_kv_len", max_len);
        let mut case = with_knobs(case, dim, self.knobs);
        if let Some(a) = algorithm {
            case = case.algorithm(a);
        }
        case.check(&tensors, |b, t| {
            let what = format!(
                "{b:?} {} {} {:?} d{dim} {}/{} page {} {lens:?}",
                self.q, self.cache, self.layout, self.qo_heads, kv, self.page
            );
            let bound = tolerance(self.q, self.cache, dim);
            assert_close(&what, &t["out"].values(), &out, bound);
            assert_close(&format!("{what} lse"), &t["lse"].values(), &lse, 1e-5);
        });
    }
}

#[test]
fn decode_of_every_layout_and_dtype() {
    for layout in [Layout::Nhd, Layout::Transposed] {
        for (q, cache) in [
            (DType::F32, DType::F32),
            (DType::F32, DType::F16),
            (DType::BF16, DType::BF16),
            (DType::F16, DType::F16),
            (DType::BF16, DType::F8E4M3),
        ] {
            let d = Decode::new(q, cache, layout, 64);
            d.check(&[0, 3, 32, 33, 70], 96, None);
        }
    }
    let mut scaled = Decode::new(DType::BF16, DType::F8E4M3, Layout::Nhd, 64);
    scaled.knobs.scales = (0.5, 2.0);
    scaled.check(&[40], 64, None);
    for dtype in [DType::F32, DType::BF16] {
        let d = Decode::new(dtype, dtype, Layout::Interleaved, 64);
        d.check(&[0, 3, 32, 33, 70], 96, None);
    }
}

#[test]
fn decode_of_every_head_dimension_and_group() {
    for dim in tilewright_kernels::attention::space::paged_cases().iter().map(|c| c.head_dim) {
        Decode::new(DType::F32, DType::F32, Layout::Nhd, dim).check(&[17], 32, None);
    }
    for (qo_heads, kv_heads) in [(1, 1), (8, 1), (14, 2), (10, 2), (9, 3), (4, 4), (6, 1)] {
        let d =
            Decode { qo_heads, kv_heads, ..Decode::new(DType::F32, DType::F32, Layout::Nhd, 64) };
        d.check(&[5, 20], 32, None);
    }
}

#[test]
fn decode_of_every_page_size() {
    for page in [1, 2, 16, 64, 512] {
        let d = Decode { page, ..Decode::new(DType::F32, DType::F32, Layout::Nhd, 64) };
        d.check(&[1, 15, 16, 17, 65, 0, 1], 128, None);
    }
}

#[test]
fn decode_with_window_cap_and_sinks() {
    for window in [0, 1, 31, 32, 33, 100] {
        let mut d = Decode::new(DType::F32, DType::F32, Layout::Transposed, 64);
        d.knobs.window = window;
        d.check(&[1, 33, 70], 96, None);
    }
    let mut d = Decode::new(DType::F32, DType::F32, Layout::Nhd, 64);
    d.knobs.soft_cap = 2.0;
    d.check(&[33], 64, None);
    d.sinks = true;
    d.check(&[0, 33], 64, None);
    let mut d = Decode::new(DType::BF16, DType::BF16, Layout::Nhd, 64);
    d.sinks = true;
    d.check(&[0, 40], 64, None);
}

#[test]
fn splits_of_long_sequences() {
    let d = Decode::new(DType::F32, DType::F32, Layout::Transposed, 64);
    for len in [255, 256, 257, 600] {
        d.check(&[len, 1], 1024, None);
        d.check(&[len], len as i64, None);
    }
    let mut windowed = Decode::new(DType::F32, DType::F32, Layout::Nhd, 64);
    windowed.knobs.window = 40;
    windowed.check(&[600], 600, None);
}

#[test]
fn direct_and_split_agree_to_the_bit() {
    let mut noise = Noise(52);
    let c = cache(&mut noise, DType::F32, Layout::Nhd, &[100, 0], 16, 1, 64);
    let mut tensors = c.tensors.clone();
    tensors.insert("q", noise.tensor(DType::F32, &[2, 3, 64]));
    tensors.insert("out", Tensor::poison(DType::F32, &[2, 3, 64]));
    tensors.insert("lse", Tensor::poison(DType::F32, &[2, 3]));
    let case = Case::new("attention.decode").axis("max_kv_len", 200);
    let case = with_knobs(case, 64, PLAIN);
    for b in BACKENDS {
        let direct = case.clone().algorithm("direct").run(b, &tensors);
        let split = case.clone().algorithm("split").run(b, &tensors);
        let longer = case.clone().axis("max_kv_len", 5000).run(b, &tensors);
        assert_eq!(direct["out"].values(), split["out"].values(), "{b:?}");
        assert_eq!(direct["out"].values(), longer["out"].values(), "{b:?}");
    }
}

#[test]
fn a_sequence_does_not_depend_on_its_batch() {
    let mut noise = Noise(53);
    let lens: Vec<usize> = (0..9).map(|i| 1 + 37 * i).collect();
    let c = cache(&mut noise, DType::F32, Layout::Nhd, &lens, 16, 1, 64);
    let q = noise.tensor(DType::F32, &[9, 3, 64]);
    let run = |n: usize| {
        let mut tensors = c.tensors.clone();
        let take = |t: &Tensor, n: usize| {
            let mut dims = t.dims.clone();
            dims[0] = n as i64;
            let len = dims.iter().product::<i64>() as usize;
            Tensor::new(t.dtype, &dims, &t.values()[..len])
        };
        tensors.insert("kv_indptr", take(&c.tensors["kv_indptr"], n + 1));
        tensors.insert("kv_last_page_len", take(&c.tensors["kv_last_page_len"], n));
        tensors.insert("q", take(&q, n));
        tensors.insert("out", Tensor::poison(DType::F32, &[n as i64, 3, 64]));
        tensors.insert("lse", Tensor::poison(DType::F32, &[n as i64, 3]));
        let case = Case::new("attention.decode").axis("max_kv_len", 512);
        with_knobs(case, 64, PLAIN).run(Backend::Compiled, &tensors)["out"].bytes.clone()
    };
    let all = run(9);
    for n in [0, 1, 2, 7, 8] {
        assert_eq!(run(n), all[..n * 3 * 64 * 4], "batch {n}");
    }
}

/// Sequences of (queries, keys) through the paged and the ragged prefill.
fn check_prefill(
    dtypes: (DType, DType),
    layout: Layout,
    dim: usize,
    heads: (usize, usize),
    sequences: &[(usize, usize)],
    knobs: Knobs,
    sinks: bool,
) {
    let mut noise = Noise(54);
    let (qd, cd) = dtypes;
    let lens: Vec<usize> = sequences.iter().map(|s| s.1).collect();
    let c = cache(&mut noise, cd, layout, &lens, 32, heads.1, dim);
    let mut indptr = vec![0i32];
    for (q_len, _) in sequences {
        indptr.push(indptr.last().unwrap() + *q_len as i32);
    }
    let total = i64::from(*indptr.last().unwrap());
    let (h, d) = (heads.0 as i64, dim as i64);
    let q = noise.tensor(qd, &[total, h, d]);
    let sink: Vec<f32> = (0..h).map(|_| noise.normal() as f32).collect();
    let values = q.values();
    let (mut out, mut lse) = (Vec::new(), Vec::new());
    for b in 0..sequences.len() {
        let (from, to) = (indptr[b] as usize, indptr[b + 1] as usize);
        let own = &values[from * heads.0 * dim..to * heads.0 * dim];
        let (o, l) = want(&c, cd, b, own, heads.0, knobs, sinks.then_some(&sink[..]));
        out.extend(o);
        lse.extend(l);
    }
    let mut tensors = c.tensors.clone();
    tensors.insert("q", q.spread(&[(h + 1) * d, d, 1], 0));
    tensors.insert("qo_indptr", Tensor::i32(&indptr));
    tensors.insert("out", Tensor::poison(qd, &[total, h, d]));
    tensors.insert("lse", Tensor::poison(DType::F32, &[total, h]));
    if sinks {
        tensors.insert("sinks", Tensor::f32(&[h], &sink));
    }
    let longest = sequences.iter().map(|s| s.0).max().unwrap_or(0) as i64;
    let finish = |case: Case, tensors: &Tensors| {
        let case = case.axis("max_q_len", longest).axis("batch", sequences.len() as i64);
        let case = with_knobs(case, dim, knobs);
        let case = case.attr("causal", if knobs.causal { "true" } else { "false" });
        case.check(tensors, |b, t| {
            let what = format!("{case:?} {b:?} {qd} {cd} {layout:?} d{dim} {sequences:?}");
            assert_close(&what, &t["out"].values(), &out, tolerance(qd, cd, dim));
            assert_close(&format!("{what} lse"), &t["lse"].values(), &lse, 1e-5);
        });
    };
    finish(Case::new("attention.prefill"), &tensors);
    if layout == Layout::Nhd && !sinks && qd == cd && [64, 80, 128].contains(&dim) {
        let keys = lens.iter().sum::<usize>() as i64;
        let (k, v) = (c.k.concat(), c.v.concat());
        let dims = [keys, heads.1 as i64, d];
        let mut starts = vec![0i32];
        lens.iter().for_each(|l| starts.push(starts.last().unwrap() + *l as i32));
        for name in ["k_cache", "v_cache", "kv_indices", "kv_last_page_len"] {
            tensors.remove(name);
        }
        tensors.insert("k", Tensor::new(cd, &dims, &k));
        tensors.insert("v", Tensor::new(cd, &dims, &v));
        tensors.insert("kv_indptr", Tensor::i32(&starts));
        finish(Case::new("attention.prefill_ragged"), &tensors);
    }
}

#[test]
fn prefill_of_every_layout_and_dtype() {
    let sequences = [(4, 2), (0, 5), (5, 5), (1, 40), (13, 33), (7, 0)];
    for layout in [Layout::Nhd, Layout::Transposed] {
        for dtypes in [
            (DType::F32, DType::F32),
            (DType::F32, DType::F16),
            (DType::BF16, DType::BF16),
            (DType::F16, DType::F16),
            (DType::BF16, DType::F8E4M3),
        ] {
            check_prefill(dtypes, layout, 64, (3, 1), &sequences, PLAIN, false);
        }
    }
    let f32s = (DType::F32, DType::F32);
    check_prefill(f32s, Layout::Interleaved, 64, (3, 1), &sequences, PLAIN, false);
    for dim in [80, 96, 128, 256] {
        check_prefill(f32s, Layout::Nhd, dim, (2, 2), &[(9, 40)], PLAIN, false);
    }
}

#[test]
fn prefill_rules() {
    let dtypes = (DType::F32, DType::F32);
    let sequences = [(4, 2), (20, 70), (6, 6)];
    let full = Knobs { causal: false, ..PLAIN };
    check_prefill(dtypes, Layout::Nhd, 64, (4, 2), &sequences, full, false);
    for window in [0, 3, 40] {
        let knobs = Knobs { window, ..PLAIN };
        check_prefill(dtypes, Layout::Nhd, 64, (4, 2), &sequences, knobs, false);
    }
    let capped = Knobs { soft_cap: 1.5, ..PLAIN };
    check_prefill(dtypes, Layout::Nhd, 64, (4, 2), &sequences, capped, false);
    check_prefill(dtypes, Layout::Nhd, 64, (4, 2), &sequences, PLAIN, true);
    check_prefill((DType::BF16, DType::BF16), Layout::Nhd, 128, (4, 2), &sequences, PLAIN, true);
    check_prefill(dtypes, Layout::Nhd, 64, (4, 2), &[(0, 0)], PLAIN, false);
}

#[test]
fn masked_keys_weigh_nothing_and_deep_logits_are_real() {
    // One key with a logit of −60000; its page's other slots hold NaN.
    let mut k = vec![f64::NAN; 32 * 64];
    k[..64].fill(0.0);
    k[0] = -60000.0 / sm_scale(64);
    let mut v = vec![f64::NAN; 32 * 64];
    v[..64].fill(1.0);
    let mut q = vec![0.0; 64];
    q[0] = 1.0;
    let tensors = Tensors::from([
        ("q", Tensor::new(DType::F32, &[1, 1, 64], &q)),
        ("k_cache", Tensor::new(DType::F32, &[1, 32, 1, 64], &k)),
        ("v_cache", Tensor::new(DType::F32, &[1, 32, 1, 64], &v)),
        ("kv_indptr", Tensor::i32(&[0, 1])),
        ("kv_indices", Tensor::i32(&[0])),
        ("kv_last_page_len", Tensor::i32(&[1])),
        ("out", Tensor::poison(DType::F32, &[1, 1, 64])),
        ("lse", Tensor::poison(DType::F32, &[1, 1])),
    ]);
    let case = Case::new("attention.decode").axis("max_kv_len", 32);
    with_knobs(case, 64, PLAIN).check(&tensors, |_, t| {
        assert!(t["out"].values().iter().all(|&x| x == 1.0));
        assert!((t["lse"].values()[0] + 60000.0).abs() < 0.05);
    });
}

#[test]
fn merging_states() {
    let dim = 40usize;
    let run = |states: &[(f64, f64)], sink: Option<f32>| {
        let v: Vec<f64> = states.iter().flat_map(|s| vec![s.0; dim]).collect();
        let lse: Vec<f64> = states.iter().map(|s| s.1).collect();
        let n = states.len() as i64;
        let mut tensors = Tensors::from([
            ("v", Tensor::new(DType::F32, &[1, n, 1, dim as i64], &v)),
            ("lse_in", Tensor::new(DType::F32, &[1, n, 1], &lse)),
            ("out", Tensor::poison(DType::F32, &[1, 1, dim as i64])),
            ("lse", Tensor::poison(DType::F32, &[1, 1])),
        ]);
        if let Some(s) = sink {
            tensors.insert("sinks", Tensor::f32(&[1], &[s]));
        }
        BACKENDS.map(|b| {
            let t = Case::new("attention.merge_states").run(b, &tensors);
            let out = t["out"].values();
            assert!(out.iter().all(|&x| x == out[0]));
            (out[0], t["lse"].values()[0])
        })
    };
    for got in run(&[(0.0, -INF), (0.0, -INF)], None) {
        assert_eq!(got, (0.0, -INF));
    }
    for bad in [-INF, INF, f64::NAN] {
        for got in run(&[(1.0, 0.0), (f64::NAN, bad)], None) {
            assert_eq!(got, (1.0, 0.0), "{bad}");
        }
    }
    for got in run(&[(0.0, 0.0), (1.0, 1.0)], None) {
        assert!((got.0 - 0.731059).abs() < 1e-6 && (got.1 - 1.313262).abs() < 1e-6, "{got:?}");
    }
    let states = [(2.0, 0.5), (3.0, -1.0), (5.0, 2.0)];
    let as_rows: Vec<([f64; 1], f64)> = states.iter().map(|s| ([s.0], s.1)).collect();
    let rows: Vec<(&[f64], f64)> = as_rows.iter().map(|s| (&s.0[..], s.1)).collect();
    for sink in [None, Some(0.75f32)] {
        let (o, l) = merge(&rows, sink.map(f64::from));
        for got in run(&states, sink) {
            assert!((got.0 - o[0]).abs() < 1e-6 && (got.1 - l).abs() < 1e-6, "{sink:?}");
        }
    }
}

#[test]
fn appending_to_slots() {
    let mut noise = Noise(55);
    let (tokens, heads, dim, page) = (5i64, 2i64, 80i64, 4i64);
    let slots = [5i64, -1, 0, 11, -7];
    for (xd, cd) in [
        (DType::F32, DType::F32),
        (DType::F32, DType::F16),
        (DType::BF16, DType::BF16),
        (DType::BF16, DType::F8E4M3),
        (DType::F32, DType::F8E5M2),
    ] {
        for transposed in [false, true] {
            let k = noise.tensor(xd, &[tokens, heads, dim]);
            let v = noise.tensor(xd, &[tokens, heads, dim]);
            let nhd = [3, page, heads, dim];
            let packed = [3, heads, dim, page];
            let name = if transposed { "kt_cache" } else { "k_cache" };
            let k_cache = Tensor::poison(cd, if transposed { &packed } else { &nhd });
            let slot_mapping: Vec<f64> = slots.iter().map(|&s| s as f64).collect();
            let tensors = Tensors::from([
                ("k", k.spread(&[heads * dim * 3, dim, 1], 0)),
                ("v", v.spread(&[heads * dim * 3, dim, 1], 7)),
                ("slot_mapping", Tensor::new(DType::I64, &[tokens], &slot_mapping)),
                (name, k_cache.clone()),
                ("v_cache", Tensor::poison(cd, &nhd)),
            ]);
            let scale = if cd.bits() == 8 { 0.25 } else { 1.0 };
            let case = Case::new("attention.kv_append");
            let case = case.scalar("k_scale", scale).scalar("v_scale", scale);
            case.check(&tensors, |b, t| {
                let (k, v) = (k.values(), v.values());
                let (kc, vc) = (t[name].values(), t["v_cache"].values());
                let mut written = 0;
                for (token, &slot) in slots.iter().enumerate().filter(|s| *s.1 >= 0) {
                    let (p, s) = (slot / page, slot % page);
                    for c in 0..heads * dim {
                        let (h, d) = (c / dim, c % dim);
                        let nhd = (((p * page + s) * heads + h) * dim + d) as usize;
                        let packed = (((p * heads + h) * dim + d) * page + s) as usize;
                        let from = token * (heads * dim) as usize + c as usize;
                        let at = if transposed { packed } else { nhd };
                        assert_eq!(kc[at], round(cd, k[from] / scale), "{b:?} {xd} {cd}");
                        assert_eq!(vc[nhd], round(cd, v[from] / scale), "{b:?} {xd} {cd}");
                        written += 1;
                    }
                }
                let kept = vc.iter().filter(|x| x.is_nan()).count();
                assert_eq!(kept, vc.len() - written, "only the slots are written");
            });
        }
    }
}
