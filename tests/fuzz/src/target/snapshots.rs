//! Snapshots: the first byte of a case is the machine, the rest its snapshot, damaged, with correct length and
//! checksum.
//!
//! A refused snapshot changes nothing; an accepted one can be stepped.

use super::Target;
use super::machine::{N_MACHINES, check_finite, look, machine};

pub static TARGET: Target = Target { name: "snapshots", run, folders: &[], made, tokens: &TOKENS };

/// Words of eight bytes at limits, and pieces of laws.
const TOKENS: [&str; 12] = [
    "\0\0\0\0\0\0\0\0",
    "\x01\0\0\0\0\0\0\0",
    "\0\0\0\0\x01\0\0\0",
    "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
    "Coulomb(coulomb:1e300,",
    "friction:",
    "drives:",
    "Pin(radius:-1.0)",
    "Table(points:[])",
    "(",
    ")",
    "]",
];

/// Header: magic number, version, fingerprint, length, sum.
const HEADER: usize = 40;

/// The start of each machine, and a later state.
fn made() -> Vec<Vec<u8>> {
    let mut made = Vec::new();
    for k in 0..N_MACHINES {
        let mut sim = machine(k);
        for dt in [0.0, 0.02, 0.3] {
            if sim.step(dt).is_ok()
                && let Ok(snapshot) = sim.snapshot()
            {
                made.push([&[k as u8][..], &snapshot].concat());
            }
        }
    }
    made
}

fn run(bytes: &[u8]) -> bool {
    let Some((&k, content)) = bytes.split_first() else { return false };
    let mut sim = machine(usize::from(k));
    let mut forged = content.to_vec();
    mend(&mut forged);
    let Ok(before) = sim.snapshot() else { panic!("no snapshot of a machine at its start") };
    if sim.restore(&forged).is_err() {
        let after = sim.snapshot();
        assert!(after.is_ok_and(|after| after == before), "a snapshot that is refused has changed something");
        return false;
    }
    check_finite(&sim);
    look(&mut sim);
    // recovers from every state
    let restored = sim.restore(&before);
    assert!(restored.is_ok(), "{restored:?}");
    true
}

/// FNV-1a over everything but the sum itself, as `simulation::snapshot` defines it.
fn mend(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    let content = bytes[..HEADER - 8].iter().chain(&bytes[HEADER..]);
    let sum =
        content.fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    bytes[32..40].copy_from_slice(&sum.to_le_bytes());
}
