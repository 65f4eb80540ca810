//! The machine's own limits: what one and two threads can do at most.
//!
//! Every figure is the best of several short runs: a limit is an upper bound, and a shared machine only ever
//! shows less.

use std::arch::x86_64::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Measured limits, for one thread count.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Threads used.
    pub threads: usize,
    /// f32 multiply-add, FLOP/s.
    pub f32_flops: f64,
    /// bf16 dot products, FLOP/s: `vdpbf16ps` where it exists, else the f32 figure (bf16 is widened).
    pub bf16_flops: f64,
    /// int8 dot products, OP/s: `vpdpbusd` where it exists, else `vpmaddubsw` + `vpmaddwd`.
    pub int8_ops: f64,
    /// Streaming read of memory larger than any cache, bytes/s.
    pub dram_read: f64,
}

/// Measures all limits with `threads` threads.
pub fn limits(threads: usize) -> Limits {
    Limits {
        threads,
        f32_flops: rate(threads, f32_burst()),
        bf16_flops: rate(threads, bf16_burst()),
        int8_ops: rate(threads, int8_burst()),
        dram_read: dram_read(threads),
    }
}

/// One call does a fixed amount of work and returns it in operations.
type Burst = fn() -> f64;

fn rate(threads: usize, burst: Burst) -> f64 {
    let once = || {
        let start = Instant::now();
        let total: f64 = std::thread::scope(|s| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    s.spawn(move || {
                        let mut work = 0.0;
                        while start.elapsed() < Duration::from_millis(60) {
                            work += burst();
                        }
                        work
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().unwrap_or(0.0)).sum()
        });
        total / start.elapsed().as_secs_f64()
    };
    (0..7).map(|_| once()).fold(0.0, f64::max)
}

const TRIPS: usize = 20_000;

fn f32_burst() -> Burst {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just detected.
        || unsafe { f32_512() }
    } else {
        // SAFETY: AVX2 and FMA are the least that this project's CPU targets need.
        || unsafe { f32_256() }
    }
}

fn bf16_burst() -> Burst {
    if is_x86_feature_detected!("avx512bf16") {
        // SAFETY: the feature was just detected.
        || unsafe { bf16_512() }
    } else {
        f32_burst()
    }
}

fn int8_burst() -> Burst {
    if is_x86_feature_detected!("avx512vnni") {
        // SAFETY: the feature was just detected.
        || unsafe { int8_512() }
    } else {
        // SAFETY: AVX2 is the least that this project's CPU targets need.
        || unsafe { int8_256() }
    }
}

// Twelve independent chains cover latency 6 at two issues a cycle.
macro_rules! chains {
    ($zero:expr, |$acc:ident| $step:expr) => {{
        let mut a = [$zero; 12];
        for _ in 0..TRIPS {
            for $acc in a.iter_mut() {
                *$acc = $step;
            }
        }
        black_box(a);
    }};
}

#[target_feature(enable = "avx2,fma")]
unsafe fn f32_256() -> f64 {
    let x = black_box(_mm256_set1_ps(1.0001));
    chains!(_mm256_set1_ps(0.5), |acc| _mm256_fmadd_ps(x, x, *acc));
    (TRIPS * 12 * 8 * 2) as f64
}

#[target_feature(enable = "avx512f")]
unsafe fn f32_512() -> f64 {
    let x = black_box(_mm512_set1_ps(1.0001));
    chains!(_mm512_set1_ps(0.5), |acc| _mm512_fmadd_ps(x, x, *acc));
    (TRIPS * 12 * 16 * 2) as f64
}

#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn bf16_512() -> f64 {
    // SAFETY: __m512bh has the same size and no invalid bit patterns.
    let x: __m512bh =
        black_box(unsafe { std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi16(0x3f80)) });
    chains!(_mm512_set1_ps(0.5), |acc| _mm512_dpbf16_ps(*acc, x, x));
    (TRIPS * 12 * 32 * 2) as f64
}

#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn int8_512() -> f64 {
    let x = black_box(_mm512_set1_epi8(3));
    chains!(_mm512_set1_epi32(1), |acc| _mm512_dpbusd_epi32(*acc, x, x));
    (TRIPS * 12 * 64 * 2) as f64
}

#[target_feature(enable = "avx2")]
unsafe fn int8_256() -> f64 {
    let x = black_box(_mm256_set1_epi8(3));
    let ones = black_box(_mm256_set1_epi16(1));
    chains!(_mm256_set1_epi32(1), |acc| {
        let y = black_box_free(x, *acc);
        _mm256_add_epi32(*acc, _mm256_madd_epi16(_mm256_maddubs_epi16(x, y), ones))
    });
    (TRIPS * 12 * 32 * 2) as f64
}

/// Makes the second factor depend on the accumulator, so that the product is not hoisted out of the loop.
#[inline]
#[target_feature(enable = "avx2")]
fn black_box_free(x: __m256i, acc: __m256i) -> __m256i {
    _mm256_or_si256(x, acc)
}

fn dram_read(threads: usize) -> f64 {
    const BYTES: usize = 512 << 20;
    let mut data = vec![0u64; BYTES / 8];
    // SAFETY: the range is ours; the advice only asks for 2 MiB pages and may be refused.
    unsafe { libc::madvise(data.as_mut_ptr().cast(), BYTES, libc::MADV_HUGEPAGE) };
    data.iter_mut().enumerate().for_each(|(i, v)| *v = i as u64);
    let once = || {
        let start = Instant::now();
        std::thread::scope(|s| {
            for part in data.chunks(data.len().div_ceil(threads)) {
                s.spawn(move || {
                    // SAFETY: AVX2 is the least that this project's CPU targets need.
                    black_box(unsafe { sum_256(part) })
                });
            }
        });
        BYTES as f64 / start.elapsed().as_secs_f64()
    };
    (0..7).map(|_| once()).fold(0.0, f64::max)
}

#[target_feature(enable = "avx2")]
unsafe fn sum_256(data: &[u64]) -> i32 {
    let mut a = [_mm256_setzero_si256(); 8];
    for block in data.chunks_exact(32) {
        for (acc, v) in a.iter_mut().zip(block.chunks_exact(4)) {
            // SAFETY: `v` holds 32 readable bytes; the load needs no alignment.
            *acc = _mm256_xor_si256(*acc, unsafe { _mm256_loadu_si256(v.as_ptr().cast()) });
        }
    }
    let all = a.into_iter().fold(_mm256_setzero_si256(), |x, y| _mm256_xor_si256(x, y));
    _mm256_extract_epi32::<0>(all)
}
