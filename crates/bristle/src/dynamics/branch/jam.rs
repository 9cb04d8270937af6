//! The end of a branch: which bearings jam, and jerks near it.

use super::{Branch, Continuation, Jam, NAMED};
use crate::dynamics::Dynamics;
use crate::dynamics::efforts::effort_rates;
use crate::dynamics::failure::Failure;
use crate::dynamics::implicit::NewtonWork;
use crate::dynamics::jacobian::load_rows;
use crate::dynamics::jerk::JerkWork;
use crate::dynamics::point::Point;
use bristle_multibody::{axis_row, mass_rows, rnea_rate};

impl Continuation<'_> {
    /// The jam at the end of the branch, for the reactions found last: u is the acceleration part of `t_next`.
    pub(super) fn jam(&mut self, at: &mut Branch, share: f64) -> Result<Jam, Failure> {
        at.u.fill(0.0);
        self.coordinates.active.iter().zip(&at.t_next).for_each(|(&i, t)| at.u[i] = *t);
        for prescribed in &self.compiled.model.prescribed {
            at.u[prescribed.v] = 0.0;
        }
        self.coordinates.rates(&mut at.u);
        // M_P u − M u: the contribution of friction
        let Self { compiled, work, newton: NewtonWork { rows, .. }, point, .. } = self;
        load_rows(compiled, point, work, rows, share);
        let (u, Point { q, kappa, .. }) = (&at.u, &*point);
        mass_rows(&compiled.model.tree, work, q, rows, &mut at.mass)?;
        for i in 0..u.len() {
            at.g[i] = (0..u.len()).map(|j| at.mass[(i, j)] * u[j]).sum();
        }
        for (i, row) in rows.iter_mut().enumerate() {
            *row = axis_row(&compiled.model.tree, i);
        }
        for &c in &compiled.model.reaction_loaded {
            work.change_armature(compiled.inputs.contacts[c].v, 0.0);
        }
        mass_rows(&compiled.model.tree, work, q, rows, &mut at.mass)?;
        for i in 0..u.len() {
            at.g[i] -= (0..u.len()).map(|j| at.mass[(i, j)] * u[j]).sum::<f64>();
            at.g[i] *= u[i];
        }
        let g = &at.g;
        let term = |c: usize| g[compiled.inputs.contacts[c].v];
        let is_loaded = |c: &usize| kappa[*c] != 0.0;
        let most =
            compiled.model.reaction_loaded.iter().filter(|&c| is_loaded(c)).map(|&c| term(c)).fold(0.0, f64::min);
        let mut contacts: Vec<usize> = compiled
            .model
            .reaction_loaded
            .iter()
            .copied()
            .filter(|c| is_loaded(c) && term(*c) <= NAMED * most)
            .collect();
        contacts.sort_by(|&a, &b| term(a).total_cmp(&term(b)));
        Ok(Jam { contacts, share, has_others: false })
    }
}

impl Dynamics {
    /// q⃛ where a pivot of the recursion is not positive: J q⃛_u = Tᵀ (τ̇ − κ̇ N − Pᵀ ḟ at the given jerks).
    pub(crate) fn jerk_densely(&mut self, t: f64) -> Result<(), Failure> {
        let n = self.coordinates.active.len();
        let mut at = self.branch.take().unwrap_or_else(|| Box::new(Branch::new(self.point.v.len())));
        let Self { compiled, work, scheme, state, point, coordinates, jerk: JerkWork { jerk, effort_rate }, .. } = self;
        jerk.fill(0.0);
        for (prescribed, given) in compiled.model.prescribed.iter().zip(&point.drive_jerk) {
            jerk[prescribed.v] = *given;
        }
        coordinates.rates(jerk);
        effort_rates(compiled, scheme, state, point, t, effort_rate);
        let required = rnea_rate(&compiled.model.tree, work, &point.q, &point.v, &point.a, jerk)?;
        effort_rate.iter_mut().zip(required).for_each(|(rate, required)| *rate -= required);
        for &c in &compiled.model.reaction_loaded {
            let contact = &compiled.inputs.contacts[c];
            // τ_t of a reducer has no part in the given jerks, its motor's is in the rates of the efforts
            let Some(bearing) = contact.bearing.filter(|bearing| !bearing.is_transmitted()) else { continue };
            let n_hat = bearing.normal_load(&point.force[c], point.kappa[c]).1;
            effort_rate[contact.v] -= point.kappa[c] * n_hat.dot(&work.force_rate(contact.joint));
        }
        at.g[..n].fill(0.0);
        for (i, rate) in effort_rate.iter().enumerate() {
            coordinates.unknowns_of(i).for_each(|(k, c)| at.g[k] += c * rate);
        }
        self.continuation().factor_densely(&mut at, 1.0)?;
        let result = if at.sign > 0.0 {
            at.lu.solve(&mut at.g[..n]);
            self.coordinates.active.iter().zip(&at.g).for_each(|(&i, jerk)| self.jerk.jerk[i] = *jerk);
            self.coordinates.rates(&mut self.jerk.jerk);
            Ok(())
        } else {
            // beyond the fold: the null direction of J is not available, but the jerks are near it
            at.t_next[..n].copy_from_slice(&at.g[..n]);
            if at.is_regular {
                at.lu.solve(&mut at.t_next[..n]);
            }
            self.continuation().jam(&mut at, 1.0).and_then(|jam| Err(Failure::Jam(jam)))
        };
        self.branch = Some(at);
        result
    }
}
