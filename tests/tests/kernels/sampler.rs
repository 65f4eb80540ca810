//! Samplers: S1 to S24, against the sorting reference and by what must hold of any sample.

use super::harness::{BACKENDS, Backend, Case, Noise, Tensor, Tensors};
use tilewright_abi::DType;
use tilewright_kernels::sampler::reference::{self, Params};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;
const OFF: Params =
    Params { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed: 42, offset: 0 };

fn operands(dtype: DType, rows: &[Vec<f32>], params: &[Params]) -> Tensors {
    let (batch, vocab) = (rows.len() as i64, rows.first().map_or(8, Vec::len) as i64);
    let values: Vec<f64> = rows.concat().into_iter().map(f64::from).collect();
    let column =
        |f: fn(&Params) -> f32| Tensor::f32(&[batch], &params.iter().map(f).collect::<Vec<f32>>());
    let k: Vec<i32> = params.iter().map(|p| p.top_k).collect();
    Tensors::from([
        ("logits", Tensor::new(dtype, &[batch, vocab], &values)),
        ("temperature", column(|p| p.temperature)),
        ("top_k", Tensor::i32(&k)),
        ("top_p", column(|p| p.top_p)),
        ("min_p", column(|p| p.min_p)),
        ("status", Tensor::poison(DType::I32, &[batch])),
    ])
}

fn sample_on(b: Backend, dtype: DType, rows: &[Vec<f32>], params: &[Params]) -> Vec<(i32, i32)> {
    let mut t = operands(dtype, rows, params);
    let batch = rows.len() as i64;
    t.insert("seed", Tensor::u64(&params.iter().map(|p| p.seed).collect::<Vec<u64>>()));
    t.insert("offset", Tensor::u64(&params.iter().map(|p| p.offset).collect::<Vec<u64>>()));
    t.insert("ids", Tensor::poison(DType::I32, &[batch]));
    let t = Case::new("sampler.sample").run(b, &t);
    t["ids"].ints().into_iter().zip(t["status"].ints()).collect()
}

fn filter_on(b: Backend, dtype: DType, rows: &[Vec<f32>], params: &[Params]) -> Vec<Vec<f32>> {
    let mut t = operands(dtype, rows, params);
    let dims = t["logits"].dims.clone();
    t.insert("out", Tensor::poison(DType::F32, &dims));
    let t = Case::new("sampler.filter").run(b, &t);
    t["out"].floats().chunks(dims[1] as usize).map(<[f32]>::to_vec).collect()
}

/// Sample and filter of one row, on both backends, are the reference's to the bit.
fn check(row: &[f32], p: Params) {
    let want = reference::sample(row, p);
    let rows = [row.to_vec()];
    for b in BACKENDS.into_iter().filter(|b| *b == Backend::Compiled || row.len() <= 9000) {
        let what = || format!("{b:?} {p:?} of {} logits", row.len());
        assert_eq!(sample_on(b, DType::F32, &rows, &[p])[0], want, "{}", what());
        let got = filter_on(b, DType::F32, &rows, &[p]).remove(0);
        let kept = reference::filter(row, p).unwrap_or_else(|_| vec![-INF; row.len()]);
        let first = got.iter().zip(&kept).position(|(g, w)| g != w);
        assert_eq!(first, None, "{}: {:?}", what(), first.map(|i| (got[i], kept[i])));
    }
}

fn logits(noise: &mut Noise, vocab: usize, spread: f64) -> Vec<f32> {
    (0..vocab).map(|_| (noise.normal() * spread) as f32).collect()
}

/// The indices that survive.
fn kept(row: &[f32], p: Params) -> Vec<usize> {
    let got = BACKENDS.map(|b| filter_on(b, DType::F32, &[row.to_vec()], &[p]).remove(0));
    assert_eq!(got[0], got[1]);
    (0..row.len()).filter(|&i| got[0][i] > -INF).collect()
}

