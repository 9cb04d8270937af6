//! Whether any modes are consistent at an instant: a dense search that shares no code with the engine.
//!
//! Contacts at rest on the same joints act together: their limits add. Each such group sticks or slips in one of two
//! directions, and every combination is a system of equations in the accelerations a and the friction f of groups that
//! stick, nonlinear because loads are lengths of reactions,
//!
//! ```text
//! balance(a, f) = 0,   rate(a) = 0 of groups that stick
//! ```
//!
//! which may have several solutions or none. Newton starts from many random points. A combination is consistent if one
//! of its solutions keeps |f| within the limits and accelerates in the directions of slip.

use crate::newton_euler::{Row, lever_load, motion, reactions};
use crate::random_machines::{Bearing, Dry, Kind, Machine, TOLERANCES, error_controlled};
use bristle::prelude::*;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::HashMap;

/// Random starts of Newton for each combination.
const STARTS: usize = 400;

/// Contacts on the same joints: (a, b), the joint itself as (a, None).
type Place = (usize, Option<usize>);

/// Of each group, friction over limit and the acceleration of its slip.
type Groups = Vec<(f64, f64)>;

/// An instant of a machine without gears and without a free base.
struct Instant<'a> {
    machine: &'a Machine,
    columns: HashMap<String, usize>,
    values: Vec<f64>,
    v: &'a [f64],
    /// Groups at rest, each with its contacts.
    at_rest: Vec<(Place, Vec<Dry>)>,
    /// Contacts that slide, with directions.
    sliding: Vec<(Place, Dry, f64)>,
}

impl<'a> Instant<'a> {
    fn new(machine: &'a Machine, t: f64, q: &[f64], v: &'a [f64]) -> Self {
        let (mut names, mut values) = (vec!["t".to_owned()], vec![t]);
        for k in 0..machine.joints.len() {
            for (name, value) in [("position", q[k]), ("velocity", v[k]), ("acceleration", 0.0)] {
                names.push(format!("j{k}.{name}"));
                values.push(value);
            }
        }
        let (mut at_rest, mut sliding) = (Vec::<(Place, Vec<Dry>)>::new(), Vec::new());
        let own = machine.joints.iter().enumerate().filter_map(|(k, j)| Some(((k, None), j.dry?)));
        for (place, dry) in own.chain(machine.elements.iter().map(|element| ((element.a, element.b), element.dry))) {
            let slip = v[place.0] - place.1.map_or(0.0, |b| v[b]);
            if slip != 0.0 {
                sliding.push((place, dry, slip.signum()));
            } else if let Some((_, group)) = at_rest.iter_mut().find(|(other, _)| *other == place) {
                group.push(dry);
            } else {
                at_rest.push((place, vec![dry]));
            }
        }
        Self { machine, columns: names.into_iter().zip(0..).collect(), values, v, at_rest, sliding }
    }

    /// Imbalances of all joints and, of groups that stick, accelerations, at x = (a, f); limits and slip accelerations
    /// of all groups. `modes`: 0, 1, −1 for each group.
    fn residual(&self, x: &DVector<f64>, modes: &[f64]) -> (DVector<f64>, Vec<(f64, f64)>) {
        let n = self.machine.joints.len();
        let mut values = self.values.clone();
        (0..n).for_each(|k| values[self.columns[&format!("j{k}.acceleration")]] = x[k]);
        let row = Row { columns: &self.columns, values: &values };
        let links = motion(self.machine, &row);
        let through = reactions(self.machine, &links);
        let mut left = DVector::zeros(n + self.at_rest.len());
        for (k, j) in self.machine.joints.iter().enumerate() {
            let (force, moment) = through[k];
            let required = links[k].axis.dot(if j.kind == Kind::Revolute { &moment } else { &force });
            let [amplitude, frequency, phase] = j.drive;
            let drive = amplitude * (frequency * row.get("t") + phase).sin();
            let spring = -j.stiffness * (row.get(&format!("j{k}.position")) - 0.1);
            left[k] = required + j.armature * x[k] + j.damping * self.v[k] - drive - spring;
        }
        let load = |(a, _): Place, dry: &Dry| match dry.bearing {
            Bearing::Unit => 1.0,
            bearing => lever_load(bearing, links[a].axis, through[a]),
        };
        let mut take = |(a, b): Place, f: f64| {
            left[a] += f;
            b.into_iter().for_each(|b| left[b] -= f);
        };
        for (place, dry, direction) in &self.sliding {
            take(*place, direction * dry.coulomb * load(*place, dry));
        }
        let mut groups = Vec::new();
        for (g, (place, dries)) in self.at_rest.iter().enumerate() {
            let slipping: f64 = dries.iter().map(|dry| dry.coulomb * load(*place, dry)).sum();
            let limit = dries.iter().map(|dry| dry.stiction * load(*place, dry)).sum();
            take(*place, if modes[g] == 0.0 { x[n + g] } else { modes[g] * slipping });
            groups.push((limit, x[place.0] - place.1.map_or(0.0, |b| x[b])));
        }
        // f of a group that slips is not used: its equation is f = 0
        for (g, (_, rate)) in groups.iter().enumerate() {
            left[n + g] = if modes[g] == 0.0 { *rate } else { x[n + g] };
        }
        (left, groups)
    }

