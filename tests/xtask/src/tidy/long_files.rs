//! File lengths: no file above the limit, and a reason for each one above the length that asks for
//! one.

/// Above this a file needs a line in [`REASONS`].
const ASK: usize = 600;
/// Above this no reason helps.
const LIMIT: usize = 1000;

/// Files above [`ASK`] lines, and why they are one file. The list may only shrink.
const REASONS: &[(&str, &str)] = &[
    ("codegen/ir/src/layout.rs", "one algebra, half of it its essay and its exhaustive tests"),
    ("codegen/src/interp/random/ops.rs", "one short generator for each tile op"),
    ("codegen/src/lower/cpu/memory.rs", "three forms of one access: whole, in rows, by element"),
    ("codegen/src/lower/cpu/microkernel.rs", "the two forms of one product share their steps"),
];

pub(super) fn check(files: &[(String, usize)]) -> Vec<String> {
    faults(files, REASONS)
}

fn faults(files: &[(String, usize)], reasons: &[(&str, &str)]) -> Vec<String> {
    let mut out = Vec::new();
    for (name, lines) in files {
        let excused = reasons.iter().any(|(file, _)| file == name);
        if *lines > LIMIT {
            out.push(format!("{name}: {lines} lines; the limit is {LIMIT}: split it"));
        } else if *lines > ASK && !excused {
            out.push(format!(
                "{name}: {lines} lines, above {ASK}: split it, or give a reason in long_files.rs"
            ));
        }
    }
    for (file, _) in reasons {
        if !files.iter().any(|(name, lines)| name == file && *lines > ASK) {
            out.push(format!("{file}: needs no line in long_files.rs any more"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn limits_reasons_and_stale_reasons() {
        let files = [("a".into(), 600), ("b".into(), 601), ("c".into(), 1001), ("d".into(), 700)];
        let faults = faults(&files, &[("d", "one table"), ("a", "no more")]);
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
}
