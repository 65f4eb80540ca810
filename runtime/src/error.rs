//! The runtime's error: opaque, with a kind to match on and a message that names the op, the dtype or
//! shape, the two values that differ, and the remedy.

use std::error::Error as StdError;
use std::fmt;

/// What the runtime's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Match on [`Error::kind`]; show the error itself to people.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's arguments do not fit the op's spec.
    InvalidArgument,
    /// No op, kernel, artifact, target or pack of that name.
    NotFound,
    /// The op exists, but not for this problem on this device.
    Unsupported,
    /// A limit of the device is exceeded.
    Limit,
    /// Memory ran out.
    OutOfMemory,
    /// A pack, manifest or artifact is damaged.
    Corrupt,
    /// A pack or manifest was written by a version that this runtime does not read.
    Version,
    /// A file cannot be read.
    Io,
    /// The device, or its driver, refused.
    Device,
    /// The process was forked after the device was made.
    Forked,
    /// A graph is being recorded, and the call would load code; run it once before recording.
    NotWarmedUp,
    /// The runtime is at fault.
    Bug,
}

impl Error {
    /// An error of a kind, with its message: lower case, no full stop, code in backticks.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, message: message.into(), source: None }))
    }

    /// With the error that led to it.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Error {
        self.0.source = Some(Box::new(source));
        self
    }

    /// With what was being done put before the message.
    #[must_use]
    pub fn context(mut self, what: impl fmt::Display) -> Error {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the source.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as &(dyn StdError + 'static))
    }
}

/// Shorthand for `Err(Error::new(…))` with a formatted message.
macro_rules! fail {
    ($kind:ident, $($message:tt)*) => {
        Err($crate::Error::new($crate::ErrorKind::$kind, format!($($message)*)))
    };
}
pub(crate) use fail;
