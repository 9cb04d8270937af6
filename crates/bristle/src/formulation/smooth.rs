//! Motion without friction: springs, dampers and efforts, an ordinary differential equation.
//!
//! ```text
//!     M(q) a + c(q, v) = τ − d v − k (q − q_rest)                    (1)
//!     ξ̇ = chart rate of v at ξ,   v̇ = a                              (2)
//! ```
//!
//! Unknowns y = (ξ, v), each `n_v` long. ξ are the positions themselves, except for free joints, where they are chart
//! coordinates about `q_ref`; the chart moves along with the motion, at accepted steps.
//!
//! The energy ledger rides along as quadratures: first the work of efforts and external wrenches,
//! Ẇ = τᵀ v + Σ f_ext · v_link, then the heat of each damper, Q̇ = d v².

use super::{Energies, Formulation};
use crate::compile::Compiled;
use crate::error::{Error, Result};
use crate::signal::Piece;
use bristle_integrate::linear::Matrix;
use bristle_integrate::{Fired, Restart, System, Trouble};
use bristle_multibody::{
    JointKind, Poses, Reaction, State, Work, aba, aba_derivatives, chart_point, chart_rate, kinematics, kinetic_energy,
    neutral, point_velocity, poses, potential_energy,
};
use nalgebra::{DMatrix, Vector3};

/// Rotation from the chart's centre at which the chart moves, rad: far from the 2π at which it ends, and seldom enough
/// that the evaluation lost with each move does not count.
const CHART_RADIUS: f64 = 0.5;

/// Equations (1) and (2) of a compiled machine. See the [module](self).
#[derive(Debug, Clone)]
pub struct Smooth {
    compiled: Compiled,
    work: Work,
    /// Centre of the chart: 0 for one-degree joints; `n_q`.
    q_ref: Vec<f64>,
    /// Positions at the point of evaluation; `n_q`.
    q: Vec<f64>,
    /// Efforts there; `n_v`.
    tau: Vec<f64>,
    poses: Poses,
    /// Scratch for results; `n_bodies`.
    reactions: Vec<Reaction>,
    /// Piece of the drives' signals that holds, and the time at which the next begins.
    piece: Piece,
    next_corner: Option<f64>,
    /// First chart coordinates of the free joints.
    free: Vec<usize>,
    /// No joint is; `n_bodies`.
    locked: Vec<bool>,
    /// ∂a/∂q, ∂a/∂v, ∂a/∂τ; made when first asked for.
    derivatives: Option<Box<[DMatrix<f64>; 3]>>,
    /// What an evaluation met, for the error that follows.
    failure: Option<bristle_multibody::Error>,
}

impl Smooth {
    /// The equations of `compiled`.
    pub fn new(compiled: Compiled) -> Self {
        let model = &compiled.model;
        let free = (1..model.n_bodies()).filter(|&i| model.kinds[i] == JointKind::Free);
        let mut smooth = Self {
            work: Work::new(model),
            q_ref: neutral(model),
            q: neutral(model),
            tau: vec![0.0; model.n_v],
            poses: Poses::new(model),
            reactions: vec![Reaction::ZERO; model.n_bodies()],
            piece: Piece::After(0.0),
            next_corner: None,
            free: free.map(|i| model.v_index[i]).collect(),
            locked: vec![false; model.n_bodies()],
            derivatives: None,
            failure: None,
            compiled,
        };
        smooth.apply_wrenches();
        smooth
    }

    fn apply_wrenches(&mut self) {
        let outside = &mut self.work.outside;
        outside.clear_wrenches();
        for w in &self.compiled.wrenches {
            // the bodies are the model's own
            let applied = outside.set_wrench(&self.compiled.model, w.body, w.wrench);
            debug_assert!(applied.is_ok());
        }
    }

    /// Takes the pieces of the signals that hold just after `t`.
    fn enter_piece(&mut self, t: f64) {
        self.piece = Piece::After(t);
        let corners = self.compiled.drives.iter().filter_map(|drive| drive.effort.next_corner(t));
        self.next_corner = corners.reduce(f64::min);
    }

