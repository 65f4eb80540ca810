//! Ctrl-C: the first asks the run to stop after the current token, the second stops at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// The exit code of an interrupted run, as shells have it.
pub const EXIT_CODE: u8 = 130;

/// Whether the user has asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for Ctrl-C from now on; a process can do so once.
    pub fn listen() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        let asked = Arc::clone(&interrupt.asked);
        ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(EXIT_CODE));
            }
        })
        .map_err(|e| Error::new(ErrorKind::Runtime, "cannot listen for Ctrl-C").with_source(e))?;
        Ok(interrupt)
    }

    /// Whether Ctrl-C has been pressed.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
