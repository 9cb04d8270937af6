//! Derivatives for implicit steppers.
//!
//! Reaction-loaded joints have the rows P = S + κ n̂, all others P = S. The derivatives of (1) at constant P are
//! those of the friction-loaded recursion, since ∂N/∂x = n̂ᵀ ∂f/∂x. With A = M_P⁻¹ over the joints that can move and
//! τ_q, τ_v, τ_s, τ_I the derivatives of the efforts on the right of (1), friction at constant reactions included:
//!
//! ```text
//!             q                 v                s           I
//!   q̇  |      0                 1                0           0     |
//!   v̇  |  ∂a/∂q + A τ_q    ∂a/∂v + A τ_v       A τ_s       A τ_I   |
//!   ṡ  |      0              r ∂ṡ/∂slip        ∂ṡ/∂s         0     |
//!   İ  |     −1                 0                0           0     |
//! ```
//!
//! In the residual form the second row is Pᵀ ∂f/∂q − τ_q, Pᵀ ∂f/∂v − τ_v, −τ_s, −τ_I, and ∂F/∂a = M_P.
//!
//! With dependent coordinates, q = T q_i, the columns are multiplied by T, A = T (Tᵀ M_P T)⁻¹ Tᵀ, and the rows of the
//! residual form are Tᵀ F: constraint forces do no work.
//!
//! Stuck and prescribed joints have no rows and columns. Finite differences replace these derivatives for free joints
//! away from the centre of their charts, and for the differentiated equations.

use super::Dynamics;
use super::effort_limits::is_saturated;
use super::efforts::{drive_sample, transmitted_share};
use super::failure::Failure;
use super::point::Point;
use super::residual::derive_residual;
use super::scheme::Scheme;
use super::state::State;
use crate::constraint::coordinates::Coordinates;
use crate::model::Compiled;
use crate::solver::Formulation;
use bristle_friction::FrictionLaw;
use bristle_integrate::EvalError;
use bristle_integrate::linear::{Lu, Matrix};
use bristle_multibody::spatial::Motion;
use bristle_multibody::{Work, aba_derivatives, rows_derivatives};
use nalgebra::DMatrix;

/// Scratch of [`reduce`].
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    lu: Lu,
    column: Vec<f64>,
    product: DMatrix<f64>,
}

impl Reduction {
    fn new(n_v: usize) -> Self {
        Self { lu: Lu::new(n_v), column: vec![0.0; n_v], product: DMatrix::zeros(n_v, n_v) }
    }
}

/// The variable of a derivative.
#[derive(Clone, Copy)]
enum In {
    /// Position of a joint, by velocity index.
    Position(usize),
    /// A joint's velocity.
    Velocity(usize),
    /// An unknown after positions and velocities.
    Unknown(usize),
}

/// One derivative.
enum Slope {
    /// Of the effort on velocity `v`.
    Effort { of: In, v: usize, slope: f64 },
    /// Of the rate of unknown `row`.
    Rate { row: usize, of: In, slope: f64 },
}

impl Dynamics {
    /// ∂f/∂y at (t, y), or `false` where no analytic one is available.
    pub(crate) fn fill_jacobian(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        let is_tree = self.compiled.model.free.is_empty() && !self.loops.is_any();
        if !is_tree || self.scheme.formulation == Formulation::Jerk {
            return Ok(false);
        }
        self.fill_jacobian_at_centre(t, y, jac)?;
        Ok(true)
    }

    /// The same at the centre of the charts of free joints. At ξ = 0 their rates are
    ///
    /// ```text
    /// θ̇ = ω + ½ θ × ω        ẋ = u + θ × u        v = (ω, u)
    /// ```
    pub(crate) fn fill_jacobian_at_centre(&mut self, t: f64, y: &[f64], jac: &mut Matrix) -> Result<(), EvalError> {
        self.scatter(t, y);
        self.place().map_err(|e| self.record_failure(e))?;
        self.efforts(t);
        let mut derivatives = self.take_matrices();
        let result = self.derive(t, &mut derivatives);
        if result.is_ok() {
            let Self { compiled, scheme, state, point, coordinates, .. } = self;
            assemble((compiled, scheme), state, point, coordinates, t, &derivatives, jac);
        }
        self.derivatives = Some(derivatives);
        result.map_err(|e| self.record_failure(e))
    }

