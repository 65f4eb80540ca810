//! `bless`: file tests write what the compiler does now into their expectations.

use crate::Result;
use crate::{say, shell};

pub(crate) fn run() -> Result {
    let mut command = shell::cargo(&["test", "-p", "tilewright-tests", "--test", "filetests"]);
    command.env("TILEWRIGHT_BLESS", "1");
    shell::run(command)?;
    say::line("blessed; read the difference like code: git diff tests/filetests");
    Ok(())
}
