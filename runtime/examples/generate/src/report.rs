//! What goes to standard error: progress while loading, and the speed at the end.

use std::fmt;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how much of the weights has been packed.
pub struct LoadBar {
    bar: ProgressBar,
}

impl LoadBar {
    /// A bar of `bytes`; hidden when `quiet` or when standard error is not a terminal.
    pub fn new(bytes: u64, quiet: bool) -> LoadBar {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(bytes) };
        let template = "{msg:>8} [{bar:32}] {bytes}/{total_bytes} {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message("packing");
        LoadBar { bar }
    }

    /// `bytes` have been packed so far.
    pub fn set(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Tokens and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phase {
    /// How many tokens.
    pub tokens: usize,
    /// In how long.
    pub time: Duration,
}

impl Phase {
    /// Tokens a second; 0 when nothing was done.
    pub fn rate(&self) -> f64 {
        let seconds = self.time.as_secs_f64();
        if seconds > 0.0 { self.tokens as f64 / seconds } else { 0.0 }
    }
}

/// The speed of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Opening, checking and packing.
    pub load: Duration,
    /// Prompt tokens.
    pub prefill: Phase,
    /// Generated tokens after the first of each prompt.
    pub decode: Phase,
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "load    {:>27.2} s", self.load.as_secs_f64())?;
        for (name, phase) in [("prefill", self.prefill), ("decode", self.decode)] {
            let Phase { tokens, time } = phase;
            let (seconds, rate) = (time.as_secs_f64(), phase.rate());
            writeln!(f, "{name:<8}{tokens:>6} tokens in {seconds:>8.2} s {rate:>10.1} tokens/s")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_tokens_over_seconds() {
        let phase = Phase { tokens: 30, time: Duration::from_millis(1500) };
        assert_eq!(phase.rate(), 20.0);
        assert_eq!(Phase::default().rate(), 0.0);
        let text = Speed { decode: phase, ..Speed::default() }.to_string();
        assert!(text.contains("decode      30 tokens in     1.50 s       20.0 tokens/s"), "{text}");
    }
}