    pub(crate) fn take_matrices(&mut self) -> Box<[DMatrix<f64>; 3]> {
        let n_v = self.point.v.len();
        self.derivatives.take().unwrap_or_else(|| Box::new(std::array::from_fn(|_| DMatrix::zeros(n_v, n_v))))
    }

    /// ∂a/∂q, ∂a/∂v, ∂a/∂τ.
    fn derive(&mut self, t: f64, matrices: &mut [DMatrix<f64>; 3]) -> Result<(), Failure> {
        if self.is_one_sweep() {
            let [dq, dv, dtau] = matrices;
            let Self {
                compiled, work, point: Point { q, v, tau, .. }, coordinates: Coordinates { locked, .. }, ..
            } = self;
            return Ok(aba_derivatives(&compiled.model.tree, work, q, v, tau, locked, [dq, dv, dtau])?);
        }
        let accuracy = self.scheme.accuracy;
        self.accelerate(t, accuracy)?;
        if self.coordinates.dependent.is_empty() {
            self.read_reactions()?;
            let Self { compiled, point, coordinates, work, newton, .. } = self;
            let rows = load_rows(compiled, point, work, &mut newton.rows, 1.0);
            let [dq, dv, dtau] = &mut *matrices;
            let Point { q, v, a, .. } = &*point;
            match rows_derivatives(&compiled.model.tree, work, q, v, a, rows, &coordinates.locked, [dq, dv, dtau]) {
                // a pivot of the recursion is not positive, which need not concern the determinant: see `branch`
                Err(bristle_multibody::Error::Jam { .. }) => {}
                result => return Ok(result?),
            }
        }
        let Self { compiled, point, coordinates, work, newton, residual, reduction, .. } = self;
        derive_residual(compiled, point, work, newton, residual, matrices)?;
        let scratch = reduction.get_or_insert_with(|| Box::new(Reduction::new(point.v.len())));
        reduce(coordinates, scratch, matrices)
    }
}

/// From Pᵀ∂f/∂q, Pᵀ∂f/∂v and M_P to ∂a/∂q, ∂a/∂v and A, reduced by T.
fn reduce(
    coordinates: &Coordinates,
    scratch: &mut Reduction,
    [dq, dv, mass]: &mut [DMatrix<f64>; 3],
) -> Result<(), Failure> {
    let (n, n_v) = (coordinates.active.len(), mass.nrows());
    let Reduction { lu, column, product } = scratch;
    let column = &mut column[..n];
    let reduced = lu.matrix_mut(n);
    reduced.clear();
    for i in 0..n_v {
        for (r, t_r) in coordinates.unknowns_of(i) {
            for j in 0..n_v {
                for (c, t_c) in coordinates.unknowns_of(j) {
                    reduced[(r, c)] += t_r * mass[(i, j)] * t_c;
                }
            }
        }
    }
    let singular = |_| bristle_multibody::Error::NonFinite { function: "couplings" };
    lu.factor().map_err(singular)?;
    // columns of A = T (Tᵀ M_P T)⁻¹ Tᵀ
    for j in 0..n_v {
        column.fill(0.0);
        coordinates.unknowns_of(j).for_each(|(r, t)| column[r] += t);
        lu.solve(column);
        for i in 0..n_v {
            mass[(i, j)] = coordinates.unknowns_of(i).map(|(r, t)| t * column[r]).sum();
        }
    }
    for derivative in [dq, dv] {
        mass.mul_to(derivative, product);
        derivative.copy_from(product);
        derivative.neg_mut();
    }
    Ok(())
}

/// P = S + s κ n̂ for the reactions found last.
pub(super) fn load_rows<'r>(
    compiled: &Compiled,
    point: &Point,
    work: &mut Work,
    rows: &'r mut [Motion],
    s: f64,
) -> &'r [Motion] {
    for &c in &compiled.model.reaction_loaded {
        let contact = &compiled.inputs.contacts[c];
        let Some(bearing) = contact.bearing else { continue };
        let kappa = point.kappa[c];
        let n_hat = bearing.normal_load(&point.force[c], kappa).1;
        let (tree, place) = (&compiled.model.tree, (contact.joint, contact.v));
        rows[contact.joint] = bearing.set_row(&n_hat, s * kappa, (tree, work), place);
    }
    rows
}

