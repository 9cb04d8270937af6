//! The defect of an implicit stage, its Jacobian and the Newton matrix, for all implicit steppers.
//!
//! Every stage of an implicit method solves R(t, Y, Ẏ) = 0 for Y with Ẏ affine in Y, where the defect is
//!
//! ```text
//!     R = f(t, Y) − Ẏ         Form::Explicit          J =  ∂f/∂y,   M = 1
//!     R = f(t, Y) − M Ẏ       Form::Mass              J =  ∂f/∂y
//!     R = −F(t, Y, Ẏ)         Form::Residual          J = −∂F/∂y,   M = ∂F/∂y'
//! ```
//!
//! and a Newton correction solves (c M − J) Δ = R with a real or complex c ~ 1/h. With y = (q, v, z) and q̇ = v the
//! first rows are c Δq − Δv = R_q; eliminating Δq = (Δv + R_q)/c leaves
//!
//! ```text
//!     | (c M − J)_vv − J_vq/c    (c M − J)_vz |  | Δv |     | R_v + J_vq R_q/c |
//!     | (c M − J)_zv − J_zq/c    (c M − J)_zz |  | Δz |  =  | R_z + J_zq R_q/c |
//! ```
//!
//! Finite differences use the increment √(ε max(10⁻⁵, |yⱼ|)) of Hairer's codes, one evaluation per group of columns
//! that share no row (Curtis, Powell & Reid 1974).

use crate::linear::{Complex, Lu, Matrix, Scalar, Shortage, Singular};
use crate::stepper::check_finite;
use crate::{Failure, Form, Stats, System};

/// Rates below this count as zero where rates are solved for, per second in the units of the unknowns.
const MIN_RATE: f64 = 1e-3;

/// J and M at one point. See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Linearised {
    n: usize,
    /// n₂: leading pairs (q, v) with q̇ = v.
    n2: usize,
    form: Form,
    /// Dimension, form and column groups are those of the system.
    is_set_up: bool,
    /// J.
    pub jac: Matrix,
    /// M; meaningless in the explicit form.
    pub mass: Matrix,
    /// Group of each column for finite differences; `n_max`.
    group: Vec<usize>,
    n_groups: usize,
    /// Scratch for finite differences; `n_max` each.
    shifted: Vec<f64>,
    base: Vec<f64>,
    moved: Vec<f64>,
    delta: Vec<f64>,
    defect: Vec<f64>,
}

crate::archive::archived!(Linearised {
    n, n2, form, is_set_up, jac, mass, group, n_groups, shifted, base, moved, delta, defect
}; fits |it| {
    let n_max = it.moved.len();
    it.n <= n_max && it.n2 <= it.n / 2 && it.n_groups <= n_max && it.group.iter().all(|&group| group <= n_max)
});

impl Linearised {
    /// The dimension of the Newton matrix, q eliminated.
    pub fn m(&self) -> usize {
        self.n.saturating_sub(self.n2)
    }

    /// n₂ of the system.
    pub fn second_order(&self) -> usize {
        self.n2
    }

    /// Whether it is set up.
    pub fn is_set_up(&self) -> bool {
        self.is_set_up
    }

    /// Whether it can have `n` unknowns: after reading an archive.
    pub fn fits(&self, n: usize) -> bool {
        !self.is_set_up || self.n == n && self.jac.n() == n && self.mass.n() == n
    }

    pub fn new(n_max: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Linearised {
            n: n_max,
            n2: 0,
            form: Form::Explicit,
            is_set_up: false,
            jac: Matrix::on_demand(n_max),
            mass: Matrix::on_demand(n_max),
            group: vec![0; n_max],
            n_groups: 0,
            shifted: zeros(),
            base: zeros(),
            moved: zeros(),
            delta: zeros(),
            defect: zeros(),
        }
    }

    /// Bytes of the room for its matrices.
    pub fn bytes(&self) -> u64 {
        self.jac.bytes().saturating_add(self.mass.bytes())
    }

    /// Makes that room.
    pub fn reserve(&mut self) -> Result<(), Shortage> {
        self.jac.reserve()?;
        self.mass.reserve()
    }

    /// Marks the system as changed: it is set up again before the next step.
    pub fn restart(&mut self) {
        self.is_set_up = false;
    }

