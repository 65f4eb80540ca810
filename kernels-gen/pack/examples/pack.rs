//! Writes a pack: one file, or a folder that a server loads without having LLVM at build time.
//!
//! `cargo run --release -p tilewright-pack --example pack -- OUT`; OUT ending in `.pack` is a file.
//! The kernels are those embedded in this program, so the features of the crate choose the targets.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tilewright_abi::{MANIFEST_FILE, Manifest, Pack, TargetId};
use tilewright_pack::PACK;

fn main() -> ExitCode {
    let Some(out) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: pack OUT (a folder, or a file that ends in .pack)");
        return ExitCode::FAILURE;
    };
    let result = if out.extension().is_some_and(|e| e == "pack") {
        std::fs::write(&out, PACK).map_err(|e| format!("`{}`: {e}", out.display()))
    } else {
        write_folder(&out)
    };
    match result {
        Ok(()) => {
            println!("wrote {}", out.display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// `<out>/<target>/manifest.toml` and its artifacts, each target published whole by a rename.
fn write_folder(out: &Path) -> Result<(), String> {
    let pack = Pack::read(PACK).map_err(|e| e.to_string())?;
    std::fs::create_dir_all(out).map_err(|e| format!("`{}`: {e}", out.display()))?;
    for (target, text) in pack.manifests() {
        let manifest = Manifest::from_text(text).map_err(|e| format!("`{target}`: {e}"))?;
        let name = TargetId::new(target).folder();
        let (part, whole) = (out.join(format!("{name}.part")), out.join(&name));
        write_target(&part, text, &manifest, &pack)
            .and_then(|()| if whole.exists() { std::fs::remove_dir_all(&whole) } else { Ok(()) })
            .and_then(|()| std::fs::rename(&part, &whole))
            .map_err(|e| format!("`{}`: {e}", whole.display()))?;
    }
    Ok(())
}

fn write_target(
    dir: &Path,
    text: &str,
    manifest: &Manifest,
    pack: &Pack<'_>,
) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for kernel in &manifest.kernels {
        if let Some(bytes) = pack.blob(&kernel.artifact) {
            std::fs::write(dir.join(format!("{}.{}", kernel.artifact, kernel.kind.name())), bytes)?;
        }
    }
    std::fs::write(dir.join(MANIFEST_FILE), text)
}
