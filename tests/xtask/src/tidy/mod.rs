//! Rules on the text of the project that neither rustc nor clippy checks.

mod long_files;
mod rules;
mod source;

use std::path::Path;

use crate::Result;
use crate::{say, workspace};

/// Runs every rule on every file; an error lists all faults.
pub(crate) fn run() -> Result {
    let mut faults = Vec::new();
    let mut knobs = Vec::new();
    let mut sources = Vec::new();
    for path in workspace::files()? {
        let Some(kind) = Kind::of(&path) else { continue };
        let full = workspace::root().join(&path);
        let text =
            std::fs::read_to_string(&full).map_err(|e| format!("`{}`: {e}", path.display()))?;
        let name = path.to_string_lossy().replace('\\', "/");
        faults.extend(rules::any_text(&name, &text));
        if kind == Kind::Rust {
            faults.extend(rules::rust(&name, &text));
            if name.ends_with("knobs.rs") {
                knobs.extend(rules::knob_names(&text));
            }
            sources.push((name, text.lines().count()));
        }
    }
    faults.extend(long_files::check(&sources));
    faults.extend(knobs_documented(&mut knobs)?);
    if faults.is_empty() {
        let longest = sources.iter().max_by_key(|(_, lines)| *lines);
        let longest = longest.map(|(name, n)| format!("; the longest is {name}, {n} lines"));
        say::line(&format!("tidy: {} Rust files{}", sources.len(), longest.unwrap_or_default()));
        return Ok(());
    }
    faults.sort();
    Err(format!("{} faults\n       {}", faults.len(), faults.join("\n       ")))
}

/// What a file is to the rules.
#[derive(PartialEq)]
enum Kind {
    Rust,
    OtherText,
}

impl Kind {
    fn of(path: &Path) -> Option<Kind> {
        match path.extension()?.to_str()? {
            "rs" => Some(Kind::Rust),
            "toml" | "md" | "sh" | "py" | "tile" => Some(Kind::OtherText),
            _ => None,
        }
    }
}

/// Every variable that a `knobs.rs` reads stands in the table for users, and the other way round.
fn knobs_documented(knobs: &mut Vec<String>) -> Result<Vec<String>> {
    const TABLE: &str = "docs/knobs.md";
    knobs.sort();
    knobs.dedup();
    let path = workspace::root().join(TABLE);
    let table = std::fs::read_to_string(path).map_err(|e| format!("`{TABLE}`: {e}"))?;
    let listed: Vec<String> = table
        .lines()
        .filter_map(|l| Some(l.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    let missing = knobs.iter().filter(|k| !listed.contains(k));
    let stale = listed.iter().filter(|l| !knobs.contains(l));
    Ok(missing
        .map(|k| format!("{TABLE}: `{k}` is read but not in the table"))
        .chain(stale.map(|l| format!("{TABLE}: `{l}` is in the table but no `knobs.rs` reads it")))
        .collect())
}