#[test]
fn every_width_equals_the_sort() {
    let mut noise = Noise(61);
    let widths = [1, 2, 31, 32, 33, 63, 64, 65, 1024, 1025, 4095, 4096, 4097, 8448];
    for vocab in widths {
        let row = logits(&mut noise, vocab, 3.0);
        check(&row, OFF);
        for top_k in [1, 2, 50, vocab as i32 - 1] {
            check(&row, Params { top_k, ..OFF });
        }
        check(&row, Params { top_p: 0.9, ..OFF });
        check(&row, Params { min_p: 0.1, ..OFF });
        let all = Params { temperature: 0.7, top_k: 40, top_p: 0.8, min_p: 0.02, ..OFF };
        check(&row, all);
        check(&row, Params { seed: u64::MAX, offset: 1 << 33, ..all });
    }
}

#[test]
fn large_vocabularies() {
    let mut noise = Noise(62);
    for vocab in [32000, 50257, 128_256, 151_936, 262_144] {
        let row = logits(&mut noise, vocab, 3.0);
        check(&row, OFF);
        check(&row, Params { top_k: 50, top_p: 0.9, ..OFF });
        check(&row, Params { top_k: 5000, ..OFF });
        check(&row, Params { top_p: 0.95, ..OFF });
        check(&row, Params { top_p: 0.999, temperature: 0.5, ..OFF });
        check(&row, Params { min_p: 0.05, temperature: 1.3, ..OFF });
    }
    check(&vec![0.25; 151_936], Params { top_p: 0.999, ..OFF });
    check(&vec![0.25; 151_936], Params { top_k: 100_000, top_p: 0.5, ..OFF });
}

#[test]
fn ties_are_kept_by_index() {
    let row = vec![5.0, 4.0, 4.0, 4.0, 0.0];
    assert_eq!(kept(&row, Params { top_k: 2, ..OFF }), [0, 1]);
    let p = Params { top_k: 2, ..OFF };
    for batch in [1usize, 7, 8, 64] {
        let rows = vec![row.clone(); batch];
        for b in BACKENDS {
            for out in filter_on(b, DType::F32, &rows, &vec![p; batch]) {
                assert_eq!(out, [5.0, 4.0, -INF, -INF, -INF]);
            }
        }
    }
    let many: Vec<f32> = (0..1000).map(|i| (i % 3) as f32).collect();
    for top_k in [1, 333, 334, 400, 999] {
        check(&many, Params { top_k, ..OFF });
    }
    for top_p in [0.1, 0.5, 0.665, 0.9, 0.99] {
        check(&many, Params { top_p, ..OFF });
    }
}

#[test]
fn an_exact_hit_keeps_no_extra() {
    let row: Vec<f32> = [0.5f32, 0.25, 0.125, 0.125].iter().map(|p| p.ln()).collect();
    assert_eq!(kept(&row, Params { top_p: 0.75, ..OFF }), [0, 1]);
    assert_eq!(kept(&row, Params { top_p: 0.0, ..OFF }), [0]);
    assert_eq!(kept(&row, Params { top_p: 0.76, ..OFF }), [0, 1, 2]);
}

#[test]
fn top_p_keeps_the_shortest_prefix() {
    let mut noise = Noise(63);
    for _ in 0..5 {
        let row = logits(&mut noise, 500, 2.0);
        let m = row.iter().copied().fold(-INF, f32::max);
        let total: f64 = row.iter().map(|&v| f64::from(v - m).exp()).sum();
        let ids = kept(&row, Params { top_p: 0.9, ..OFF });
        let p: Vec<f64> = ids.iter().map(|&i| f64::from(row[i] - m).exp() / total).collect();
        let (mass, least) = (p.iter().sum::<f64>(), p.iter().copied().fold(1.0, f64::min));
        assert!(mass >= 0.9 - 1e-6 && mass - least < 0.9 + 1e-6, "{mass} {least}");
    }
}

#[test]
fn off_values_keep_everything() {
    let mut noise = Noise(64);
    let row = logits(&mut noise, 100, 2.0);
    for top_k in [0, -1, 100, 101, i32::MAX] {
        assert_eq!(kept(&row, Params { top_k, ..OFF }).len(), 100, "{top_k}");
    }
    assert_eq!(kept(&row, Params { min_p: 0.0, ..OFF }).len(), 100);
    let twins = vec![1.0, 3.0, 3.0, 2.999];
    assert_eq!(kept(&twins, Params { min_p: 1.0, ..OFF }), [1, 2]);
}