    /// Right-hand side of (1) into `tau`.
    fn efforts(&mut self, t: f64, q: &[f64], v: &[f64]) {
        let (compiled, tau) = (&self.compiled, &mut self.tau);
        tau.copy_from_slice(&compiled.effort);
        for drive in &compiled.drives {
            tau[drive.v] += drive.effort.sample(t, self.piece).value;
        }
        for d in &compiled.dampers {
            tau[d.v] -= d.damping * v[d.v];
        }
        for s in &compiled.springs {
            tau[s.v] -= s.stiffness * (q[s.q] - s.rest);
        }
    }

    /// Positions at chart coordinates `xi` into `self.q`.
    fn place(&mut self, xi: &[f64]) -> std::result::Result<(), bristle_multibody::Error> {
        chart_point(&self.compiled.model, &self.q_ref, xi, &mut self.q)
    }

    /// Work done per time by what callers apply.
    fn power(&mut self, t: f64, v: &[f64]) -> std::result::Result<f64, bristle_multibody::Error> {
        let Self { compiled, work, q, poses: places, piece, .. } = self;
        let mut power: f64 = compiled.effort.iter().zip(v).map(|(tau, v)| tau * v).sum();
        for drive in &compiled.drives {
            power += drive.effort.sample(t, *piece).value * v[drive.v];
        }
        if !compiled.wrenches.is_empty() {
            let model = &compiled.model;
            kinematics(model, work, q, v)?;
            poses(model, work, places)?;
            for w in &compiled.wrenches {
                let rotation = places.link(model, w.body)?.rotation;
                let velocity = point_velocity(model, work, places, w.body, &Vector3::zeros())?;
                // both in world axes
                let [wx, wy, wz, vx, vy, vz] = velocity.to_array();
                let [mx, my, mz, fx, fy, fz] = w.wrench.to_array();
                power += Vector3::new(vx, vy, vz).dot(&(rotation * Vector3::new(fx, fy, fz)));
                power += Vector3::new(wx, wy, wz).dot(&(rotation * Vector3::new(mx, my, mz)));
            }
        }
        Ok(power)
    }

    /// Keeps what went wrong. A state that is not finite may come from too large a step; the rest will not go away.
    fn trouble(&mut self, error: bristle_multibody::Error) -> Trouble {
        let may_go_away = matches!(error, bristle_multibody::Error::NonFinite { .. });
        self.failure = Some(error);
        if may_go_away { Trouble::Retry } else { Trouble::Fatal { code: 0 } }
    }
}

impl Formulation for Smooth {
    fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    fn read_actions(&mut self, world: &hecs::World) -> Result<()> {
        self.compiled.read_actions(world)?;
        self.apply_wrenches();
        Ok(())
    }

    fn set_effort(&mut self, k: usize, effort: f64) {
        self.compiled.effort[k] = effort;
    }

    fn begin(&mut self, state: &State, y: &mut [f64]) {
        let model = &self.compiled.model;
        let n = model.n_v;
        for i in 1..model.n_bodies() {
            let (q, xi) = (&state.q[model.q_range(i)], &mut y[model.v_range(i)]);
            if let [q] = q {
                xi[0] = *q;
            } else {
                self.q_ref[model.q_range(i)].copy_from_slice(q);
                xi.fill(0.0);
            }
        }
        y[n..2 * n].copy_from_slice(&state.v);
        self.enter_piece(state.t);
    }

    fn state(&self, t: f64, y: &[f64], state: &mut State) -> Result<()> {
        let model = &self.compiled.model;
        state.t = t;
        chart_point(model, &self.q_ref, &y[..model.n_v], &mut state.q)
            .map_err(|source| Error::Mechanics { t, source })?;
        // at the centre of the chart the configuration is the one it was put at, bit for bit
        for &k in &self.free {
            if y[k..k + 6].iter().all(|&xi| xi == 0.0) {
                let range = model.q_range(model.joint_of_velocity(k));
                state.q[range.clone()].copy_from_slice(&self.q_ref[range]);
            }
        }
        state.v.copy_from_slice(&y[model.n_v..2 * model.n_v]);
        Ok(())
    }

