//! Rust source without its comments, strings and characters, so that rules look at code alone.

/// The text with the insides of comments, strings and characters turned into spaces; line ends stay.
pub(super) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    let mut before = ' ';
    while i < chars.len() {
        let c = at(i);
        let end = match c {
            '/' if at(i + 1) == '/' => until(&chars, i, |j| at(j) == '\n'),
            '/' if at(i + 1) == '*' => block_comment(&chars, i),
            '"' => string(&chars, i),
            'r' if !before.is_alphanumeric() && before != '_' => raw_string(&chars, i).unwrap_or(i),
            '\'' => character(&chars, i).unwrap_or(i),
            _ => i,
        };
        if end > i {
            out.extend(chars[i..end].iter().map(|&c| if c == '\n' { c } else { ' ' }));
            i = end;
            before = ' ';
        } else {
            out.push(c);
            before = c;
            i += 1;
        }
    }
    out
}

fn until(chars: &[char], from: usize, stop: impl Fn(usize) -> bool) -> usize {
    (from..chars.len()).find(|&i| stop(i)).unwrap_or(chars.len())
}

fn block_comment(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut i = from;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') if depth == 1 => return i + 2,
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
    }
    chars.len()
}

fn string(chars: &[char], from: usize) -> usize {
    let mut i = from + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// `r"…"`, `r#"…"#` from the `r`; `None` for an identifier.
fn raw_string(chars: &[char], from: usize) -> Option<usize> {
    let hashes = chars[from + 1..].iter().take_while(|c| **c == '#').count();
    if chars.get(from + 1 + hashes) != Some(&'"') {
        return None;
    }
    let closes = |i: usize| {
        let tail = &chars[i..];
        tail[0] == '"' && tail.len() > hashes && tail[1..=hashes].iter().all(|c| *c == '#')
    };
    let close = (from + 2 + hashes..chars.len()).find(|&i| closes(i));
    Some(close.map_or(chars.len(), |i| i + 1 + hashes))
}

/// `'x'` or `'\n'` from the quote; `None` for a lifetime.
fn character(chars: &[char], from: usize) -> Option<usize> {
    if chars.get(from + 1) == Some(&'\\') {
        let close = until(chars, from + 3, |i| chars[i] == '\'');
        return Some((close + 1).min(chars.len()));
    }
    (chars.get(from + 2) == Some(&'\'')).then_some(from + 3)
}

#[cfg(test)]
mod tests {
    use super::code_only;

    #[test]
    fn only_code_stays() {
        let text = "let a = \"x // y\"; // c\nlet b = r#\"q\"q\"#; /* /* */ z */ let c = '\"'; fn f<'a>() {}";
        let code = code_only(text);
        assert_eq!(code.len(), text.len());
        for gone in ["x //", "// c", "q\"", "z */"] {
            assert!(!code.contains(gone), "{code}");
        }
        for kept in ["let a =", "let b =", "let c =", "fn f<'a>() {}"] {
            assert!(code.contains(kept), "{code}");
        }
    }
}
