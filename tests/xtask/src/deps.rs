//! The arrows between crates, and the size of what a server embeds.
//!
//! The table of allowed arrows is the one in ARCHITECTURE.md, so that text and check cannot differ.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::Result;
use crate::{say, shell, workspace};

/// Stands for every crate.
const ANY: &str = "*";

/// Third-party crates that belong to one place: the bindings of LLVM, and what parses Rust.
const CONFINED: &[(&str, &[&str])] = &[
    ("inkwell", &["tilewright-llvm"]),
    ("llvm-sys", &["tilewright-llvm"]),
    ("syn", &["tilewright-macros"]),
    ("quote", &["tilewright-macros"]),
    ("proc-macro2", &["tilewright-macros"]),
];

/// Most crates a server may get with the runtime and no features.
const RUNTIME_BUDGET: usize = 12;
/// What must not be among them.
const NOT_IN_RUNTIME: &[&str] = &[
    "inkwell",
    "llvm-sys",
    "syn",
    "tilewright-ir",
    "tilewright-dsl",
    "tilewright-codegen",
    "tilewright-llvm",
    "tilewright-kernels",
];

/// Crates and, for each, the workspace crates it depends on.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Checks all arrows; an error lists every one that should not be.
pub(crate) fn run() -> Result {
    let metadata =
        shell::output(shell::cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|e| format!("`cargo metadata`: {e}"))?;
    let arrows = arrows(&metadata);
    let path = workspace::root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("`{}`: {e}", path.display()))?;
    let table = table(&text);
    let mut faults = check(&arrows, &table);
    faults.extend(cycle(&arrows));
    let tree = ["tree", "-p", "tilewright", "--no-default-features", "-e", "normal,build"];
    let tree = shell::output(shell::cargo(&[&tree[..], &["--prefix", "none"]].concat()))?;
    let tree: BTreeSet<&str> = tree.lines().filter_map(|l| l.split_whitespace().next()).collect();
    for bad in tree.iter().filter(|c| NOT_IN_RUNTIME.contains(c)) {
        faults.push(format!("`tilewright` without features brings `{bad}` into a server"));
    }
    if tree.len() > RUNTIME_BUDGET {
        faults.push(format!(
            "`tilewright` without features is {} crates, more than {RUNTIME_BUDGET}: {tree:?}",
            tree.len()
        ));
    }
    if !faults.is_empty() {
        return Err(faults.join("\n       "));
    }
    say::line(&format!(
        "deps: {} crates keep to their arrows; the runtime's tree is {} crates",
        arrows.len(),
        tree.len()
    ));
    Ok(())
}

/// The direct dependencies of each workspace crate. Those of tests alone are left out: a test may
/// use what its crate must not.
fn arrows(metadata: &Value) -> Arrows {
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let name = |v: &Value| v["name"].as_str().unwrap_or_default().to_owned();
    let normal = |d: &&Value| d["kind"].as_str() != Some("dev");
    let packages = list(&metadata["packages"]);
    packages
        .iter()
        .map(|p| (name(p), list(&p["dependencies"]).iter().filter(normal).map(name).collect()))
        .collect()
}

/// The rows `| folder | crate | depends on | … |` of the table: crate, and what it may depend on.
/// The third column names crates by their last word; other words in it are for the reader.
fn table(text: &str) -> Arrows {
    let rows: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let folder = cells.next()?;
            folder.starts_with('`').then_some((cells.next()?, cells.next()?))
        })
        .collect();
    let full = |word: &str| match word {
        "everything" => Some(ANY.to_owned()),
        "runtime" => Some("tilewright".to_owned()),
        _ => {
            let long = format!("tilewright-{word}");
            rows.iter().any(|(name, _)| *name == long).then_some(long)
        }
    };
    let words = |cell: &str| -> BTreeSet<String> {
        cell.split([' ', ',', ';', ':', '`']).filter_map(full).collect()
    };
    rows.iter().map(|(name, cell)| ((*name).to_owned(), words(cell))).collect()
}

fn check(arrows: &Arrows, table: &Arrows) -> Vec<String> {
    let mut faults = Vec::new();
    for (from, tos) in arrows {
        let Some(allowed) = table.get(from) else {
            faults.push(format!("crate `{from}` is not in the table of ARCHITECTURE.md"));
            continue;
        };
        for to in tos {
            let ours = arrows.contains_key(to);
            if ours && !allowed.contains(to) && !allowed.contains(ANY) {
                faults.push(format!("`{from}` must not depend on `{to}` (ARCHITECTURE.md)"));
            }
            let confined = CONFINED.iter().find(|(name, _)| name == to);
            if confined.is_some_and(|(_, places)| !places.contains(&from.as_str())) {
                faults.push(format!("`{to}` is not for `{from}`"));
            }
        }
    }
    faults
}

/// The crates that stand in a cycle or above one, if there is one.
fn cycle(arrows: &Arrows) -> Option<String> {
    let mut left: BTreeSet<&str> = arrows.keys().map(String::as_str).collect();
    loop {
        let leaves: Vec<&str> = left
            .iter()
            .copied()
            .filter(|name| !arrows[*name].iter().any(|to| left.contains(to.as_str())))
            .collect();
        if leaves.is_empty() {
            return (!left.is_empty()).then(|| format!("a cycle among the crates {left:?}"));
        }
        left.retain(|name| !leaves.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
| folder | crate | depends on | what it is |
|---|---|---|---|
| `a/abi` | tilewright-abi | – | data |
| `a/ir` | tilewright-ir | abi | tile IR |
| `a/pack` | tilewright-pack | abi; build: ir, inkwell | pack |
| `runtime` | tilewright | abi, optional pack | runtime |
| `tests` | tilewright-tests | everything | tests |
";

    fn graph(edges: &[(&str, &str)]) -> Arrows {
        let mut graph = Arrows::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
            if to.starts_with("tilewright") {
                graph.entry((*to).into()).or_default();
            }
        }
        graph
    }

    #[test]
    fn the_table_is_read_from_the_text() {
        let t = table(TABLE);
        let of = |name: &str| t[name].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(of("tilewright-pack"), ["tilewright-abi", "tilewright-ir"]);
        assert_eq!(of("tilewright"), ["tilewright-abi", "tilewright-pack"]);
        assert_eq!(of("tilewright-abi"), [] as [&str; 0]);
        assert_eq!(of("tilewright-tests"), [ANY]);
    }

    #[test]
    fn allowed_arrows_pass_and_others_are_named() {
        let t = table(TABLE);
        let good = [("tilewright-ir", "tilewright-abi"), ("tilewright-tests", "tilewright-ir")];
        assert!(check(&graph(&good), &t).is_empty());
        let bad = [("tilewright-abi", "tilewright-ir"), ("tilewright-ir", "syn"), ("new", "libc")];
        assert_eq!(
            check(&graph(&bad), &t),
            [
                "crate `new` is not in the table of ARCHITECTURE.md",
                "`tilewright-abi` must not depend on `tilewright-ir` (ARCHITECTURE.md)",
                "`syn` is not for `tilewright-ir`",
            ]
        );
    }

    #[test]
    fn a_cycle_is_found() {
        assert_eq!(cycle(&graph(&[("tilewright-a", "tilewright-b")])), None);
        let round = [("tilewright-a", "tilewright-b"), ("tilewright-b", "tilewright-a")];
        assert!(cycle(&graph(&round)).is_some());
    }
}
