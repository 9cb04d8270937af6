//! Limits of efforts, from the world.

use super::{Index, positive};
use crate::error::{Error, Result};
use crate::model::{DriveAt, EffortLimitAt};
use crate::world::component::{Drive, EffortLimit};
use bristle_multibody::Model as Tree;
use hecs::World;

/// Reads the limits of efforts.
pub(super) fn read_effort_limits(
    world: &World,
    tree: &Tree,
    index: &Index,
    drives: &[DriveAt],
) -> Result<Vec<EffortLimitAt>> {
    let mut limits = Vec::new();
    for (joint, entity) in index.joints() {
        let Ok(&EffortLimit(limit)) = world.get::<&EffortLimit>(entity).as_deref() else { continue };
        let name = || tree.joint_names[joint].clone();
        positive(limit, "effort limit", name)?;
        let drive = drives.iter().position(|at| at.joint == joint);
        let with_integral = drive.filter(|&k| drives[k].has_integral());
        let integral = with_integral.map(|k| drives[..k].iter().filter(|at| at.has_integral()).count());
        if drive.is_some_and(|k| matches!(drives[k].drive, Drive::Motion(_))) {
            let what = "an effort limit on a joint with a prescribed motion, which takes any effort,".into();
            return Err(Error::Unsupported { name: name(), what });
        }
        limits.push(EffortLimitAt { joint, v: tree.v_index[joint], limit, drive, integral });
    }
    Ok(limits)
}
