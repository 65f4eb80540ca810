//! Checks that lines appear in a text, in order.
//!
//! | directive | holds when |
//! |---|---|
//! | `check: P` | a line after the last match contains P |
//! | `next: P` | the line right after the last match contains P |
//! | `not: P` | no line between the last match and the next one (or the end) contains P |
//! | `count N: P` | exactly N lines of the whole text contain P |
//!
//! White space in P stands for any white space, and `{{.*}}` for any text within the line.

/// One directive of a file test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Line in the file, from 1.
    pub line: usize,
    /// What is asked.
    pub kind: Kind,
    /// The text looked for.
    pub pattern: String,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A later line contains it.
    Check,
    /// The next line contains it.
    Next,
    /// No line up to the next match contains it.
    Not,
    /// So many lines contain it.
    Count(usize),
}

impl Directive {
    /// Reads the text of a comment; `None` if it is no directive.
    pub fn parse(comment: &str, line: usize) -> Option<Directive> {
        let (head, pattern) = comment.trim().split_once(':')?;
        let kind = match head {
            "check" => Kind::Check,
            "next" => Kind::Next,
            "not" => Kind::Not,
            _ => Kind::Count(head.strip_prefix("count ")?.parse().ok()?),
        };
        Some(Directive { line, kind, pattern: pattern.trim().to_owned() })
    }
}

/// Checks a text; an error says which directive failed and shows the text.
pub fn check(text: &str, directives: &[Directive]) -> Result<(), String> {
    let lines: Vec<String> = text.lines().map(squeeze).collect();
    let mut at = 0;
    let mut forbidden: Vec<&Directive> = Vec::new();
    for d in directives {
        let found = |from: usize| (from..lines.len()).find(|&i| contains(&lines[i], &d.pattern));
        match d.kind {
            Kind::Not => forbidden.push(d),
            Kind::Count(n) => {
                let seen = lines.iter().filter(|l| contains(l, &d.pattern)).count();
                if seen != n {
                    return Err(fault(d, &format!("{seen} lines contain it, not {n}"), text));
                }
            }
            Kind::Check | Kind::Next => {
                let hit = found(at).filter(|&i| d.kind == Kind::Check || i == at);
                let Some(hit) = hit else {
                    let what = format!("not found after line {at} of the output");
                    return Err(fault(d, &what, text));
                };
                absent(&lines[at..hit], &forbidden, text)?;
                forbidden.clear();
                at = hit + 1;
            }
        }
    }
    absent(&lines[at..], &forbidden, text)
}

fn absent(lines: &[String], forbidden: &[&Directive], text: &str) -> Result<(), String> {
    for d in forbidden {
        if let Some(line) = lines.iter().find(|l| contains(l, &d.pattern)) {
            return Err(fault(d, &format!("found in `{line}`"), text));
        }
    }
    Ok(())
}

fn fault(d: &Directive, what: &str, text: &str) -> String {
    format!("line {}: {:?} `{}`: {what}\n---- output ----\n{text}", d.line, d.kind, d.pattern)
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a squeezed line contains a pattern: its parts between wildcards, in order.
fn contains(line: &str, pattern: &str) -> bool {
    let pattern = squeeze(pattern);
    let mut rest = line;
    pattern.split("{{.*}}").all(|part| match rest.find(part) {
        Some(i) => {
            rest = &rest[i + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, directives: &[&str]) -> Result<(), String> {
        let parse = |(i, d): (usize, &&str)| Directive::parse(d, i + 1).unwrap();
        check(text, &directives.iter().enumerate().map(parse).collect::<Vec<_>>())
    }

    #[test]
    fn order_next_not_and_count() {
        let text = "a  one\nb two\nc three\nb four\n";
        assert_eq!(run(text, &["check: a one", "next: b", "check: b f{{.*}}r"]), Ok(()));
        assert!(run(text, &["check: c", "check: a"]).is_err());
        assert!(run(text, &["check: a", "next: c"]).is_err());
        assert!(run(text, &["check: a", "not: two", "check: c"]).is_err());
        assert_eq!(run(text, &["check: b two", "not: two", "check: c"]), Ok(()));
        assert!(run(text, &["not: four"]).is_err());
        assert_eq!(run(text, &["count 2: b"]), Ok(()));
        assert!(run(text, &["count 1: b"]).is_err());
        assert_eq!(Directive::parse("note: x", 1), None);
    }
}
