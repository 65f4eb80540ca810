//! Embedding look-ups: every dtype and block format, ids outside the table.

use super::harness::{Case, Noise, Tensor, Tensors};
use tilewright_abi::DType;
use tilewright_kernels::common::format::Source;
use tilewright_kernels::embedding::space::DTYPES;
use tilewright_kernels::gemm::reference::dequantise;

const IDS: [i32; 6] = [3, 0, -1, 4, 5, 3];

fn rows(table: &[f64], hidden: usize) -> Vec<f64> {
    let row = |id: &i32| match usize::try_from(*id) {
        Ok(i) if i < 5 => table[i * hidden..][..hidden].to_vec(),
        _ => vec![0.0; hidden],
    };
    IDS.iter().flat_map(row).collect()
}

#[test]
fn float_tables() {
    let mut noise = Noise(31);
    for (table, out) in DTYPES {
        for hidden in [1i64, 63, 64, 65, 576] {
            let t = noise.tensor(table, &[5, hidden]);
            let want = rows(&t.values(), hidden as usize);
            let tensors = Tensors::from([
                ("ids", Tensor::i32(&IDS)),
                ("table", t.spread(&[hidden + 3, 1], 0)),
                ("out", Tensor::poison(out, &[6, hidden])),
            ]);
            Case::new("embedding.gather").check(&tensors, |b, t| {
                assert_eq!(t["out"].values(), want, "{b:?} {table} {out} {hidden}");
            });
        }
    }
}

#[test]
fn block_formats() {
    let mut noise = Noise(32);
    for source in Source::ALL {
        let Some(block) = source.block() else { continue };
        for blocks in [1usize, 3] {
            let hidden = blocks * block.len;
            let row_bytes = blocks * block.bytes;
            let mut bytes: Vec<u8> = (0..5 * row_bytes).map(|_| noise.bits() as u8).collect();
            // Scales are small and finite: clear the top exponent bits of every f16 that is one.
            for b in bytes.chunks_mut(block.bytes) {
                let scales: &[usize] = match source {
                    Source::Q4_1 | Source::Q4K => &[1, 3],
                    Source::Q6K => &[209],
                    _ => &[1],
                };
                scales.iter().for_each(|&i| b[i] &= 0xbf);
            }
            let table = dequantise(source, &bytes, 5, hidden).expect("whole blocks");
            let want: Vec<f64> =
                rows(&table, hidden).into_iter().map(|x| f64::from(x as f32)).collect();
            let dims = vec![5, row_bytes as i64];
            let strides = vec![row_bytes as i64, 1];
            let tensors = Tensors::from([
                ("ids", Tensor::i32(&IDS)),
                ("table", Tensor { dtype: DType::U8, dims, strides, offset: 0, bytes }),
                ("out", Tensor::poison(DType::F32, &[6, hidden as i64])),
            ]);
            let case = Case::new("embedding.gather_gguf").attr("format", source.name());
            case.check(&tensors, |b, t| {
                assert_eq!(t["out"].values(), want, "{b:?} {}", source.name());
            });
        }
    }
}
