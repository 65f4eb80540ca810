//! What this machine's processor can execute, by the names that manifests use (Rust's own).

/// Names of all features that are there and not masked, sorted.
pub(super) fn detect(off: &[String]) -> Vec<String> {
    let mut found = all();
    found.retain(|name| !off.iter().any(|o| o == name));
    found.sort();
    found
}

#[cfg(target_arch = "x86_64")]
fn all() -> Vec<String> {
    // The macro takes literals only.
    macro_rules! table {
        ($($name:tt),* $(,)?) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let rows = table![
        "sse2",
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "avx",
        "avx2",
        "fma",
        "f16c",
        "bmi1",
        "bmi2",
        "lzcnt",
        "movbe",
        "aes",
        "pclmulqdq",
        "avxvnni",
        "avxifma",
        "gfni",
        "vaes",
        "vpclmulqdq",
        "avx512f",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512vl",
        "avx512vbmi",
        "avx512vbmi2",
        "avx512bitalg",
        "avx512ifma",
        "avx512vpopcntdq",
        "avx512vnni",
        "avx512bf16",
        "avx512fp16",
    ];
    let mut found: Vec<String> =
        rows.iter().filter(|(_, there)| *there).map(|(name, _)| (*name).to_owned()).collect();
    found.extend(amx());
    found
}

/// AMX is there when the processor has it, the system saves its registers, and grants them.
#[cfg(target_arch = "x86_64")]
fn amx() -> Vec<String> {
    let (leaf1, leaf7) = (std::arch::x86_64::__cpuid(1), std::arch::x86_64::__cpuid_count(7, 0));
    let osxsave = leaf1.ecx >> 27 & 1 == 1;
    if !osxsave || leaf7.edx >> 24 & 1 == 0 || !super::driver::permit_amx() {
        return Vec::new();
    }
    let rows = [("amx-tile", 24), ("amx-bf16", 22), ("amx-int8", 25)];
    rows.iter().filter(|(_, b)| leaf7.edx >> b & 1 == 1).map(|(n, _)| (*n).to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn all() -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::detect;

    #[test]
    fn a_mask_takes_features_away() {
        let all = detect(&[]);
        if let Some(first) = all.first() {
            assert!(!detect(std::slice::from_ref(first)).contains(first));
        }
        assert!(all.is_sorted());
    }
}
