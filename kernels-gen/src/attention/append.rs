//! Writes new keys and values to their slots: one program a token, each element moved once.

use tilewright_abi::DType;
use tilewright_dsl::prelude::*;

/// To the cache's dtype: float8 saturates, the others round to nearest even.
fn store_as<KV: Float>(x: Tile<F32>) -> Tile<KV> {
    match KV::DTYPE {
        DType::F8E4M3 | DType::F8E5M2 => x.cast_sat::<KV>(),
        _ => x.cast::<KV>(),
    }
}

/// Token t goes to slot `slot_mapping[t]`, unless that is negative. `transposed` caches hold K as
/// `[num_pages, num_kv_heads, head_dim, page_size]`.
#[kernel]
pub fn kv_append<X: Float, KV: Float>(
    k: View<X, 3>,
    v: View<X, 3>,
    slot_mapping: View<I64, 1>,
    k_cache: ViewMut<KV, 4>,
    v_cache: ViewMut<KV, 4>,
    k_scale: Scalar<F32>,
    v_scale: Scalar<F32>,
    transposed: bool,
    block: usize,
) {
    let token = program_id(0);
    let slot = slot_mapping.get((token,));
    if slot >= 0 {
        let page_size = v_cache.dim(1);
        let (page, at) = (slot / page_size, slot % page_size);
        for head in range(0, k.dim(1), 1) {
            for d in range(0, k.dim(2), block) {
                let from = [1, 1, block];
                let keys = k.tile((token, head, d), from).load().cast::<F32>().reshape([block]);
                let keys = store_as::<KV>(keys / k_scale); // [sub]
                if transposed {
                    k_cache.tile((page, head, d, at), [1, 1, block, 1]).store(keys);
                } else {
                    k_cache.tile((page, at, head, d), [1, 1, 1, block]).store(keys);
                }
                let values = v.tile((token, head, d), from).load().cast::<F32>().reshape([block]);
                let values = store_as::<KV>(values / v_scale);
                v_cache.tile((page, at, head, d), [1, 1, 1, block]).store(values);
            }
        }
    }
}
