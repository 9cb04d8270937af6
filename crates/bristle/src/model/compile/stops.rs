//! Limits of the joints of a world to stops: see [`crate::model::Stops`].

use super::{finite, is_one_degree};
use crate::error::{Error, Result};
use crate::model::{Compiled, Contact, Stops};
use crate::world::component::{Limits, Load, Open};
use bristle_friction::{Coulomb, Law};
use bristle_multibody::Model as Tree;
use hecs::World;

/// Gives the contacts of joints with limits their stops. A joint without friction, or with a law without modes, gets a
/// contact without friction for them.
pub(super) fn read(world: &World, tree: &Tree, index: &super::Index, contacts: &mut Vec<Contact>) -> Result<()> {
    for (joint, entity) in index.joints() {
        let Ok(limits) = world.get::<&Limits>(entity) else { continue };
        let name = || tree.joint_names[joint].clone();
        if !is_one_degree(&tree.kinds[joint]) {
            return Err(Error::Misplaced { name: name(), component: "Limits", reason: super::ONE_DEGREE });
        }
        check(&limits, name)?;
        let stops = |is_alone| Some(stops_of(&limits, is_alone));
        let own = contacts.iter_mut().find(|c| c.joint == joint && c.element.is_none() && c.is_event_driven());
        match own {
            Some(contact) => contact.stops = stops(false),
            None => contacts.push(Contact {
                joint,
                v: tree.v_index[joint],
                b: None,
                element: None,
                law: Law::Coulomb(Coulomb { coulomb: 0.0, stiction: 0.0, viscous: 0.0 }),
                load: Load::Unit,
                arm: 1.0,
                bearing: None,
                reverse: None,
                open: Open::Law,
                stops: stops(true),
            }),
        }
    }
    Ok(())
}

fn stops_of(limits: &Limits, is_alone: bool) -> Stops {
    Stops {
        lower: limits.lower.unwrap_or(f64::NEG_INFINITY),
        upper: limits.upper.unwrap_or(f64::INFINITY),
        restitution: limits.restitution,
        is_alone,
    }
}

/// Refuses limits with unusable numbers.
fn check(limits: &Limits, name: impl Fn() -> String + Copy) -> Result<()> {
    let Limits { lower, upper, restitution } = *limits;
    lower.map_or(Ok(()), |lower| finite(lower, "lower limit", name))?;
    upper.map_or(Ok(()), |upper| finite(upper, "upper limit", name))?;
    if let (Some(lower), Some(upper)) = (lower, upper)
        && lower >= upper
    {
        return Err(Error::number(name(), "upper limit", upper, "greater than the lower limit"));
    }
    if !(0.0..=1.0).contains(&restitution) {
        return Err(Error::number(name(), "restitution", restitution, "from 0 to 1"));
    }
    Ok(())
}

/// Whether the limits are those of `world`.
pub(super) fn are_current(world: &World, compiled: &Compiled) -> bool {
    let with_stops = || compiled.inputs.contacts.iter().filter(|contact| contact.stops.is_some());
    let mut n = 0;
    let is_same = compiled.model.index.joints().all(|(joint, entity)| {
        let Ok(limits) = world.get::<&Limits>(entity) else { return true };
        n += 1;
        let mut own = with_stops().filter(|contact| contact.joint == joint);
        own.next().is_some_and(|contact| contact.stops == Some(stops_of(&limits, contact.is_stop_alone())))
    });
    is_same && n == with_stops().count()
}
