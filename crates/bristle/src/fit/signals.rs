//! All signals of a scene.

use crate::scene::{Coupling, Drive, Load, Scene};
use crate::signal::Signal;

/// Signals of drives and loads, in the order of the scene.
pub(crate) fn signals_mut(scene: &mut Scene) -> Vec<&mut Signal> {
    let mut found = Vec::new();
    for joint in &mut scene.joints {
        found.extend(joint.drive.iter_mut().flat_map(Drive::signals_mut).map(|(_, signal)| signal));
        found.extend(of_load(&mut joint.load));
    }
    for coupling in &mut scene.couplings {
        match coupling {
            Coupling::Clutch { load, .. } | Coupling::Brake { load, .. } | Coupling::OneWayClutch { load, .. } => {
                found.extend(of_load(load));
            }
            _ => {}
        }
    }
    found
}

fn of_load(load: &mut Load) -> Option<&mut Signal> {
    if let Load::Signal { signal, .. } = load { Some(signal) } else { None }
}
