//! Features are the same on every machine and in every version: a stored basis depends on them.

use dsokr_core::random::hash;
use dsokr_molecule::graph::Graph;
use dsokr_molecule::{Molecule, kernels::GraphKernel};

use crate::support::all_kernels;

/// Returns one number for all features of a graph.
fn digest(kernel: &GraphKernel, graph: &Graph) -> u64 {
    let mut bytes = Vec::new();
    for (feature, value) in kernel.features(graph).unwrap() {
        bytes.extend(feature.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    hash(&bytes)
}

#[test]
fn features_of_a_molecule_never_change() {
    let graph = Graph::from(&Molecule::parse("CC(=O)Oc1ccccc1C(=O)O").unwrap());
    let actual: Vec<(usize, u64)> = all_kernels()
        .iter()
        .map(|kernel| (kernel.features(&graph).unwrap().len(), digest(kernel, &graph)))
        .collect();
    let expected: [(usize, u64); 16] = [
        (2, 0x6036_3386_07d4_6167),
        (6, 0xc01a_b174_e4b5_2501),
        (21, 0xa285_2a82_18ee_9757),
        (84, 0x2779_56db_9829_3a80),
        (55, 0x4cc6_cdb2_38cd_5e1b),
        (34, 0x3223_141c_ded8_7d45),
        (236, 0xfb84_4ad0_3635_5503),
        (453, 0x5013_598f_bbec_bbf4),
        (116, 0xbe42_c3ce_fa5e_f4a2),
        (173, 0xa1b3_acd5_613f_5f94),
        (82, 0x373c_7fae_c9ec_db9c),
        (108, 0x7f04_3e5a_d6d2_1f26),
        (167, 0xc53c_d975_55fc_3abd),
        (73, 0x74b3_9405_2584_61ea),
        (181, 0xb8ed_8355_f261_092d),
        (59, 0x26b2_71a0_674d_2381),
    ];
    assert_eq!(actual, expected, "{actual:#018x?}");
}
