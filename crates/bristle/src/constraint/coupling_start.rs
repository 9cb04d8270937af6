//! Couplings at the start: their right-hand sides, and the refusal of couplings that contradict each other or the
//! state.

use super::coordinates::Coordinates;
use super::{Constraints, Elimination, Left};
use crate::dynamics::point::Point;
use crate::dynamics::state::State;
use crate::error::Error;
use crate::model::coupled::ConstraintRow;
use crate::model::{Compiled, Model};

/// Right-hand sides of the couplings. A dependent joint at 0 gets its coupled position and velocity; any other
/// must have them.
pub(crate) fn start_couplings(
    compiled: &Compiled,
    state: &mut State,
    point: &mut Point,
    coordinates: &mut Coordinates,
    constraints: &mut Constraints,
) -> Result<(), Error> {
    let (is_coupled, model) = (constraints.is_coupled(), &compiled.model);
    if is_coupled {
        eliminate_couplings(compiled, point, &mut state.coupling_offset, coordinates, &mut constraints.elimination)?;
    }
    for (is_prescribed, contact) in state.prescribed_contacts.iter_mut().zip(compiled.inputs.contacts.iter()) {
        *is_prescribed = if is_coupled {
            coordinates.is_prescribed(contact.v, contact.b, |v| model.is_prescribed(v))
        } else {
            model.is_prescribed(contact.v)
        };
    }
    if coordinates.dependent.is_empty() {
        return Ok(());
    }
    let [xi_required, v_required] = &mut constraints.required;
    xi_required.clone_from(&point.xi);
    v_required.clone_from(&point.v);
    coordinates.positions(xi_required);
    coordinates.rates(v_required);
    for &d in &coordinates.dependent {
        for (given, (required, what)) in
            [&mut point.xi, &mut point.v].into_iter().zip([(&*xi_required, "position"), (&*v_required, "velocity")])
        {
            let size = coordinates.size(d, required, what == "position");
            let (given, required) = (&mut given[d], required[d]);
            // nine digits relative to the terms of the coupling, in any units
            if (*given - required).abs() > 1e-9 * size && *given != 0.0 {
                let coupled = &model.coupled;
                let its =
                    coupled.constraints.iter().filter(|constraint| constraint.terms.iter().any(|term| term.0 == d));
                let its: Vec<&str> = its.map(|constraint| coupled.names[constraint.element].as_str()).collect();
                let joint = model.tree.joint_names[model.joint_of[d]].clone();
                let couplings = list(&its);
                return Err(Error::NotCoupled { joint, what, given: *given, required, couplings });
            }
            *given = required;
        }
    }
    Ok(())
}

/// Eliminates with the compiled couplings alone; refuses redundant and contradictory ones.
fn eliminate_couplings(
    compiled: &Compiled,
    Point { xi, v: v_given, .. }: &Point,
    offset: &mut [f64],
    coordinates: &mut Coordinates,
    elimination: &mut Elimination,
) -> Result<(), Error> {
    let joint_of = &compiled.model.joint_of;
    let is_prescribed = |v: usize| compiled.model.is_prescribed(v);
    elimination.clear();
    for (k, constraint) in compiled.model.coupled.constraints.iter().enumerate() {
        let sum = constraint.terms.iter().map(|&(v, c)| c * xi[v]).sum();
        offset[k] = constraint.offset.unwrap_or(sum);
        // joints at 0 take the position that the others determine
        let is_given = |v: usize| is_prescribed(v) || xi[v] != 0.0 || v_given[v] != 0.0;
        if elimination.add(&constraint.terms, offset[k], is_given).is_ok() {
            continue;
        }
        if let Err(Left { offset: left, .. }) = elimination.add(&constraint.terms, offset[k], is_prescribed) {
            let name = compiled.model.coupled.names[constraint.element].clone();
            let others: Vec<&str> = compiled.model.coupled.constraints[..k]
                .iter()
                .filter(|other| other.terms.iter().any(|a| constraint.terms.iter().any(|b| a.0 == b.0)))
                .map(|other| compiled.model.coupled.names[other.element].as_str())
                .collect();
            let prescribed_joints = constraint
                .terms
                .iter()
                .filter(|term| is_prescribed(term.0))
                .map(|term| compiled.model.tree.joint_names[joint_of[term.0]].as_str());
            let prescribed_joints: Vec<&str> = prescribed_joints.collect();
            if prescribed_joints.len() == constraint.terms.len() {
                let have = if prescribed_joints.len() == 1 { "has" } else { "have" };
                let reason =
                    format!("{} {have} a `Motion` already, which leaves it nothing to move", list(&prescribed_joints));
                return Err(Error::Coupling { name, reason });
            }
            let with: Vec<&str> = others.into_iter().chain(prescribed_joints).collect();
            let size = constraint.terms.iter().map(|&(v, c)| (c * xi[v]).abs()).sum::<f64>() + offset[k].abs();
            let is_consistent = constraint.offset.is_none() || left.abs() <= 1e-9 * size;
            let reason = if is_consistent {
                let imply = if with.len() == 1 { "implies" } else { "imply" };
                format!("it is redundant: {} {imply} it already; take one of them out", list(&with))
            } else {
                format!("it contradicts {}: no positions satisfy them together", list(&with))
            };
            return Err(Error::Coupling { name, reason });
        }
    }
    elimination.finish(coordinates, xi, |_| false);
    refuse_locked(&compiled.model, coordinates)
}

/// Refuses couplings that immobilise a joint: several that contradict one another (two gears of different ratio
/// between the same joints), or one with that joint alone.
fn refuse_locked(model: &Model, coordinates: &Coordinates) -> Result<(), Error> {
    let Model { tree, coupled, joint_of, .. } = model;
    let locked: Vec<usize> = coordinates.immovable().collect();
    let touches = |constraint: &&ConstraintRow| constraint.terms.iter().any(|term| locked.contains(&term.0));
    let mut of_them: Vec<_> = coupled.constraints.iter().filter(touches).collect();
    let name = |constraint: &ConstraintRow| coupled.names[constraint.element].as_str();
    if let Some((constraint, v)) = of_them
        .iter()
        .find_map(|constraint| if let [(v, _)] = constraint.terms[..] { Some((constraint, v)) } else { None })
    {
        let reason = format!("it leaves `{}` no motion: make the joint `Fixed`", tree.joint_names[joint_of[v]]);
        return Err(Error::Coupling { name: name(constraint).to_owned(), reason });
    }
    let Some(last) = of_them.pop() else { return Ok(()) };
    let others: Vec<&str> = of_them.into_iter().map(name).collect();
    let joints: Vec<&str> = locked.iter().map(|&v| tree.joint_names[joint_of[v]].as_str()).collect();
    let reason = if others.is_empty() {
        format!("its coefficients are of such different magnitude that rounding locks {}", list(&joints))
    } else {
        format!("it contradicts {}: together they lock {}", list(&others), list(&joints))
    };
    Err(Error::Coupling { name: name(last).to_owned(), reason })
}

/// The quoted names as part of a sentence.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(" and ")
}
