//! Rust crates: `gemm`, `faer`, `rten-gemm`.

use super::{Format, Gemm, Run};

pub(super) fn gemm(p: &Gemm) -> Vec<(String, Run)> {
    match p.format {
        Format::F32 => vec![gemm_f32(p), faer_f32(p), rten_f32(p)],
        Format::I8 => vec![rten_i8(p)],
        Format::Bf16
        | Format::F16
        | Format::Q4_0
        | Format::Q4_1
        | Format::Q5_0
        | Format::Q8_0
        | Format::Q4K
        | Format::Q6K => Vec::new(),
    }
}

fn gemm_f32(p: &Gemm) -> (String, Run) {
    let (m, n, k) = (p.m, p.n, p.k);
    let parallel =
        if p.threads > 1 { gemm::Parallelism::Rayon(p.threads) } else { gemm::Parallelism::None };
    let (a, w) = (p.activations.clone(), vec![p.weights.clone(); p.copies]);
    let mut c = vec![0f32; m * n];
    let run = move |i: usize| {
        let w = &w[i % w.len()];
        // SAFETY: the strides describe `c` [m, n], `a` [m, k] and `w` [n, k] transposed, all within their vectors.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                n as isize,
                false,
                a.as_ptr(),
                1,
                k as isize,
                w.as_ptr(),
                k as isize,
                1,
                0f32,
                1f32,
                false,
                false,
                false,
                parallel,
            );
        }
    };
    ("crate gemm".into(), Box::new(run))
}

fn faer_f32(p: &Gemm) -> (String, Run) {
    use faer::{Accum, MatMut, MatRef, Par};
    let (m, n, k) = (p.m, p.n, p.k);
    let parallel = if p.threads > 1 { Par::rayon(p.threads) } else { Par::Seq };
    let (a, w) = (p.activations.clone(), vec![p.weights.clone(); p.copies]);
    let mut c = vec![0f32; m * n];
    let run = move |i: usize| {
        faer::linalg::matmul::matmul(
            MatMut::from_row_major_slice_mut(&mut c, m, n),
            Accum::Replace,
            MatRef::from_row_major_slice(&a, m, k),
            MatRef::from_column_major_slice(&w[i % w.len()], k, n),
            1f32,
            parallel,
        );
    };
    ("crate faer".into(), Box::new(run))
}

fn rten_f32(p: &Gemm) -> (String, Run) {
    use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
    use rten_tensor::{NdTensor, prelude::*};
    let g = GemmExecutor::<f32, f32, f32>::new();
    let w = NdTensor::from_data([p.n, p.k], p.weights.clone());
    let packed: Vec<_> = (0..p.copies).map(|_| g.prepack_b(w.view().transposed())).collect();
    let a = NdTensor::from_data([p.m, p.k], p.activations.clone());
    let mut c = vec![0f32; p.m * p.n];
    let run = move |i: usize| {
        let b = GemmInputB::Packed(&packed[i % packed.len()]);
        // The shapes agree by construction; a failure would show as an absurd time.
        let _ = g.gemm(&mut c, GemmInputA::Unpacked(a.view()), b, GemmOptions::default());
    };
    ("crate rten-gemm".into(), Box::new(run))
}

fn rten_i8(p: &Gemm) -> (String, Run) {
    use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
    use rten_tensor::{NdTensor, prelude::*};
    let g = GemmExecutor::<u8, i8, i32>::new();
    let q: Vec<i8> = p.weights.iter().map(|x| (x * 64.0).clamp(-127.0, 127.0) as i8).collect();
    let w = NdTensor::from_data([p.n, p.k], q);
    let packed: Vec<_> = (0..p.copies).map(|_| g.prepack_b(w.view().transposed())).collect();
    let q: Vec<u8> = p.activations.iter().map(|x| (x.abs() * 64.0).min(127.0) as u8).collect();
    let a = NdTensor::from_data([p.m, p.k], q);
    let mut c = vec![0i32; p.m * p.n];
    let run = move |i: usize| {
        let b = GemmInputB::Packed(&packed[i % packed.len()]);
        // The shapes agree by construction; a failure would show as an absurd time.
        let _ = g.gemm(&mut c, GemmInputA::Unpacked(a.view()), b, GemmOptions::default());
    };
    ("crate rten-gemm u8s8".into(), Box::new(run))
}