    fn acceleration(&mut self, state: &State) -> Result<&[f64]> {
        self.efforts(state.t, &state.q, &state.v);
        aba(&self.compiled.model, &mut self.work, &state.q, &state.v, &self.tau)
            .map_err(|source| Error::Mechanics { t: state.t, source })
    }

    fn energies(&mut self, state: &State) -> Result<Energies> {
        let Self { compiled, work, .. } = self;
        let failed = |source| Error::Mechanics { t: state.t, source };
        let elastic = |s: &crate::compile::SpringAt| 0.5 * s.stiffness * (state.q[s.q] - s.rest).powi(2);
        Ok(Energies {
            kinetic: kinetic_energy(&compiled.model, work, &state.q, &state.v).map_err(failed)?,
            potential: potential_energy(&compiled.model, work, &state.q).map_err(failed)?,
            elastic: compiled.springs.iter().map(elastic).sum(),
            bristle: 0.0,
        })
    }

    fn write_back(&mut self, world: &mut hecs::World, state: &State, a: &[f64]) -> Result<()> {
        let results = (&mut self.poses, &mut self.reactions[..]);
        crate::write_back::write_back(world, &self.compiled, &mut self.work, results, state, a)
    }

    fn take_failure(&mut self) -> Option<bristle_multibody::Error> {
        self.failure.take()
    }
}

impl System for Smooth {
    fn dim(&self) -> usize {
        2 * self.compiled.model.n_v
    }

