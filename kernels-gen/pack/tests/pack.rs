//! The embedded pack is whole, and the features name the compiler's targets.

use tilewright_abi::{Manifest, Pack, sha256_hex};
use tilewright_codegen::target;

#[test]
fn one_feature_a_target() {
    let manifest = include_str!("../Cargo.toml");
    for t in target::ALL {
        let arch = t.id.split_once('/').map_or(t.id, |(_, arch)| arch);
        assert!(manifest.contains(&format!("\n{arch} = []\n")), "no feature `{arch}`");
        assert!(manifest.contains(&format!("\"{arch}\"")), "`{arch}` is in no group");
    }
    let features = manifest.lines().filter(|l| l.ends_with(" = []")).count();
    assert_eq!(features, target::ALL.len());
}

#[test]
fn every_launch_has_its_kernel_and_every_kernel_its_artifact() {
    let pack = Pack::read(tilewright_pack::PACK).unwrap();
    for (target, text) in pack.manifests() {
        let manifest = Manifest::from_text(text).unwrap();
        assert_eq!(manifest.target.as_str(), target);
        assert!(!manifest.features.is_empty());
        for kernel in &manifest.kernels {
            let bytes = pack.blob(&kernel.artifact).unwrap();
            assert_eq!(sha256_hex(bytes), kernel.artifact, "{}", kernel.name);
        }
        for imp in &manifest.impls {
            assert!(manifest.spec(&imp.op).is_some(), "{}", imp.op);
            for launch in &imp.launches {
                assert!(manifest.kernel(&launch.kernel).is_some(), "{}", launch.kernel);
            }
        }
    }
}