    /// Prepares for the dimension and form of a system, where that is due: M of the mass form, groups of columns.
    pub fn set_up<S: System>(&mut self, system: &mut S, n: usize) {
        if std::mem::replace(&mut self.is_set_up, true) {
            return;
        }
        self.n = n;
        self.form = system.form();
        self.n2 = system.second_order().min(n / 2);
        self.jac.resize(n);
        self.mass.resize(n);
        if self.form == Form::Mass {
            system.mass(&mut self.mass);
            // q̇ = v is known; eliminating q needs nothing else from M
        }

        // greedy grouping: a column joins the first group none of whose columns shares a row with it
        self.n_groups = 0;
        for j in 0..n {
            let mut g = 0;
            if let Some(sparsity) = system.sparsity() {
                let clash = |k: usize| (0..n).any(|i| sparsity.contains(i, j) && sparsity.contains(i, k));
                while (0..j).any(|k| self.group[k] == g && clash(k)) {
                    g += 1;
                }
            } else {
                g = j;
            }
            self.group[j] = g;
            self.n_groups = self.n_groups.max(g + 1);
        }
    }

    pub fn form(&self) -> Form {
        self.form
    }

    /// The defect R(t, y, dy) into `r`.
    #[inline]
    pub fn defect<S: System>(
        &self,
        system: &mut S,
        t: f64,
        y: &[f64],
        dy: &[f64],
        r: &mut [f64],
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        if self.form == Form::Residual {
            stats.n_residual += 1;
            system.residual(t, y, dy, r)?;
            r.iter_mut().for_each(|r| *r = -*r);
        } else {
            stats.n_rhs += 1;
            system.rhs(t, y, r)?;
            self.subtract_mass_times(dy, r);
        }
        Ok(())
    }

    /// r ← r − M dy; explicit and mass forms.
    #[inline]
    pub fn subtract_mass_times(&self, dy: &[f64], r: &mut [f64]) {
        if self.form == Form::Explicit {
            r.iter_mut().zip(dy).for_each(|(r, dy)| *r -= dy);
        } else {
            for (i, r) in r.iter_mut().enumerate() {
                *r -= self.mass.row(i).iter().zip(dy).map(|(m, dy)| m * dy).sum::<f64>();
            }
        }
    }

