//! The targets, as data. No architecture is compared by name or number outside this folder.

mod cpu;
mod desc;

pub use desc::{Family, Limits, LlvmTarget, MmaForm, MmaShape, Rates, TargetDesc};

/// Every target, in the order in which messages list them.
pub const ALL: &[&TargetDesc] =
    &[&cpu::X86_64_V3, &cpu::X86_64_V4, &cpu::X86_64_V4_BF16, &cpu::ZNVER4, &cpu::SAPPHIRERAPIDS];

/// The target of this id.
pub fn find(id: &str) -> Option<&'static TargetDesc> {
    ALL.iter().copied().find(|t| t.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_consistent_and_found_by_its_id() {
        for t in ALL {
            assert_eq!(t.check(), Ok(()));
            assert_eq!(find(t.id).map(|f| f.id), Some(t.id));
        }
        assert!(find("cpu/none").is_none());
    }
}