/// The columns of the unknowns on which a variable depends, with their coefficients.
fn columns(coordinates: &Coordinates, of: In, mut visit: impl FnMut(usize, f64)) {
    let n = coordinates.active.len();
    match of {
        In::Position(v) => coordinates.unknowns_of(v).for_each(|(place, c)| visit(place, c)),
        In::Velocity(v) => coordinates.unknowns_of(v).for_each(|(place, c)| visit(n + place, c)),
        In::Unknown(column) => visit(column, 1.0),
    }
}

/// Assembles the blocks of the module header.
fn assemble(
    of: (&Compiled, &Scheme),
    state: &State,
    point: &Point,
    coordinates: &Coordinates,
    t: f64,
    [dq, dv, dtau]: &[DMatrix<f64>; 3],
    jac: &mut Matrix,
) {
    let active = &coordinates.active;
    let n = active.len();
    jac.clear();
    for (r, &i) in active.iter().enumerate() {
        jac[(r, n + r)] = 1.0;
        fill_row(coordinates, |j| (dq[(i, j)], dv[(i, j)]), dq.ncols(), jac.row_mut(n + r));
    }
    for &k in &of.0.model.free {
        let Some(first) = coordinates.place(k) else { continue };
        for (of, share) in [(0, 0.5), (3, 1.0)] {
            let x: [f64; 3] = std::array::from_fn(|l| share * point.v[k + of + l]);
            // e_j × x
            for (j, l) in [(0, 1), (1, 2), (2, 0)] {
                let m = 3 - j - l;
                jac[(first + of + l, first + j)] -= x[m];
                jac[(first + of + m, first + j)] += x[l];
            }
        }
    }
    slopes(of, state, point, n, t, |slope| match slope {
        Slope::Effort { of, v, slope } => columns(coordinates, of, |column, c| {
            for (r, &i) in active.iter().enumerate() {
                jac[(n + r, column)] += dtau[(i, v)] * slope * c;
            }
        }),
        Slope::Rate { row, of, slope } => columns(coordinates, of, |column, c| jac[(row, column)] += slope * c),
    });
}

/// From derivatives in all positions and velocities, by velocity index, to columns of the unknowns.
fn fill_row(coordinates: &Coordinates, of: impl Fn(usize) -> (f64, f64), n_v: usize, row: &mut [f64]) {
    let n = coordinates.active.len();
    if coordinates.dependent.is_empty() {
        for (c, &j) in coordinates.active.iter().enumerate() {
            (row[c], row[n + c]) = of(j);
        }
        return;
    }
    for j in 0..n_v {
        let (in_q, in_v) = of(j);
        for (place, c) in coordinates.unknowns_of(j) {
            row[place] += in_q * c;
            row[n + place] += in_v * c;
        }
    }
}

/// ∂F/∂y and ∂F/∂y' of the residual form; `dq`, `dv` and `mass` are Pᵀ∂f/∂q, Pᵀ∂f/∂v and M_P.
pub(super) fn assemble_residual(
    of: (&Compiled, &Scheme),
    state: &State,
    point: &Point,
    coordinates: &Coordinates,
    t: f64,
    [dq, dv, mass]: &[DMatrix<f64>; 3],
    [df_dy, df_ddy]: [&mut Matrix; 2],
) {
    let active = &coordinates.active;
    let (n, n_v) = (active.len(), dq.ncols());
    df_dy.clear();
    df_ddy.clear();
    for r in 0..n {
        df_dy[(r, n + r)] = -1.0;
        df_ddy[(r, r)] = 1.0;
    }
    if coordinates.dependent.is_empty() {
        for (r, &i) in active.iter().enumerate() {
            fill_row(coordinates, |j| (dq[(i, j)], dv[(i, j)]), n_v, df_dy.row_mut(n + r));
            active.iter().enumerate().for_each(|(c, &j)| df_ddy[(n + r, n + c)] = mass[(i, j)]);
        }
    } else {
        for i in 0..n_v {
            for (r, t_r) in coordinates.unknowns_of(i) {
                fill_row(coordinates, |j| (t_r * dq[(i, j)], t_r * dv[(i, j)]), n_v, df_dy.row_mut(n + r));
                for j in 0..n_v {
                    coordinates.unknowns_of(j).for_each(|(c, t_c)| df_ddy[(n + r, n + c)] += t_r * mass[(i, j)] * t_c);
                }
            }
        }
    }
    for k in 2 * n..df_ddy.n() {
        df_ddy[(k, k)] = 1.0;
    }
    slopes(of, state, point, n, t, |slope| match slope {
        Slope::Effort { of, v, slope } => columns(coordinates, of, |column, c| {
            for (r, t_r) in coordinates.unknowns_of(v) {
                df_dy[(n + r, column)] -= slope * c * t_r;
            }
        }),
        Slope::Rate { row, of, slope } => columns(coordinates, of, |column, c| df_dy[(row, column)] -= slope * c),
    });
}

