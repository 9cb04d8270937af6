//! Joints whose motion hardly anything resists.
//!
//! ```text
//! D_i = S_iᵀ IA_i S_i + armature                  known to rounding of the terms it is a difference of:
//! N_i = S_iᵀ I_i S_i + armature + Σ tr Xᵀ IA_j X    over the children j, before their joints are eliminated: the
//!                                                 rotational block for revolute, the linear one for prismatic joints
//! ```
//!
//! Where D_i is below a small part of N_i, accelerations are rounding errors divided by rounding errors.

#![expect(non_snake_case, reason = "symbols follow Featherstone 2008")]

use crate::error::Error;
use crate::joint::Kernel;
use crate::model::Model;
use crate::work::Work;

/// D/N at which at least three digits of D are known: errors of a recursion over some ten joints are some ten ε N.
const LEAST: f64 = 1e-12;

/// Fails with [`Error::Singular`] where fewer than three digits of the inertia of a joint are known. After
/// [`factor`](crate::factor) or [`aba`](crate::aba), at the same `q`; locked joints have no part in it.
pub fn check_resistance(model: &Model, work: &mut Work) -> Result<(), Error> {
    // tips to base: traces of what the children propagate
    let beyond = &mut work.beyond;
    beyond.fill([0.0; 2]);
    for i in (1..model.n_bodies()).rev() {
        let node = &model.node[i];
        let D_inv = work.pivot[i].D_inv;
        let (I, M) = (node.I.I.to_matrix(), node.I.mass);
        let N = if node.kernel == Kernel::Revolute { I[(2, 2)] + beyond[i][0] } else { M + beyond[i][1] };
        let is_pivot = matches!(node.kernel, Kernel::Revolute | Kernel::Prismatic) && D_inv > 0.0;
        if is_pivot && D_inv * LEAST * (N + model.armature[node.v]) >= 1.0 {
            return Err(Error::Singular { joint: model.joint_names[i].clone(), inertia: 1.0 / D_inv });
        }
        if node.parent != 0 && node.kernel != Kernel::Free {
            let IA = if node.leaf { &node.IA } else { &work.IA[i] };
            let whole = IA.back(&work.link[i].X);
            beyond[node.parent][0] += whole.I.to_matrix().trace();
            beyond[node.parent][1] += whole.M.to_matrix().trace();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JointSpec, LinkInertia, ModelBuilder, factor};
    use nalgebra::Vector3;

    /// Three axes through a point that carry a mass of the given inertia; the first one turned by `angle`.
    fn wrist(inertia: f64, angle: f64) -> Result<(), Error> {
        let mut builder = ModelBuilder::new();
        let axes = [Vector3::z(), Vector3::x(), Vector3::z()];
        for (k, axis) in axes.into_iter().enumerate() {
            let mass = LinkInertia::diagonal(2.0, Vector3::new(0.0, 0.0, 0.3), inertia, inertia, inertia);
            builder.link(&format!("l{k}"), if k == 2 { mass } else { LinkInertia::point(0.0, Vector3::zeros()) });
            let parent = if k == 0 { "world".to_owned() } else { format!("l{}", k - 1) };
            builder.joint(JointSpec::revolute(&format!("j{k}"), &parent, &format!("l{k}"), axis));
        }
        let model = builder.build().unwrap();
        let mut work = Work::new(&model);
        factor(&model, &mut work, &[0.1, angle, 0.2], &[false; 4])?;
        check_resistance(&model, &mut work)
    }

    #[test]
    fn aligned_axes_leave_one_joint_without_resistance() {
        // D of the first joint is m l² sin², beside m l²
        assert!(matches!(wrist(0.01, 0.0), Err(Error::Singular { .. })));
        assert!(matches!(wrist(0.01, 1e-8), Err(Error::Singular { .. })));
        assert!(wrist(0.01, 1e-4).is_ok() && wrist(0.01, 0.5).is_ok());
    }

    #[test]
    fn a_small_inertia_of_a_link_itself_is_known_exactly() {
        let mut builder = ModelBuilder::new();
        let spindle = LinkInertia::diagonal(1.0, Vector3::z(), 1e-14, 1e-14, 2e-14);
        builder.link("spindle", spindle);
        builder.joint(JointSpec::revolute("spin", "world", "spindle", Vector3::z()));
        let model = builder.build().unwrap();
        let mut work = Work::new(&model);
        // beside 1 kg·m² across the axis
        factor(&model, &mut work, &[0.0], &[false; 2]).unwrap();
        check_resistance(&model, &mut work).unwrap();
    }
}