#[test]
fn one_hot_rows_whatever_the_noise() {
    let mut row = vec![-INF; 32000];
    row[1] = 0.0;
    for seed in 0..3 {
        check(&row, Params { seed, top_k: 1 << 30, ..OFF });
        assert_eq!(reference::sample(&row, Params { seed, ..OFF }), (1, 0));
    }
}

#[test]
fn invalid_rows_touch_no_other() {
    let mut onehot = vec![-INF; 8];
    onehot[3] = 1.0;
    let rows = [vec![NAN; 8], onehot.clone(), vec![-INF; 8], onehot];
    let variants = [
        OFF,
        Params { top_k: 2, ..OFF },
        Params { top_p: 0.9, ..OFF },
        Params { min_p: 0.1, ..OFF },
    ];
    for b in BACKENDS {
        for p in variants {
            let got = sample_on(b, DType::F32, &rows, &[p; 4]);
            assert_eq!(got, [(-1, 1), (3, 0), (-1, 1), (3, 0)], "{b:?} {p:?}");
        }
    }
    let mut wide = vec![NAN; 163_840];
    check(&wide, OFF);
    wide.fill(-INF);
    check(&wide, OFF);
    wide[77_777] = INF;
    check(&wide, OFF);
    assert_eq!(reference::sample(&wide, OFF), (77_777, 0));
    wide[99_999] = INF;
    check(&wide, OFF);
    let mut one_nan = vec![0.0; 200];
    one_nan[150] = NAN;
    check(&one_nan, OFF);
}

#[test]
fn temperatures() {
    let row = vec![1.0, -INF, 0.0];
    let greedy = Params { temperature: 0.0, ..OFF };
    for b in BACKENDS {
        let got = sample_on(b, DType::F32, &[row.clone(), row.clone()], &[greedy, OFF]);
        assert_eq!(got[0], (0, 0));
        assert_ne!(got[1].0, 1);
        // f16 logits: all mass on the last, or greedy below 1e-5.
        let close = vec![2.875, 2.955, 11.0625];
        for temperature in [1e-4, 1e-5, 1e-12, 1e-38] {
            let p = Params { temperature, ..OFF };
            assert_eq!(sample_on(b, DType::F16, std::slice::from_ref(&close), &[p]), [(2, 0)]);
        }
    }
    for temperature in [-0.5, NAN, -INF] {
        check(&row, Params { temperature, ..OFF });
        assert_eq!(reference::sample(&row, Params { temperature, ..OFF }), (-1, 2));
    }
    assert_eq!(kept(&row, Params { temperature: INF, ..OFF }), [0, 2]);
    check(&row, Params { temperature: INF, ..OFF });
    for (top_p, min_p) in [(-0.1, 0.0), (1.1, 0.0), (NAN, 0.0), (1.0, 1.5), (1.0, NAN)] {
        let p = Params { top_p, min_p, ..OFF };
        check(&row, p);
        assert_eq!(reference::sample(&row, p).1, 2, "{p:?}");
    }
}

#[test]
fn draws_depend_on_seed_and_offset_alone() {
    let mut noise = Noise(65);
    let row = logits(&mut noise, 300, 1.0);
    let seeds = [1111, 2222, 3333, 4444];
    for b in BACKENDS {
        for base in [OFF, Params { top_k: 100, ..OFF }] {
            let of = |seeds: &[u64]| {
                let params: Vec<Params> =
                    seeds.iter().map(|&seed| Params { seed, ..base }).collect();
                sample_on(b, DType::F32, &vec![row.clone(); seeds.len()], &params)
            };
            let got = of(&seeds);
            let back = of(&[4444, 2222, 1111, 3333]);
            assert_eq!([back[2], back[1], back[3], back[0]], got[..]);
            for (seed, want) in seeds.iter().zip(&got) {
                assert_eq!(of(&[*seed])[0], *want);
            }
        }
    }
}