/// All derivatives of efforts and rates, at constant reactions; `n` is the number of active joints.
fn slopes(
    (compiled, scheme): (&Compiled, &Scheme),
    state: &State,
    point: &Point,
    n: usize,
    t: f64,
    mut visit: impl FnMut(Slope),
) {
    let Point { q, v, bristles, load, frozen, .. } = point;
    // an effort of `slope` per unit of q_a − q_b, or of its rate, on a, and the opposite effort on b
    let between = |slope: f64, is_rate: bool, (a, b): (usize, Option<usize>), visit: &mut dyn FnMut(Slope)| {
        for (of, sign) in std::iter::once((a, 1.0)).chain(b.map(|b| (b, -1.0))) {
            let of = if is_rate { In::Velocity(of) } else { In::Position(of) };
            visit(Slope::Effort { of, v: a, slope: slope * sign });
            if let Some(b) = b {
                visit(Slope::Effort { of, v: b, slope: -slope * sign });
            }
        }
    };
    for s in &compiled.inputs.springs {
        visit(Slope::Effort { of: In::Position(s.v), v: s.v, slope: -s.stiffness });
    }
    for d in &compiled.inputs.dampers {
        visit(Slope::Effort { of: In::Velocity(d.v), v: d.v, slope: -d.damping });
    }
    for s in &compiled.model.coupled.springs {
        between(-s.stiffness, false, (s.a, Some(s.b)), &mut visit);
        between(-s.damping, true, (s.a, Some(s.b)), &mut visit);
    }
    let mut next = 2 * n;
    for (k, contact) in compiled.inputs.contacts.iter().enumerate() {
        let (arm, ends) = (contact.arm, (contact.v, contact.b));
        let slip = arm * contact.rate(v);
        let n_load = load[k];
        if let Some(law) = contact.law.event_driven() {
            between(-arm * arm * n_load * law.sliding(state.mode[k], slip).1, true, ends, &mut visit);
            continue;
        }
        let now = contact.law.evaluate(slip, bristles[k]);
        let n_states = contact.law.n_states();
        between(-arm * arm * n_load * now.effort_v, true, ends, &mut visit);
        for s in 0..n_states {
            let (of, slope) = (In::Unknown(next + s), -arm * n_load * now.effort_state[s]);
            visit(Slope::Effort { of, v: contact.v, slope });
            if let Some(b) = contact.b {
                visit(Slope::Effort { of, v: b, slope: -slope });
            }
            if frozen[k] {
                continue;
            }
            visit(Slope::Rate { row: next + s, of: In::Velocity(contact.v), slope: arm * now.rate_v[s] });
            if let Some(b) = contact.b {
                visit(Slope::Rate { row: next + s, of: In::Velocity(b), slope: -arm * now.rate_v[s] });
            }
            for other in 0..n_states {
                visit(Slope::Rate { row: next + s, of: In::Unknown(next + other), slope: now.rate_state[s][other] });
            }
        }
        next += n_states;
    }
    for (k, drive) in compiled.inputs.drives.iter().enumerate() {
        let sample = drive_sample((compiled, scheme), state, k, t, q[drive.q], v[drive.v]);
        let mut limits = compiled.inputs.effort_limits.iter();
        let limit = limits.position(|limit| limit.drive == Some(k));
        let is_cut = limit.is_some_and(|limit| is_saturated((compiled, scheme), state, point, limit, t));
        let share = transmitted_share(compiled, point, drive.v);
        let slopes = if is_cut { [0.0; 3] } else { drive.slopes(&sample) };
        let [in_q, in_v, in_integral] = slopes.map(|slope| share * slope);
        visit(Slope::Effort { of: In::Position(drive.v), v: drive.v, slope: in_q });
        visit(Slope::Effort { of: In::Velocity(drive.v), v: drive.v, slope: in_v });
        if drive.has_integral() {
            visit(Slope::Effort { of: In::Unknown(next), v: drive.v, slope: in_integral });
            visit(Slope::Rate { row: next, of: In::Position(drive.v), slope: -1.0 });
            next += 1;
        }
    }
}