    fn second_order(&self) -> usize {
        // in the chart of a free joint ξ̇ is not v
        if self.free.is_empty() { self.compiled.model.n_v } else { 0 }
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> std::result::Result<(), Trouble> {
        let n = self.compiled.model.n_v;
        let ((xi, v), (dxi, dv)) = (y.split_at(n), dy.split_at_mut(n));
        self.place(xi).map_err(|e| self.trouble(e))?;
        let q = std::mem::take(&mut self.q);
        self.efforts(t, &q, v);
        self.q = q;
        let model = &self.compiled.model;
        let result = aba(model, &mut self.work, &self.q, v, &self.tau)
            .map(|a| dv.copy_from_slice(a))
            .and_then(|()| chart_rate(model, xi, v, dxi));
        result.map_err(|e| self.trouble(e))
    }

    fn jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> std::result::Result<bool, Trouble> {
        if !self.free.is_empty() {
            return Ok(false);
        }
        let n = self.compiled.model.n_v;
        let v = &y[n..];
        self.place(&y[..n]).map_err(|e| self.trouble(e))?;
        let q = std::mem::take(&mut self.q);
        self.efforts(t, &q, v);
        self.q = q;

        //     ∂f/∂y = |    0                     1                |
        //             |  ∂a/∂q − ∂a/∂τ k    ∂a/∂v − ∂a/∂τ d       |
        let mut derivatives =
            self.derivatives.take().unwrap_or_else(|| Box::new(std::array::from_fn(|_| DMatrix::zeros(n, n))));
        let [dq, dv, dtau] = &mut *derivatives;
        let (model, work) = (&self.compiled.model, &mut self.work);
        let result = aba_derivatives(model, work, &self.q, v, &self.tau, &self.locked, [dq, dv, dtau]);
        if result.is_ok() {
            let [dq, dv, dtau] = &*derivatives;
            jac.clear();
            for i in 0..n {
                jac[(i, n + i)] = 1.0;
                for j in 0..n {
                    jac[(n + i, j)] = dq[(i, j)];
                    jac[(n + i, n + j)] = dv[(i, j)];
                }
                for s in &self.compiled.springs {
                    jac[(n + i, s.v)] -= dtau[(i, s.v)] * s.stiffness;
                }
                for d in &self.compiled.dampers {
                    jac[(n + i, n + d.v)] -= dtau[(i, d.v)] * d.damping;
                }
            }
        }
        self.derivatives = Some(derivatives);
        result.map_err(|e| self.trouble(e))?;
        Ok(true)
    }

    fn n_quadratures(&self) -> usize {
        1 + self.compiled.dampers.len()
    }

    fn quadratures(&mut self, t: f64, y: &[f64], _dy: &[f64], rate: &mut [f64]) -> std::result::Result<(), Trouble> {
        let n = self.compiled.model.n_v;
        let (xi, v) = y.split_at(n);
        if !self.compiled.wrenches.is_empty() {
            self.place(xi).map_err(|e| self.trouble(e))?;
        }
        rate[0] = self.power(t, v).map_err(|e| self.trouble(e))?;
        for (heat, d) in rate[1..].iter_mut().zip(&self.compiled.dampers) {
            *heat = d.damping * v[d.v] * v[d.v];
        }
        Ok(())
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        self.next_corner.filter(|&corner| corner > t)
    }

    fn switch(
        &mut self,
        t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[Fired],
    ) -> std::result::Result<Restart, Trouble> {
        let before = self.piece;
        self.enter_piece(t);
        // an extremum changes nothing; a corner or a jump does
        let is_smooth =
            self.compiled.drives.iter().all(|d| d.effort.sample(t, before) == d.effort.sample(t, self.piece));
        Ok(if is_smooth { Restart::unchanged(self.dim()) } else { Restart::fresh(self.dim()) })
    }

    fn accepted(&mut self, _t: f64, y: &mut [f64]) -> std::result::Result<bool, Trouble> {
        let model = &self.compiled.model;
        let mut moved = false;
        for &k in &self.free {
            let [tx, ty, tz] = [y[k], y[k + 1], y[k + 2]];
            if tx * tx + ty * ty + tz * tz > CHART_RADIUS * CHART_RADIUS {
                if !moved {
                    chart_point(model, &self.q_ref, &y[..model.n_v], &mut self.q).map_err(|_| Trouble::Retry)?;
                }
                moved = true;
                let range = model.q_range(model.joint_of_velocity(k));
                self.q_ref[range.clone()].copy_from_slice(&self.q[range]);
                y[k..k + 6].fill(0.0);
            }
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Describe, free, prismatic, revolute};
    use crate::compile::{compile, read_state};
    use crate::component::{Drive, ExternalWrench};
    use crate::signal::Signal;
    use bristle_multibody::LinkInertia;
    use hecs::World;

    /// Three joints with springs, dampers, a drive and a wrench.
    fn arm(is_floating: bool) -> World {
        let mut world = World::new();
        let links: Vec<_> = (0..3)
            .map(|k| {
                let inertia = LinkInertia::diagonal(1.0 + k as f64, [0.1, 0.2, -0.3].into(), 0.04, 0.05, 0.06);
                world.spawn_link(&format!("link {k}"), inertia)
            })
            .collect();
        let root = if is_floating { free("a") } else { revolute("a", [0.3, 1.0, 0.1]).position(0.4).velocity(1.0) };
        world.spawn_joint(root.to(links[0]));
        let slide = prismatic("b", [1.0, 0.5, 0.0]).from(links[0]).to(links[1]).at([0.2, 0.0, 0.1]);
        world.spawn_joint(slide.position(0.1).velocity(-0.7).spring(30.0, 0.02).damping(2.0));
        let hinge = revolute("c", [0.0, 0.2, 1.0]).from(links[1]).to(links[2]).at([0.0, 0.3, 0.0]);
        let drive = Drive::Effort(Signal::Sine { amplitude: 2.0, frequency: 3.0, phase: 0.0, offset: 1.0 });
        world.spawn_joint(hinge.velocity(0.9).damping(0.3).drive(drive));
        let wrench = ExternalWrench { moment: [0.1, 0.2, 0.3].into(), force: [1.0, -2.0, 0.5].into() };
        world.insert_one(links[2], wrench).unwrap();
        world
    }

    fn begun(world: &World) -> (Smooth, State, Vec<f64>) {
        let mut system = Smooth::new(compile(world).unwrap());
        let mut state = State::rest(&system.compiled.model);
        read_state(world, &system.compiled, &mut state).unwrap();
        let mut y = vec![0.0; system.dim()];
        system.begin(&state, &mut y);
        (system, state, y)
    }

    #[test]
    fn jacobian_agrees_with_differences() {
        let (mut system, _, mut y) = begun(&arm(false));
        let n = y.len();
        let mut jac = Matrix::new(n);
        jac.resize(n);
        assert!(system.jacobian(0.3, &y, &mut jac).unwrap());
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            let (y_j, h) = (y[j], 1e-6);
            y[j] = y_j + h;
            system.rhs(0.3, &y, &mut up).unwrap();
            y[j] = y_j - h;
            system.rhs(0.3, &y, &mut down).unwrap();
            y[j] = y_j;
            for i in 0..n {
                let difference = (up[i] - down[i]) / (2.0 * h);
                // central differences: h² and eps/h, times entries up to some hundreds
                assert!((jac[(i, j)] - difference).abs() < 1e-6, "({i}, {j}): {} {difference}", jac[(i, j)]);
            }
        }
    }

    #[test]
    fn ledger_rates_are_those_of_the_stored_energy() {
        // along the motion: d(stored)/dt = work in − heat, by differences along a short exact step
        for is_floating in [false, true] {
            let (mut system, mut state, y) = begun(&arm(is_floating));
            let (n, t) = (y.len(), 0.3);
            let mut dy = vec![0.0; n];
            let mut rate = vec![0.0; system.n_quadratures()];
            system.rhs(t, &y, &mut dy).unwrap();
            system.quadratures(t, &y, &dy, &mut rate).unwrap();
            let mut stored = |h: f64| {
                let moved: Vec<f64> = y.iter().zip(&dy).map(|(y, dy)| y + h * dy).collect();
                system.state(t, &moved, &mut state).unwrap();
                system.energies(&state).unwrap().stored()
            };
            let power = (stored(1e-5) - stored(-1e-5)) / 2e-5;
            let booked = rate[0] - rate[1..].iter().sum::<f64>();
            assert!(rate[1..].iter().all(|heat| *heat > 0.0) && rate.len() == 3);
            assert!((power - booked).abs() < 1e-6 * booked.abs().max(1.0), "{power} {booked}");
        }
    }

    #[test]
    fn moving_the_chart_leaves_the_configuration() {
        let (mut system, mut state, mut y) = begun(&arm(true));
        y[..6].copy_from_slice(&[0.5, -0.4, 0.3, 1.0, 2.0, 3.0]);
        system.state(0.0, &y, &mut state).unwrap();
        let (before, energies) = (state.clone(), system.energies(&state).unwrap());
        assert!(system.accepted(0.0, &mut y).unwrap());
        assert_eq!(y[..6], [0.0; 6]);
        system.state(0.0, &y, &mut state).unwrap();
        assert_eq!(before, state);
        assert_eq!(energies, system.energies(&state).unwrap());
        // near its centre it stays
        y[0] = 0.1;
        assert!(!system.accepted(0.0, &mut y).unwrap());
    }

    #[test]
    fn singular_machines_and_bad_numbers_are_told_apart() {
        let mut world = World::new();
        let ghost = world.spawn_link("ghost", LinkInertia::point(0.0, [0.0; 3].into()));
        world.spawn_joint(revolute("loose", [0.0, 0.0, 1.0]).to(ghost));
        let (mut system, _, y) = begun(&world);
        assert_eq!(system.rhs(0.0, &y, &mut [0.0; 2]), Err(Trouble::Fatal { code: 0 }));
        assert!(system.take_failure().unwrap().to_string().contains("`loose`"));

        let (mut system, _, mut y) = begun(&arm(false));
        y[4] = f64::NAN;
        assert_eq!(system.rhs(0.0, &y, &mut [0.0; 6]), Err(Trouble::Retry));
    }
}