    /// Newton with differences, from `x`.
    fn solve(&self, mut x: DVector<f64>, modes: &[f64]) -> Option<DVector<f64>> {
        let mut n_close = 0;
        for _ in 0..50 {
            let (left, _) = self.residual(&x, modes);
            // near a jam residuals are amplified: iterate to rounding
            n_close += usize::from(left.amax() <= 1e-8 * (1.0 + x.amax()));
            if n_close == 4 {
                return Some(x);
            }
            let mut jacobian = DMatrix::zeros(x.len(), x.len());
            for k in 0..x.len() {
                let (mut up, mut down, h) = (x.clone(), x.clone(), 1e-6 * (1.0 + x[k].abs()));
                up[k] += h;
                down[k] -= h;
                let slope = (self.residual(&up, modes).0 - self.residual(&down, modes).0) / (2.0 * h);
                jacobian.set_column(k, &slope);
            }
            x -= jacobian.lu().solve(&left)?;
            if !x.amax().is_finite() {
                return None;
            }
        }
        None
    }

    /// Solutions of all combinations: modes, and for each group friction over limit and the acceleration of its slip.
    fn solutions(&self) -> Vec<(Vec<f64>, Groups)> {
        let (n, n_groups) = (self.machine.joints.len(), self.at_rest.len());
        let (mut all, rng) = (Vec::new(), &mut Pcg64::seed_from_u64(1));
        let mut found: Vec<DVector<f64>> = Vec::new();
        for combination in 0..3_usize.pow(n_groups as u32) {
            let mode = |g: usize| [0.0, 1.0, -1.0][combination / 3_usize.pow(g as u32) % 3];
            let modes: Vec<f64> = (0..n_groups).map(mode).collect();
            // and from the solutions of other combinations: branches are near each other
            let others = found.clone();
            for k in 0..STARTS + others.len() {
                let size = 10_f64.powf(rng.random_range(-1.0..4.0));
                let start = match others.get(k) {
                    Some(other) => other.map(|x| x * rng.random_range(0.95..1.0)),
                    None => DVector::from_fn(n + n_groups, |_, _| rng.random_range(-size..size)),
                };
                let Some(x) = self.solve(start, &modes) else { continue };
                let groups = self.residual(&x, &modes).1;
                let groups =
                    groups.iter().enumerate().map(|(g, (limit, rate))| (x[n + g].abs() / limit, *rate)).collect();
                all.push((modes.clone(), groups));
                let is_known = |other: &DVector<f64>| (other - &x).amax() <= 1e-6 * x.amax();
                if !found.iter().any(is_known) {
                    found.push(x);
                }
            }
        }
        all
    }
}

/// A break-away is located where the friction of the stuck group is at its limit, to this fraction of it.
const LOCATED: f64 = 1e-6;

/// Whether some combination of modes is consistent just after a break-away: a group at its limit does not stick.
pub fn has_consistent_modes(machine: &Machine, t: f64, q: &[f64], v: &[f64]) -> bool {
    assert!(machine.gears.is_empty() && machine.joints.iter().all(|j| j.kind != Kind::Free), "not for these machines");
    let instant = Instant::new(machine, t, q, v);
    instant.solutions().iter().any(|(modes, groups)| {
        modes.iter().zip(groups).all(|(mode, (share, rate))| match mode {
            0.0 => *share <= 1.0 - LOCATED,
            direction => direction * rate >= 0.0,
        })
    })
}

/// The machine of random seed 11096. The brake on `j2` and the friction of `j2` itself have a joint limit of 9.560 N
/// and slip with 9.194 N. The guide of `j0` is near jamming: on the branch of the motion, friction that pushes `j2`
/// forward accelerates it backward. When the group breaks away no modes are consistent: it would have to slip backward,
/// and every solution with that friction accelerates it forward.
#[test]
fn break_away_near_jam_has_no_consistent_modes() {
    let seed = 11_096;
    let mut rng = Pcg64::seed_from_u64(seed);
    let n = rng.random_range(2..=6);
    let machine = Machine::random(&mut rng, n, false, true);
    let solver = error_controlled("Dopri5", "Implicit", TOLERANCES[seed as usize % TOLERANCES.len()]);
    let scene = Scene::parse(&format!("Scene({}, {solver})", machine.fields()), "seed 11096").unwrap();
    let mut sim = Simulation::new(&scene).unwrap();
    let error = sim.run_until(1.0).unwrap_err();
    let Error::Modes { t, reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("9 combinations of stick and slip of `j2`, `c0`"), "{reason}");
    let (q, v) = (sim.positions().to_vec(), sim.velocities().to_vec());
    assert!(v[2] == 0.0 && v.iter().filter(|v| **v == 0.0).count() == 1, "{v:?}");
    let instant = Instant::new(&machine, *t, &q, &v);
    let (mut n_stuck, mut rates) = (0, Vec::new());
    for (modes, groups) in instant.solutions() {
        let [(share, rate)] = groups[..] else { panic!("{groups:?}") };
        if modes == [0.0] {
            n_stuck += 1;
            assert!((share - 1.0).abs() < LOCATED, "holds {share} of the limit");
        } else {
            assert!(modes[0] * rate < 0.0, "slips in direction {} and accelerates by {rate}", modes[0]);
            rates.push(rate);
        }
    }
    // the stuck solution was found, and both solutions with the friction of backward slip
    assert!(n_stuck > 0 && rates.iter().any(|a| *a > 10.0) && rates.iter().any(|a| *a < 1.0), "{n_stuck} {rates:?}");
    assert!(!has_consistent_modes(&machine, *t, &q, &v));
    // the search finds consistent modes at the start and at the last row before
    let mut sim = Simulation::new(&scene).unwrap();
    for until in [0.0, 0.5 * t, 0.8 * t] {
        sim.run_until(until).unwrap();
        assert!(has_consistent_modes(&machine, until, sim.positions(), sim.velocities()), "t = {until}");
    }
}
