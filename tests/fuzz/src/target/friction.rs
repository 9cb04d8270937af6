//! Friction files, put on a robot.

use super::scenes::check_saved;
use super::{Target, machine, nothing};
use bristle::urdf::{self, FrictionFile, Options};

const ROBOT: &str = include_str!("../../../../crates/bristle/examples/robot.urdf");

pub static TARGET: Target =
    Target { name: "friction", run, folders: &["corpus/friction"], made: nothing, tokens: &super::scenes::TOKENS };

fn run(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let friction = Some(FrictionFile::new("case.ron", text.clone()));
    match urdf::read_with(ROBOT, "robot.urdf", &Options { friction, ..Options::default() }) {
        Ok(import) => {
            check_saved(&import.scene);
            machine::start(&import.scene);
            true
        }
        Err(error) => {
            // places are in either of the two files
            assert!(!error.problems.is_empty() && !error.to_string().is_empty());
            false
        }
    }
}