#[test]
fn frequencies_follow_the_probabilities() {
    let row = vec![0.0, 1.0, -1.0, -INF, 0.5];
    let m: f64 = row.iter().map(|&v: &f32| f64::from(v).exp()).sum();
    let n = 4000usize;
    let params: Vec<Params> = (0..n as u64).map(|offset| Params { offset, ..OFF }).collect();
    let got = sample_on(Backend::Compiled, DType::F32, &vec![row.clone(); n], &params);
    let mut chi = 0.0;
    for (i, v) in row.iter().enumerate() {
        let want = f64::from(*v).exp() / m * n as f64;
        let count = got.iter().filter(|g| g.0 == i as i32).count() as f64;
        assert!(want > 0.0 || count == 0.0);
        chi += if want > 0.0 { (count - want).powi(2) / want } else { 0.0 };
    }
    assert!(chi < 16.3, "chi-square {chi} with 3 degrees of freedom");
}

#[test]
fn argmax_of_odd_rows() {
    let rows: [(Vec<f32>, i32); 7] = [
        (vec![NAN, 6.0, 8.0], 0),
        (vec![INF, NAN, 1.0], 1),
        (vec![3.0, 3.0, 1.0], 0),
        (vec![-0.0, 0.0, -1.0], 0),
        (vec![-INF; 3], 0),
        (vec![1.0, 2.0, 3.0], 2),
        (vec![-5.0, -6.0, -5.0], 0),
    ];
    let flat: Vec<f64> = rows.iter().flat_map(|r| r.0.iter().map(|&v| f64::from(v))).collect();
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let t = Tensors::from([
            ("logits", Tensor::new(dtype, &[7, 3], &flat)),
            ("ids", Tensor::poison(DType::I32, &[7])),
        ]);
        Case::new("sampler.argmax").check(&t, |b, t| {
            let want: Vec<i32> = rows.iter().map(|r| r.1).collect();
            assert_eq!(t["ids"].ints(), want, "{b:?} {dtype}");
        });
    }
    let mut noise = Noise(66);
    for vocab in [63usize, 64, 65, 4097, 9000] {
        let row = logits(&mut noise, vocab, 1.0);
        let t = Tensors::from([
            ("logits", Tensor::f32(&[1, vocab as i64], &row)),
            ("ids", Tensor::poison(DType::I32, &[1])),
        ]);
        Case::new("sampler.argmax").check(&t, |_, t| {
            assert_eq!(t["ids"].ints()[0] as usize, reference::argmax(&row));
        });
    }
}

