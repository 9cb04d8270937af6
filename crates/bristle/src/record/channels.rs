//! Names of the channels of a machine, in the order of the columns.

use crate::model::Compiled;
use bristle_friction::FrictionLaw;
use bristle_multibody::JointKind;

/// Names of the columns.
pub(crate) fn channels(compiled: &Compiled) -> Vec<String> {
    let mut names = vec!["t".to_owned()];
    let mut contacts = compiled.inputs.frictions().iter().peekable();
    let with_stops: Vec<usize> = compiled.with_stops().map(|c| compiled.inputs.contacts[c].joint).collect();
    let mut heated = compiled.model.heated.iter().peekable();
    let mut drives = compiled.inputs.drives.iter().peekable();
    let mut limits = compiled.inputs.effort_limits.iter().peekable();
    for i in 1..compiled.model.tree.n_bodies() {
        let joint = &compiled.model.tree.joint_names[i];
        let mut channels = |what: &[&str]| names.extend(what.iter().map(|what| format!("{joint}.{what}")));
        match compiled.model.tree.kinds[i] {
            JointKind::Fixed => {}
            JointKind::Free => {
                channels(&["position.x", "position.y", "position.z"]);
                channels(&["position.qw", "position.qx", "position.qy", "position.qz"]);
                for what in ["velocity", "acceleration"] {
                    for part in ["wx", "wy", "wz", "vx", "vy", "vz"] {
                        channels(&[&format!("{what}.{part}")]);
                    }
                }
            }
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                channels(&["position", "velocity", "acceleration"]);
                channels(if drives.next_if(|drive| drive.joint == i).is_some() { &["drive"] } else { &[] });
                channels(if limits.next_if(|limit| limit.joint == i).is_some() { &["effort"] } else { &[] });
                if let Some(contact) = contacts.next_if(|c| c.joint == i && c.element.is_none()) {
                    channels(&["friction", "load"]);
                    channels(if contact.is_event_driven() { &["mode"] } else { &[] });
                    channels(&["z", "w"][..contact.law.n_states()]);
                }
                channels(if with_stops.contains(&i) { &["stop"] } else { &[] });
                channels(if heated.next_if_eq(&&i).is_some() { &["dissipated"] } else { &[] });
            }
        }
    }
    for (k, name) in compiled.model.coupled.names.iter().enumerate() {
        let mut channels = |what: &[&str]| names.extend(what.iter().map(|what| format!("{name}.{what}")));
        if compiled.model.coupled.constraints.iter().any(|constraint| constraint.element == k) {
            channels(&["effort"]);
        } else if let Some(contact) = compiled.inputs.contacts.iter().find(|contact| contact.element == Some(k)) {
            channels(&["position", "velocity", "friction", "load"]);
            channels(if contact.is_event_driven() { &["mode"] } else { &[] });
            channels(&["z", "w"][..contact.law.n_states()]);
            channels(&["dissipated"]);
        } else {
            channels(&["position", "velocity", "effort", "dissipated"]);
        }
    }
    let energies = ["kinetic", "potential", "elastic", "bristle", "load", "input", "dissipated", "balance"];
    names.extend(energies.map(|energy| format!("energy.{energy}")));
    names
}
