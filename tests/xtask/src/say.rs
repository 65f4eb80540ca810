//! What the commands print.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks")]

/// A heading for what comes next.
pub(crate) fn step(text: &str) {
    println!("== {text}");
}

/// A plain line.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// Text that has its own line ends.
pub(crate) fn text(text: &str) {
    print!("{text}");
}

/// A failure.
pub(crate) fn error(text: &str) {
    eprintln!("error: {}", text.trim_end());
}