    /// J (and M in the residual form) at (t, y, dy); `dy` is ignored in the other forms.
    pub fn update<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &[f64],
        dy: &[f64],
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        let n = self.n;
        stats.n_jacobian += 1;
        if self.form != Form::Residual {
            if !system.jacobian(t, y, &mut self.jac)? {
                self.differences(system, t, y, dy, false, stats)?;
            }
            return check_rows(&self.jac);
        }
        if system.residual_jacobian(t, y, dy, &mut self.jac, &mut self.mass)? {
            self.jac.as_mut_slice().iter_mut().for_each(|j| *j = -*j);
        } else {
            self.differences(system, t, y, dy, false, stats)?;
            self.differences(system, t, y, dy, true, stats)?;
        }
        debug_assert_eq!(self.jac.n(), n);
        check_rows(&self.jac)?;
        check_rows(&self.mass)
    }

    /// J, or M with `of_rates`, by one-sided differences over groups of columns.
    fn differences<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &[f64],
        dy: &[f64],
        of_rates: bool,
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        let n = self.n;
        let evaluate = |system: &mut S, x: &[f64], out: &mut [f64]| match (self.form, of_rates) {
            (Form::Residual, false) => system.residual(t, x, dy, out),
            (Form::Residual, true) => system.residual(t, y, x, out),
            _ => system.rhs(t, x, out),
        };
        // M = ∂F/∂y', but J = −∂F/∂y
        let (matrix, sign) = match (self.form, of_rates) {
            (Form::Residual, false) => (&mut self.jac, -1.0),
            (Form::Residual, true) => (&mut self.mass, 1.0),
            _ => (&mut self.jac, 1.0),
        };
        let point = if of_rates { dy } else { y };
        let shifted = &mut self.shifted[..n];
        let base = &mut self.base[..n];
        let moved = &mut self.moved[..n];
        matrix.clear();
        evaluate(system, point, base)?;
        shifted.copy_from_slice(point);
        stats.n_difference_columns += 1 + self.n_groups;
        for g in 0..self.n_groups {
            for j in (0..n).filter(|&j| self.group[j] == g) {
                // the increment actually represented
                let increment = (f64::EPSILON * point[j].abs().max(1e-5)).sqrt();
                shifted[j] = point[j] + increment;
                self.delta[j] = shifted[j] - point[j];
            }
            evaluate(system, shifted, moved)?;
            for j in (0..n).filter(|&j| self.group[j] == g) {
                shifted[j] = point[j];
                for i in 0..n {
                    if system.sparsity().is_none_or(|sparsity| sparsity.contains(i, j)) {
                        matrix[(i, j)] = sign * (moved[i] - base[i]) / self.delta[j];
                    }
                }
            }
        }
        Ok(())
    }

    /// Factors the Newton matrix c M − J, q eliminated.
    pub fn factor<T: Coefficient>(&self, c: T, lu: &mut Lu<T>) -> Result<(), Singular> {
        let (n, n2) = (self.n, self.n2);
        let m = n - n2;
        let matrix = lu.matrix_mut(m);
        let explicit = self.form == Form::Explicit;
        for i in 0..m {
            let jac = &self.jac.row(n2 + i)[..n];
            let row = matrix.row_mut(i);
            for (a, &j) in row.iter_mut().zip(&jac[n2..]) {
                *a = T::real(-j);
            }
            if explicit {
                row[i] = row[i] + c;
            } else {
                for (a, &mass) in row.iter_mut().zip(&self.mass.row(n2 + i)[n2..]) {
                    *a = *a + c * T::real(mass);
                }
            }
            // − J_·q/c on the columns of v
            if n2 > 0 {
                let inverse = c.reciprocal();
                for (a, &j) in row.iter_mut().zip(&jac[..n2]) {
                    *a = *a - inverse * T::real(j);
                }
            }
        }
        lu.factor()
    }

    /// Factors c − J over `m` unknowns from `start` on, for the explicit form.
    pub fn factor_block(&self, start: usize, m: usize, c: f64, lu: &mut Lu, stats: &mut Stats) -> Result<(), Failure> {
        stats.n_factor += 1;
        let matrix = lu.matrix_mut(m);
        for i in 0..m {
            for j in 0..m {
                matrix[(i, j)] = -self.jac[(start + i, start + j)];
            }
            matrix[(i, i)] += c;
        }
        Ok(lu.factor()?)
    }

    /// Solves (c M − J) x = b in place with the factors of [`Linearised::factor`] for the same c.
    #[inline]
    pub fn solve<T: Coefficient>(&self, c: T, lu: &Lu<T>, b: &mut [T]) {
        let (n, n2) = (self.n, self.n2);
        if n2 == 0 {
            return lu.solve(b);
        }
        let inverse = c.reciprocal();
        let (q, rest) = b.split_at_mut(n2);
        q.iter_mut().for_each(|q| *q = *q * inverse);
        for (i, r) in rest.iter_mut().enumerate() {
            for (&j, &q) in self.jac.row(n2 + i)[..n2].iter().zip(q.iter()) {
                *r = *r + T::real(j) * q;
            }
        }
        lu.solve(&mut rest[..n - n2]);
        // Δq = (Δv + R_q)/c
        q.iter_mut().zip(rest.iter()).for_each(|(q, &v)| *q = *q + v * inverse);
    }

    /// y' that satisfies the equations at (t, y): f itself, M⁻¹f, or the root of F(t, y, ·) by Newton from zero. An
    /// equation without rates is a constraint and an unknown without rate its multiplier; that rate is set to zero.
    /// Voids J in the residual form.
    pub fn initial_rates<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        lu: &mut Lu,
        stats: &mut Stats,
    ) -> Result<(), Failure> {
        let (n, n2) = (self.n, self.n2);
        let m = n - n2;
        if self.form == Form::Explicit {
            stats.n_rhs += 1;
            system.rhs(t, y, dy)?;
            return check_finite(dy);
        }
        dy.fill(0.0);
        dy[..n2].copy_from_slice(&y[n2..2 * n2]);
        let mut defect = std::mem::take(&mut self.defect);
        let mut size_old = f64::INFINITY;
        let mut outcome = Err(Failure::Newton { factor: 0.5 });
        for _ in 0..20 {
            outcome = self.improve_rates(system, t, y, dy, &mut defect[..n], lu, stats);
            let Ok(size) = outcome else { break };
            // rates that are all zero have no size of their own
            let level = dy[n2..].iter().fold(MIN_RATE, |level: f64, rate| level.max(rate.abs()));
            // converged, or limited by round-off; the mass form is linear
            let is_stalled = size <= 1e-9 * level && size >= 0.5 * size_old;
            if m == 0 || self.form == Form::Mass || size <= 1e-14 * level || is_stalled {
                outcome = Ok(0.0);
                break;
            }
            size_old = size;
            outcome = Err(Failure::Newton { factor: 0.5 });
        }
        self.defect = defect;
        outcome.map(|_| ())
    }

    /// One Newton correction of `dy`; its largest component.
    fn improve_rates<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        defect: &mut [f64],
        lu: &mut Lu,
        stats: &mut Stats,
    ) -> Result<f64, Failure> {
        let (n, n2) = (self.n, self.n2);
        let m = n - n2;
        if self.form == Form::Residual {
            stats.n_jacobian += 1;
            if !system.residual_jacobian(t, y, dy, &mut self.jac, &mut self.mass)? {
                self.differences(system, t, y, dy, true, stats)?;
            }
        }
        self.defect(system, t, y, dy, defect, stats)?;
        let matrix = lu.matrix_mut(m);
        for i in 0..m {
            matrix.row_mut(i).copy_from_slice(&self.mass.row(n2 + i)[n2..n]);
        }
        let mut free = 0;
        for i in 0..m {
            if matrix.row(i).iter().all(|&entry| entry == 0.0) {
                while free < m && (0..m).any(|k| matrix[(k, free)] != 0.0) {
                    free += 1;
                }
                if free < m {
                    matrix[(i, free)] = 1.0;
                    defect[n2 + i] = 0.0;
                }
            }
        }
        stats.n_factor += 1;
        stats.n_solve += 1;
        lu.factor()?;
        lu.solve(&mut defect[n2..]);
        dy[n2..].iter_mut().zip(&defect[n2..]).for_each(|(rate, correction)| *rate += correction);
        check_finite(dy)?;
        Ok(defect[n2..].iter().fold(0.0, |size, correction| size.max(correction.abs())))
    }
}

