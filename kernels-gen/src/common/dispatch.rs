//! From a dtype known at run time to an element type known to rustc.

/// Calls `$body` with `$t` the element type of a float dtype; f32 for any other.
macro_rules! for_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            tilewright_abi::DType::BF16 => {
                type $t = tilewright_dsl::prelude::BF16;
                $body
            }
            tilewright_abi::DType::F16 => {
                type $t = tilewright_dsl::prelude::F16;
                $body
            }
            tilewright_abi::DType::F8E4M3 => {
                type $t = tilewright_dsl::prelude::F8E4M3;
                $body
            }
            _ => {
                type $t = tilewright_dsl::prelude::F32;
                $body
            }
        }
    };
}
pub(crate) use for_float;

/// As [`for_float`], with f8e5m2 besides.
macro_rules! for_cache_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            tilewright_abi::DType::F8E5M2 => {
                type $t = tilewright_dsl::prelude::F8E5M2;
                $body
            }
            other => $crate::common::dispatch::for_float!(other, $t => $body),
        }
    };
}
pub(crate) use for_cache_float;
