//! Signals of a scene that a log may replace without being written as text.

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

fn of_drive(drive: &mut Drive) -> Option<&mut Signal> {
    let is_plain = matches!(drive, Drive::Effort(_) | Drive::Motion(_));
    match drive {
        Drive::Effort(signal) | Drive::Motion(signal) if is_plain => Some(signal),
        Drive::Pull { target, .. } | Drive::Pid { target, .. } => Some(target),
        _ => None,
    }
}

fn of_load(load: &mut Load) -> Option<&mut Signal> {
    if let Load::Signal { signal, .. } = load { Some(signal) } else { None }
}
