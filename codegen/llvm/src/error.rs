//! What can go wrong between `.ll` text and machine code.

use std::fmt;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The kernel cannot be lowered to LLVM IR.
    Lower,
    /// No LLVM back end for the triple, or it refuses the CPU or a feature.
    Target,
    /// The text is not LLVM IR.
    Parse,
    /// The module breaks a rule of LLVM IR.
    Verify,
    /// The optimiser refused the pass pipeline.
    Optimise,
    /// Instruction selection, register allocation or encoding failed.
    Emit,
    /// The system linker failed.
    Link,
    /// The child process of an isolated compilation failed.
    Child,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Lower => "lowering the kernel",
            Step::Target => "choosing the target machine",
            Step::Parse => "reading the LLVM IR",
            Step::Verify => "verifying the LLVM IR",
            Step::Optimise => "optimising the LLVM IR",
            Step::Emit => "emitting machine code",
            Step::Link => "linking the shared object",
            Step::Child => "compiling in a child process",
        })
    }
}

/// A failed compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    step: Step,
    message: String,
    notes: Vec<String>,
}

impl Error {
    pub(crate) fn new(step: Step, message: impl Into<String>) -> Self {
        Error { step, message: message.into().trim_end().to_owned(), notes: Vec::new() }
    }

    pub(crate) fn notes(mut self, notes: Vec<String>) -> Self {
        self.notes = notes;
        self
    }

    /// The step that failed.
    pub fn step(&self) -> Step {
        self.step
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.step, self.message)?;
        for note in &self.notes {
            write!(f, "\n  = note: {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
