//! The only reader of environment variables in this crate.
//!
//! A knob changes how the runtime works, never what a kernel computes. Each is read when a runtime is
//! built; a value that cannot be read is ignored with a notice.

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Every variable that this crate reads.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "TILEWRIGHT_CPU_FEATURES",
        doc: "processor features to leave unused, for example `-avx512bf16,-avx512vnni`",
    },
    Knob {
        name: "TILEWRIGHT_CPU_THREADS",
        doc: "threads of a CPU launch where the program does not say; 0 means one per core",
    },
    Knob {
        name: "TILEWRIGHT_CPU_SPIN_US",
        doc: "microseconds that an idle worker thread spins before it sleeps",
    },
    Knob {
        name: "TILEWRIGHT_PACK_DIR",
        doc: "directory of compiled kernels, beside those embedded",
    },
    Knob { name: "TILEWRIGHT_CONFIG_DIR", doc: "directory of tuned configs" },
];

/// The values of the knobs, as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knobs {
    /// Features to leave unused, without the minus.
    pub cpu_features_off: Vec<String>,
    /// Threads of a CPU launch.
    pub cpu_threads: Option<usize>,
    /// Spin time in microseconds.
    pub cpu_spin_us: Option<u64>,
    /// Directory of compiled kernels.
    pub pack_dir: Option<std::path::PathBuf>,
    /// Directory of tuned configs.
    pub config_dir: Option<std::path::PathBuf>,
    /// Values that could not be read.
    pub faults: Vec<String>,
}

impl Knobs {
    /// Reads the environment.
    pub fn from_env() -> Knobs {
        Knobs::from_lookup(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
    }

    /// Reads any other source of values; used by tests.
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Knobs {
        let mut k = Knobs::default();
        for word in get("TILEWRIGHT_CPU_FEATURES").iter().flat_map(|v| v.split(',')) {
            match word.trim().strip_prefix('-') {
                Some(name) if !name.is_empty() => k.cpu_features_off.push(name.to_owned()),
                _ => k.faults.push(format!(
                    "`TILEWRIGHT_CPU_FEATURES`: `{word}` is not a feature with a minus before it"
                )),
            }
        }
        let mut number = |name: &str| {
            let value = get(name)?;
            let number = value.trim().parse::<u64>();
            if number.is_err() {
                k.faults.push(format!("`{name}`: `{value}` is not a number"));
            }
            number.ok()
        };
        let threads = number("TILEWRIGHT_CPU_THREADS");
        k.cpu_spin_us = number("TILEWRIGHT_CPU_SPIN_US");
        k.cpu_threads = threads.and_then(|n| usize::try_from(n).ok());
        k.pack_dir = get("TILEWRIGHT_PACK_DIR").map(Into::into);
        k.config_dir = get("TILEWRIGHT_CONFIG_DIR").map(Into::into);
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_values_are_named_and_ignored() {
        let k = Knobs::from_lookup(|name| match name {
            "TILEWRIGHT_CPU_FEATURES" => Some("-avx512bf16, avx2".into()),
            "TILEWRIGHT_CPU_THREADS" => Some("many".into()),
            "TILEWRIGHT_CPU_SPIN_US" => Some("7".into()),
            _ => None,
        });
        assert_eq!(k.cpu_features_off, ["avx512bf16"]);
        assert_eq!((k.cpu_threads, k.cpu_spin_us), (None, Some(7)));
        assert_eq!(k.faults.len(), 2, "{:?}", k.faults);
    }

    #[test]
    fn every_knob_is_read_and_listed() {
        let asked = std::cell::RefCell::new(Vec::new());
        Knobs::from_lookup(|name| {
            asked.borrow_mut().push(name.to_owned());
            None
        });
        let mut listed: Vec<_> = KNOBS.iter().map(|k| k.name.to_owned()).collect();
        listed.sort();
        asked.borrow_mut().sort();
        assert_eq!(*asked.borrow(), listed);
    }
}