/// The part of [`Stepper`](crate::Stepper) about its matrices, in these fields.
macro_rules! matrices {
    ($($field:ident),+) => {
        fn matrix_bytes(&self) -> u64 {
            [$(self.$field.bytes()),+].into_iter().fold(0, u64::saturating_add)
        }

        fn reserve(&mut self) -> Result<(), $crate::linear::Shortage> {
            $(self.$field.reserve()?;)+
            Ok(())
        }
    };
}
pub(crate) use matrices;

/// A matrix with an entry that is not finite cannot be used; the column is reported.
fn check_rows(matrix: &Matrix) -> Result<(), Failure> {
    (0..matrix.n()).try_for_each(|i| check_finite(matrix.row(i)))
}

/// Numbers that a Newton matrix can be made of.
pub(crate) trait Coefficient: Scalar {
    /// A real number as one of these.
    fn real(x: f64) -> Self;
}

impl Coefficient for f64 {
    #[inline(always)]
    fn real(x: f64) -> f64 {
        x
    }
}

impl Coefficient for Complex {
    #[inline(always)]
    fn real(x: f64) -> Complex {
        Complex::new(x, 0.0)
    }
}

/// Stopping rule of a Newton iteration run to convergence, in units of the tolerance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Iteration {
    n: usize,
    first: f64,
    norm: f64,
    rate: f64,
}

impl Iteration {
    /// Corrections below this fraction of the tolerance are convergence.
    const KAPPA: f64 = 1e-2;
    /// Enough for undamped Newton to cross a kink.
    const MAX: usize = 30;

    /// Iterations so far.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Takes the norm of a correction; returns whether the iteration has ended.
    pub fn is_done(&mut self, norm: f64) -> Result<bool, Failure> {
        self.n += 1;
        if self.n == 1 {
            self.first = norm;
        }
        // a thousand times the first correction is divergence
        if !norm.is_finite() || norm > 1e3 * self.first {
            return Err(Failure::Newton { factor: 0.25 });
        }
        self.rate = if self.n > 1 && self.norm > 0.0 { norm / self.norm } else { 0.0 };
        self.norm = norm;
        // the error left behind is θ/(1−θ) times the correction
        let left = if self.n > 1 && self.rate < 1.0 { self.rate / (1.0 - self.rate) * norm } else { norm };
        if left <= Self::KAPPA {
            return Ok(true);
        }
        if self.n == Self::MAX { Err(Failure::Newton { factor: 0.5 }) } else { Ok(false) }
    }

    /// Whether J needs an update.
    pub fn is_slow(&self) -> bool {
        self.n > 1 && self.rate > 0.1
    }
}
