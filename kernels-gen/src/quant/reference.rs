//! What the quantisers mean: naive f32 and f64, one group at a time.

/// Codes, scale and validity of one int8 group. A NaN is code 0 and makes the group invalid; the
/// scale counts the other elements; infinities saturate.
pub fn i8_group(x: &[f32]) -> (Vec<i8>, f32, bool) {
    let amax = x.iter().filter(|v| !v.is_nan()).fold(0f32, |m, v| m.max(v.abs()));
    let scale = (amax.min(f32::MAX) / 127.0).max(2f32.powi(-126));
    let inverse = 1.0 / scale;
    let code = |v: f32| (v * inverse).round_ties_even().clamp(-127.0, 127.0) as i8;
    (x.iter().map(|&v| code(v)).collect(), scale, x.iter().all(|v| !v.is_nan()))
}

/// Codes and scale of one e4m3 group. A NaN element gets the code NaN and touches no other.
pub fn f8_group(x: &[f32]) -> (Vec<u8>, f32) {
    let amax = x.iter().filter(|v| !v.is_nan()).fold(0f32, |m, v| m.max(v.abs()));
    let scale = (amax.min(f32::MAX) / 448.0).max(2f32.powi(-126));
    let inverse = 1.0 / scale;
    (x.iter().map(|&v| f8e4m3_sat(v * inverse)).collect(), scale)
}

/// The nearest e4m3 code, ties to even, saturating.
pub fn f8e4m3_sat(x: f32) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let x = f64::from(x.abs().min(448.0));
    // The grid's step at this magnitude: 2^-9 for subnormals, else an eighth of the power of two
    // below.
    let exponent = (x.max(2f64.powi(-6)).log2().floor() as i32).max(-6);
    let steps = (x / 2f64.powi(exponent - 3)).round_ties_even() as i32;
    // `steps` is 8..=16 for normals (16 carries into the exponent), 0..=8 for subnormals.
    sign | ((exponent + 6) * 8 + steps).min(0x7e) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::reference::f8e4m3;

    #[test]
    fn e4m3_cases() {
        let codes =
            [448., 449., 464., 465., 1000., -1000., f32::INFINITY, f32::NAN].map(f8e4m3_sat);
        assert_eq!(codes, [0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7e, 0x7f]);
        let near = [17f32, 18., 19., 300.].map(|v| f8e4m3(f8e4m3_sat(v)));
        assert_eq!(near, [16., 18., 20., 288.]);
        for code in (0..=255u8).filter(|c| c & 0x7f != 0x7f) {
            assert_eq!(f8e4m3_sat(f8e4m3(code) as f32), code);
        }
    }

    #[test]
    fn groups_keep_nan_to_itself() {
        let (codes, scale, valid) = i8_group(&[0.0, f32::NAN, 127.0, f32::NEG_INFINITY]);
        assert_eq!((codes, valid), (vec![0, 0, 0, -127], false));
        assert!(scale.is_finite());
        let (codes, scale) = f8_group(&[0.0; 4]);
        assert!(codes.iter().all(|&c| c == 0) && scale > 0.0);
    }
}
