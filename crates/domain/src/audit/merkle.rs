//! One hash for many bodies, and short proofs that a body is among them. The tree is that of RFC 6962.

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash of one body. The first byte keeps leaves, nodes and seals apart.
#[must_use]
pub fn leaf(body: &[u8]) -> Hash {
    Sha256::new().chain_update([0x00]).chain_update(body).finalize().into()
}

/// The hash of two subtrees.
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([0x01]).chain_update(left).chain_update(right).finalize().into()
}

/// The hash of all leaves; that of nothing is the SHA-256 of nothing.
#[must_use]
pub fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Sha256::digest([]).into(),
        [only] => *only,
        _ => {
            let (left, right) = halves(leaves);
            node(&root(left), &root(right))
        }
    }
}

/// The hashes that lead from the leaf at `index` to the root, nearest first; `None` if there is no such leaf.
#[must_use]
pub fn proof(leaves: &[Hash], index: usize) -> Option<Vec<Hash>> {
    if index >= leaves.len() {
        return None;
    }
    if leaves.len() == 1 {
        return Some(Vec::new());
    }
    let (left, right) = halves(leaves);
    let (path, sibling) = if index < left.len() {
        (proof(left, index), root(right))
    } else {
        (proof(right, index - left.len()), root(left))
    };
    path.map(|mut path| {
        path.push(sibling);
        path
    })
}

/// Whether `path` proves that `leaf` is number `index` (from 0) of the `count` leaves under `root`.
#[must_use]
pub fn check_proof(leaf: &Hash, index: u64, count: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= count {
        return false;
    }
    // RFC 9162, 2.1.3.2: walk up with our place and the last place of each level.
    let (mut place, mut last) = (index, count - 1);
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if place % 2 == 1 || place == last {
            hash = node(sibling, &hash);
            // The last of a level with an odd number has no sibling there; it moves up until it has one.
            while place.is_multiple_of(2) && place != 0 {
                place /= 2;
                last /= 2;
            }
        } else {
            hash = node(&hash, sibling);
        }
        place /= 2;
        last /= 2;
    }
    last == 0 && hash == *root
}

/// A hash as people write it: 64 hexadecimal digits.
#[must_use]
pub fn hash_from_hex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    hex::decode_to_slice(text, &mut hash).ok()?;
    Some(hash)
}

/// Splits at the largest power of two that leaves something on the right.
fn halves(leaves: &[Hash]) -> (&[Hash], &[Hash]) {
    leaves.split_at(leaves.len().next_power_of_two() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leaves of the reference tests of RFC 6962 (google/certificate-transparency).
    fn reference_leaves() -> Vec<Hash> {
        let bodies = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];
        bodies.iter().map(|body| leaf(&hex::decode(body).unwrap())).collect()
    }

    fn leaves(count: usize) -> Vec<Hash> {
        (0..count).map(|index| leaf(&index.to_be_bytes())).collect()
    }

    #[test]
    fn roots_are_those_of_rfc_6962() {
        let roots = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        for (count, expected) in roots.into_iter().enumerate() {
            assert_eq!(hex::encode(root(&reference_leaves()[..count])), expected, "{count} leaves");
        }
    }

    #[test]
    fn hashes_are_read_from_hexadecimal() {
        assert_eq!(hash_from_hex(&"0A".repeat(32)), Some([10; 32]));
        for bad in ["", "0a", &"0a".repeat(33), &"xx".repeat(32)] {
            assert_eq!(hash_from_hex(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_leaf_can_be_proved() {
        for count in 1..=33 {
            let leaves = leaves(count);
            let root = root(&leaves);
            for index in 0..count {
                let path = proof(&leaves, index).unwrap();
                assert!(path.len() <= 6);
                assert!(
                    check_proof(&leaves[index], index as u64, count as u64, &path, &root),
                    "{index} of {count}"
                );
            }
            assert_eq!(proof(&leaves, count), None);
        }
    }

    #[test]
    fn a_proof_proves_nothing_else() {
        for count in 1..=33 {
            let leaves = leaves(count);
            let root = root(&leaves);
            for index in 0..count {
                let path = proof(&leaves, index).unwrap();
                let (place, total) = (index as u64, count as u64);
                let holds =
                    |leaf: &Hash, place, total, path: &[Hash]| check_proof(leaf, place, total, path, &root);
                assert!(!holds(&leaf(b"other"), place, total, &path));
                assert!(!holds(&leaves[index], total, total, &path));
                assert!(
                    (0..total).all(|other| other == place || !holds(&leaves[index], other, total, &path))
                );
                assert!(!holds(&leaves[index], place, total, &[&path[..], &[[0; 32]]].concat()));
                if let Some((_, shorter)) = path.split_last() {
                    assert!(!holds(&leaves[index], place, total, shorter));
                }
                for step in 0..path.len() {
                    let mut bent = path.clone();
                    bent[step][0] ^= 1;
                    assert!(!holds(&leaves[index], place, total, &bent));
                }
            }
        }
        assert!(!check_proof(&[0; 32], 0, 0, &[], &root(&[])));
    }
}
