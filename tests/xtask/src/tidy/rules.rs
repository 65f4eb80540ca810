//! The rules on one file. Each returns its faults as `file:line: what`.

use super::source::code_only;

/// Where unsafe code may stand, as ends of paths or folders; each such file says why at its top.
const UNSAFE: &[&str] = &[
    "codegen/llvm/src/ffi.rs",
    "runtime/src/launch.rs",
    "runtime/src/capi.rs",
    "runtime/src/dlpack.rs",
    "runtime/src/buffer.rs",
    "runtime/src/pool.rs",
    "runtime/src/device/*/driver.rs",
    "runtime/cuda-loader/*",
    "runtime/hip-loader/*",
    "runtime/sim/src/simd.rs",
    "runtime/examples/generate/src/map.rs",
    "benches/src/peers/*",
    "tests/src/guard.rs",
];

/// Marks of unfinished work. Written apart, so that this file does not contain them.
const MARKS: &[(&str, &str)] = &[
    ("TO", "DO"),
    ("FIX", "ME"),
    ("XX", "X"),
    ("HA", "CK"),
    ("to", "do!("),
    ("unimpl", "emented!("),
];

/// Beginnings of paths of one machine.
const PLACES: &[(&str, &str)] = &[("/ho", "me/"), ("/ro", "ot/"), ("/Us", "ers/"), ("/wo", "rk/")];

/// Rules for every text file.
pub(super) fn any_text(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut fault = |what: String| faults.push(format!("{name}:{}: {what}", i + 1));
        for (a, b) in MARKS {
            if has_word(line, &format!("{a}{b}")) {
                fault(format!("`{a}{b}`: finish it, or open an issue"));
            }
        }
        for (a, b) in PLACES {
            if line.split([' ', '"', '`', '(', '=']).any(|w| w.starts_with(&format!("{a}{b}"))) {
                fault(format!("`{a}{b}…` is a path of one machine"));
            }
        }
        if line.ends_with([' ', '\t', '\r']) {
            fault("white space at the end of the line".into());
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push(format!("{name}: no line end at the end of the file"));
    }
    faults
}

/// Rules for Rust files.
pub(super) fn rust(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !text.starts_with("//! ") && !is_compile_fail_case(name) {
        faults.push(format!("{name}:1: the file does not begin with `//!` and what it is"));
    }
    if name.ends_with("/utils.rs") || name.ends_with("/util.rs") {
        faults.push(format!("{name}: a file is named by what it holds"));
    }
    let code = code_only(text);
    let may_unsafe = UNSAFE.iter().any(|pattern| matches(pattern, name));
    let may_read = name.ends_with("knobs.rs") || name.ends_with("build.rs");
    for (i, line) in code.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("{name}:{}: {what}", i + 1));
        if has_word(line, "unsafe") && !may_unsafe && !line.contains("unsafe(") {
            fault("`unsafe` outside the files that may hold it");
        }
        let reads = ["env::var(", "env::var_os(", "env::vars(", "env::vars_os("];
        if reads.iter().any(|r| line.contains(r)) && !may_read {
            fault("an environment variable is read outside `knobs.rs`");
        }
        if has_word(line, "ignore") && line.trim_start().starts_with("#[ignore") {
            let written = text.lines().nth(i).unwrap_or_default();
            if !written.contains('=') {
                fault("`#[ignore]` without a reason");
            }
        }
    }
    faults
}

/// The variables that a `knobs.rs` names in strings: capital letters, digits and underscores, read
/// by one of its functions.
pub(super) fn knob_names(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .flat_map(|l| [l, "\n"])
        .collect();
    let quoted = code.split('"').skip(1).step_by(2);
    let is_name = |s: &&str| {
        s.len() > 3 && s.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    quoted.filter(is_name).map(str::to_owned).collect()
}

/// Sources that rustc must refuse are as short as can be.
fn is_compile_fail_case(name: &str) -> bool {
    name.contains("/ui/")
}

fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(i, _)| {
        let after = &line[i + word.len()..];
        !inside(line[..i].chars().next_back())
            && (word.ends_with('(') || !inside(after.chars().next()))
    })
}

/// `*` stands for any text without or, at the end, with slashes.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, "")) => name.starts_with(head),
        Some((head, tail)) => name
            .strip_prefix(head)
            .and_then(|rest| rest.strip_suffix(tail))
            .is_some_and(|middle| !middle.is_empty() && !middle.contains('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_rules() {
        assert!(rust("a/src/lib.rs", "//! A.\nfn f() {}\n").is_empty());
        let cases = [
            ("a/src/lib.rs", "fn f() {}\n", "begin"),
            ("a/src/utils.rs", "//! A.\n", "named"),
            ("a/src/lib.rs", "//! A.\nunsafe { g() }\n", "unsafe"),
            ("a/src/lib.rs", "//! A.\nlet x = std::env::var(\"X\");\n", "knobs.rs"),
            ("a/src/lib.rs", "//! A.\n#[ignore]\nfn f() {}\n", "reason"),
        ];
        for (name, text, part) in cases {
            let faults = rust(name, text);
            assert!(faults.len() == 1 && faults[0].contains(part), "{faults:?}");
        }
        let text = "//! A.\nunsafe { g() }\n";
        assert!(rust("runtime/src/device/cpu/driver.rs", text).is_empty());
        assert!(rust("a/src/lib.rs", "//! unsafe\nlet a = \"unsafe\"; // unsafe\n").is_empty());
    }

    #[test]
    fn text_rules() {
        let marked = format!("a {}{} b\n", "TO", "DO");
        assert_eq!(any_text("x.md", &marked).len(), 1);
        assert_eq!(any_text("x.md", "a \nb").len(), 2);
        let place = format!("see {}{}me\n", "/ho", "me/");
        assert_eq!(any_text("x.md", &place).len(), 1);
        assert!(any_text("x.md", "https://a.b/home/c\n").is_empty());
    }

    #[test]
    fn knobs_are_found_by_their_names() {
        let text =
            "//! \"NOT_THIS\"\nfn a() { read(\"TILEWRIGHT_A\"); f(\"b\") }\n// \"NOR_THIS\"\n";
        assert_eq!(knob_names(text), ["TILEWRIGHT_A"]);
    }
}
