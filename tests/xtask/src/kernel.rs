//! `kernel`: stages a kernel of the registry and hands its text to `kc`.

use std::io::Write;
use std::process::Stdio;

use crate::Result;
use crate::{llvm, say, shell};

pub(crate) fn run(args: &[String]) -> Result {
    let stage =
        ["run", "--release", "--quiet", "-p", "tilewright-kernels", "--bin", "kernels", "--"];
    let Some((op, options)) = args.split_first().filter(|(op, _)| !op.starts_with('-')) else {
        return shell::run(shell::cargo(&stage));
    };
    let mut command = shell::cargo(&stage);
    command.arg(op);
    let mut kc_options = Vec::new();
    let mut target = "cpu/x86-64-v3".to_owned();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("`{option}` needs a value"));
        match option.as_str() {
            "--impl" => drop(command.args(["--impl", &value()?])),
            "--target" => target = value()?,
            _ => kc_options.push(option.clone()),
        }
    }
    command.args(["--target", &target]);
    let text = shell::output(command)?;
    let kernels = kernels(&text);
    llvm::ensure_quietly()?;
    for kernel in &kernels {
        if kernels.len() > 1 {
            say::line(&format!("// {}", kernel.lines().next().unwrap_or_default()));
        }
        kc(kernel, &target, &kc_options)?;
    }
    Ok(())
}

/// The texts of the kernels of one implementation, one for each launch.
fn kernels(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text
        .match_indices("func @")
        .map(|(i, _)| i)
        .filter(|&i| i == 0 || text[..i].ends_with('\n'))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&a, b)| &text[a..b]).collect()
}

fn kc(text: &str, target: &str, options: &[String]) -> Result {
    let run = ["run", "--release", "--quiet", "-p", "tilewright-llvm", "--bin", "kc", "--", "-"];
    let mut command = shell::cargo(&run);
    command.args(["--target", target]).args(options).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("cannot run kc: {e}"))?;
    if let Some(mut input) = child.stdin.take() {
        // If kc ends early, its status and message say why.
        let _ = input.write_all(text.as_bytes());
    }
    let status = child.wait().map_err(|e| format!("kc: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("kc ended with {status}")) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_text_for_each_launch() {
        let text = "func @a() {\n}\n\nfunc @b() {\n  call func @c\n}\n";
        assert_eq!(super::kernels(text).len(), 2);
        assert!(super::kernels("").is_empty());
    }
}