#[test]
fn edits_stay_in_their_rows() {
    let mut noise = Noise(67);
    let vocab = 100usize;
    let row = logits(&mut noise, 2 * vocab, 2.0);
    let logits = Tensor::f32(&[2, 100], &row).spread(&[103, 1], 1);
    let words: Vec<i32> = (0..8).map(|i| if i == 1 { -1 } else { noise.bits() as i32 }).collect();
    let bits: Vec<f64> = words.iter().map(|&w| f64::from(w)).collect();
    let t = Tensors::from([
        ("logits", logits.clone()),
        ("bitmask", Tensor::new(DType::I32, &[2, 4], &bits)),
    ]);
    Case::new("sampler.apply_bitmask").check(&t, |b, t| {
        for (i, got) in t["logits"].floats().into_iter().enumerate() {
            let (r, v) = (i / vocab, i % vocab);
            let allowed = words[r * 4 + v / 32] >> (v % 32) & 1 == 1;
            assert_eq!(got, if allowed { row[i] } else { -INF }, "{b:?} {i}");
        }
    });
    let ids = [5.0, 100.0, -1.0, 5.0, 99.0, 0.0, 1.0, 2.0];
    let values = [1.0, 9.0, 9.0, -INF, 0.5, 0.25, 9.0, 9.0];
    let t = Tensors::from([
        ("logits", logits.clone()),
        ("bias_ids", Tensor::new(DType::I32, &[2, 4], &ids)),
        ("bias_values", Tensor::f32(&[2, 4], &values)),
        ("bias_len", Tensor::i32(&[4, 2])),
        ("status", Tensor::i32(&[0, 0])),
    ]);
    Case::new("sampler.apply_logit_bias").check(&t, |b, t| {
        let mut want = row.clone();
        want[5] = -INF;
        want[vocab + 99] += 0.5;
        want[vocab] += 0.25;
        assert_eq!(t["logits"].floats(), want, "{b:?}");
        assert_eq!(t["status"].ints(), [4, 0]);
        let poison = |t: &Tensor| t.bytes.iter().filter(|&&b| b == 0xff).count();
        assert!(poison(&t["logits"]) >= 4 * 4, "the guard words are intact");
    });
    let counts = |noise: &mut Noise| -> Vec<f64> {
        (0..2 * vocab).map(|_| f64::from(noise.bits() % 5).max(2.0) - 2.0).collect()
    };
    let (prompt, output) = (counts(&mut noise), counts(&mut noise));
    let t = Tensors::from([
        ("logits", logits),
        ("prompt_counts", Tensor::new(DType::I32, &[2, 100], &prompt)),
        ("output_counts", Tensor::new(DType::I32, &[2, 100], &output)),
        ("repetition", Tensor::f32(&[2], &[1.3, 0.9])),
        ("frequency", Tensor::f32(&[2], &[0.2, -0.1])),
        ("presence", Tensor::f32(&[2], &[0.5, 0.0])),
    ]);
    Case::new("sampler.apply_penalties").check(&t, |b, t| {
        let rules = [(1.3, 0.2, 0.5), (0.9, -0.1, 0.0)];
        for (i, got) in t["logits"].floats().into_iter().enumerate() {
            let (r, f, p) = rules[i / vocab];
            let want = reference::penalise(row[i], prompt[i] as i32, output[i] as i32, r, f, p);
            assert_eq!(got, want, "{b:?} {i}");
        }
    });
}

#[test]
fn top_logprobs_of_odd_lengths() {
    let mut noise = Noise(68);
    for (vocab, top_n) in [(1usize, 2usize), (50, 51), (65, 1), (1000, 20), (5000, 100)] {
        let mut row = logits(&mut noise, vocab, 2.0);
        if vocab > 60 {
            row[3] = row[60];
            row[10..50].fill(-INF);
        }
        let exact: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        let (logprobs, _) = tilewright_kernels::softmax::reference::log_softmax(&exact);
        let mut order: Vec<usize> = (0..vocab).filter(|&i| row[i] > -INF).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
        let chosen = vocab / 2;
        let n = top_n as i64;
        let t = Tensors::from([
            ("logits", Tensor::f32(&[1, vocab as i64], &row)),
            ("chosen", Tensor::i32(&[chosen as i32])),
            ("ids", Tensor::poison(DType::I32, &[1, n])),
            ("logprobs", Tensor::poison(DType::F32, &[1, n])),
            ("chosen_logprob", Tensor::poison(DType::F32, &[1])),
            ("chosen_rank", Tensor::poison(DType::I32, &[1])),
        ]);
        Case::new("sampler.top_logprobs").check(&t, |b, t| {
            let (ids, got) = (t["ids"].ints(), t["logprobs"].values());
            for i in 0..top_n {
                let want = order.get(i).map_or(-1, |&v| v as i32);
                assert_eq!(ids[i], want, "{b:?} {vocab} {i}");
                match order.get(i) {
                    Some(&v) => assert!((got[i] - logprobs[v]).abs() < 2e-5),
                    None => assert_eq!(got[i], f64::NEG_INFINITY),
                }
            }
            let rank = row.iter().filter(|&&v| v > row[chosen]).count() as i32;
            assert_eq!(t["chosen_rank"].ints(), [rank]);
            let own = t["chosen_logprob"].values()[0];
            assert!(own == logprobs[chosen] || (own - logprobs[chosen]).abs() < 2e-5);
        });
    }
}

#[test]
fn no_rows() {
    for b in BACKENDS {
        assert!(sample_on(b, DType::F32, &[], &[]).is_empty());
    }
}
