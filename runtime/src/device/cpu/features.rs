//! What this machine's processor can execute, by the names that manifests use (Rust's own).

/// Names of all features that are there and not masked, sorted.
pub(super) fn detect(off: &[String]) -> Vec<String> {
    let there = all().into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned());
    let mut found: Vec<String> = there.filter(|name| !off.contains(name)).collect();
    found.sort();
    found
}

/// Names of all features that can be found, on whatever machine: a target that needs another is never
/// picked.
pub fn known_features() -> Vec<&'static str> {
    all().into_iter().map(|(name, _)| name).collect()
}

/// Every known feature, and whether this machine has it.
#[cfg(target_arch = "x86_64")]
fn all() -> Vec<(&'static str, bool)> {
    // The macro takes literals only.
    macro_rules! table {
        ($($name:tt),* $(,)?) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    let mut rows = table![
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
        "sha",
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
    ]
    .to_vec();
    rows.extend(amx());
    rows
}

/// AMX is there when the processor has it, the system saves its registers, and grants them.
#[cfg(target_arch = "x86_64")]
fn amx() -> [(&'static str, bool); 3] {
    let (leaf1, leaf7) = (std::arch::x86_64::__cpuid(1), std::arch::x86_64::__cpuid_count(7, 0));
    let osxsave = leaf1.ecx >> 27 & 1 == 1;
    let usable = osxsave && leaf7.edx >> 24 & 1 == 1 && super::driver::permit_amx();
    let there = |bit: u32| usable && leaf7.edx >> bit & 1 == 1;
    [("amx-tile", there(24)), ("amx-bf16", there(22)), ("amx-int8", there(25))]
}

#[cfg(not(target_arch = "x86_64"))]
fn all() -> Vec<(&'static str, bool)> {
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
