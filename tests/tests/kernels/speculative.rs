//! Speculative acceptance: the reference to the bit, greedy rows, and the distribution of outputs.

use super::harness::{Backend, Case, Noise, Tensor, Tensors};
use tilewright_abi::DType;
use tilewright_kernels::sampler::reference;

fn probabilities(noise: &mut Noise, vocab: usize) -> Vec<f32> {
    let w: Vec<f32> = (0..vocab).map(|_| (noise.normal() as f32 * 1.5).exp()).collect();
    let sum: f32 = w.iter().sum();
    w.iter().map(|x| x / sum).collect()
}

fn operands(draft: &[i32], q: &[f32], p: &[f32], vocab: i64, seeds: &[u64]) -> Tensors {
    let batch = seeds.len() as i64;
    let len = draft.len() as i64 / batch;
    let ids: Vec<f64> = draft.iter().map(|&x| f64::from(x)).collect();
    Tensors::from([
        ("draft_ids", Tensor::new(DType::I32, &[batch, len], &ids)),
        ("draft_probs", Tensor::f32(&[batch, len, vocab], q)),
        ("target_probs", Tensor::f32(&[batch, len + 1, vocab], p)),
        ("seed", Tensor::u64(seeds)),
        ("offset", Tensor::u64(&vec![5; batch as usize])),
        ("ids", Tensor::poison(DType::I32, &[batch, len + 1])),
        ("num_accepted", Tensor::poison(DType::I32, &[batch])),
    ])
}

#[test]
fn rows_equal_the_reference() {
    let mut noise = Noise(71);
    let (vocab, len, batch) = (37usize, 3usize, 12usize);
    let many = |noise: &mut Noise, n: usize| -> Vec<f32> {
        (0..n).flat_map(|_| probabilities(noise, vocab)).collect()
    };
    let mut q = many(&mut noise, batch * len);
    let p = many(&mut noise, batch * (len + 1));
    // Row 0: target and draft agree; everything is accepted.
    for i in 0..len {
        q[i * vocab..][..vocab].copy_from_slice(&p[i * vocab..][..vocab]);
    }
    let mut draft: Vec<i32> = (0..batch * len).map(|_| noise.below(vocab) as i32).collect();
    draft[5] = -1;
    let seeds: Vec<u64> = (0..batch as u64).map(|i| i * 977).collect();
    let t = operands(&draft, &q, &p, vocab as i64, &seeds);
    Case::new("sampler.rejection_sample").check(&t, |b, t| {
        let (ids, accepted) = (t["ids"].ints(), t["num_accepted"].ints());
        for row in 0..batch {
            let of = |x: &'_ [f32], n: usize| -> Vec<Vec<f32>> {
                x[row * n * vocab..][..n * vocab].chunks(vocab).map(<[f32]>::to_vec).collect()
            };
            let (q, p) = (of(&q, len), of(&p, len + 1));
            let q: Vec<&[f32]> = q.iter().map(Vec::as_slice).collect();
            let p: Vec<&[f32]> = p.iter().map(Vec::as_slice).collect();
            let own = &draft[row * len..][..len];
            let (want, n) = reference::rejection_sample(own, &q, &p, seeds[row], 5);
            assert_eq!(ids[row * (len + 1)..][..len + 1], want, "{b:?} row {row}");
            assert_eq!(accepted[row], n, "{b:?} row {row}");
        }
        assert_eq!(accepted[0], len as i32);
    });
}

#[test]
fn greedy_rows_accept_on_equality() {
    let vocab = 20usize;
    let mut p = vec![0.0f32; 4 * vocab];
    for (i, best) in [7usize, 3, 19, 0].iter().enumerate() {
        p[i * vocab + best] = 1.0;
    }
    for (draft, want, n) in [
        ([7, 3, 19], [7, 3, 19, 0], 3),
        ([7, 4, 19], [7, 3, -1, -1], 1),
        ([-1, 3, 19], [7, -1, -1, -1], 0),
    ] {
        let t = operands(&draft, &vec![0.0; 3 * vocab], &p, vocab as i64, &[1]);
        let case = Case::new("sampler.rejection_sample").attr("mode", "greedy");
        case.check(&t, |b, t| {
            assert_eq!(t["ids"].ints(), want, "{b:?}");
            assert_eq!(t["num_accepted"].ints(), [n]);
        });
    }
}

#[test]
fn outputs_follow_the_target() {
    let mut noise = Noise(72);
    let (vocab, n) = (6usize, 6000usize);
    let (p, q) = (probabilities(&mut noise, vocab), probabilities(&mut noise, vocab));
    // Drafts are drawn from q by inversion.
    let mut draw = || {
        let u = (noise.float() as f32 + 1.0) / 2.0;
        let mut sum = 0.0;
        let at = q.iter().position(|x| {
            sum += x;
            u < sum
        });
        at.unwrap_or(vocab - 1) as i32
    };
    let draft: Vec<i32> = (0..n).map(|_| draw()).collect();
    let seeds: Vec<u64> = (0..n as u64).collect();
    let t = operands(&draft, &q.repeat(n), &p.repeat(2 * n), vocab as i64, &seeds);
    let t = Case::new("sampler.rejection_sample").run(Backend::Compiled, &t);
    let ids = t["ids"].ints();
    let mut chi = 0.0;
    for (token, p) in p.iter().enumerate() {
        let count = ids.iter().step_by(2).filter(|&&id| id == token as i32).count() as f64;
        let want = f64::from(*p) * n as f64;
        chi += (count - want).powi(2) / want;
    }
    assert!(chi < 20.5, "chi-square {chi} with 5 degrees of freedom");
}
