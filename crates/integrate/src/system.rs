//! The interface of a system of equations.
//!
//! ```text
//!     y' = f(t, y)            Form::Explicit    `rhs`
//!     M y' = f(t, y)          Form::Mass        `rhs` and `mass`, M constant, possibly singular
//!     F(t, y, y') = 0         Form::Residual    `residual`
//! ```
//!
//! Only [`System::dim`] and [`System::rhs`] have no default; a test problem is a dozen lines. The rest is
//! optional:
//!
//! - **Second order.** With n₂ = [`System::second_order`] > 0 the state is y = (q, v, z), q and v of length n₂, and the
//!   first n₂ equations are q̇ = v. In the residual form rows n₂ … 2n₂ are r(t, q, v, a, z) = 0, with a and ż read from
//!   y'. Implicit steppers eliminate q.
//! - **Quadratures** Q̇ = r(t, y, ẏ), an energy balance for one, are integrated with the weights of the method, outside
//!   Newton and outside error control.
//! - **Events** are sign changes of functions of (t, y), or times known in advance. While one is being located the
//!   equations are frozen: every evaluation up to [`System::switch`] must use the discrete state (modes, pieces,
//!   charts) of the start of the step.
//! - The number of unknowns may change in `switch`, up to [`System::max_dim`].
//!
//! Matrices are dense and row-major ([`Matrix`]), `jac[(i, j)]` = ∂fᵢ/∂yⱼ.

use crate::linear::Matrix;
use crate::step_rules::{NoStepRules, StepRules};

/// How the equations are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// y' = f(t, y).
    Explicit,
    /// M y' = f(t, y) with a constant, possibly singular M.
    Mass,
    /// F(t, y, y') = 0.
    Residual,
}

impl crate::archive::Archived for Form {
    fn archive(&mut self, archive: &mut crate::archive::Archive<'_>) {
        archive.choice(self, &[Form::Explicit, Form::Mass, Form::Residual]);
    }
}

/// The reason why a system could not be evaluated. Details stay with the system, which the caller owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// Not at this point, but a smaller step may succeed: the attempt is rejected.
    Retry,
    /// Never: the run ends with [`crate::Error::System`], which carries `code`.
    Fatal {
        /// A code by which the system recognises its error.
        code: usize,
    },
}

/// Which sign changes of an event function count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// Both.
    #[default]
    Any,
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
}

impl crate::archive::Archived for Direction {
    fn archive(&mut self, archive: &mut crate::archive::Archive<'_>) {
        archive.choice(self, &[Direction::Any, Direction::Rising, Direction::Falling]);
    }
}

/// An event at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiredEvent {
    /// The time given by [`System::next_time_event`] is reached, exactly.
    Time,
    /// An event function has changed sign; the step ends just past the root.
    Root {
        /// Which function.
        index: usize,
        /// From negative to positive?
        rising: bool,
    },
}

/// How to go on after [`System::switch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// Active unknowns from here on.
    pub dim: usize,
    /// y or f has changed: first-same-as-last values, Jacobians, predictors are stale.
    pub fresh: bool,
    /// End the run here, successfully.
    pub terminate: bool,
    /// First step to try afterwards; `None` keeps the step planned before the event if `dim` is unchanged and estimates
    /// a new one otherwise.
    pub step: Option<f64>,
}

impl Restart {
    /// Neither y nor f has changed.
    pub fn unchanged(dim: usize) -> Self {
        Restart { dim, fresh: false, terminate: false, step: None }
    }

    /// y, f or the dimension has changed.
    pub fn fresh(dim: usize) -> Self {
        Restart { dim, fresh: true, terminate: false, step: None }
    }

    /// End the run.
    pub fn terminate(dim: usize) -> Self {
        Restart { dim, fresh: true, terminate: true, step: None }
    }
}

/// Where a Jacobian may differ from zero, for finite differences by groups of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sparsity {
    n: usize,
    nonzero: Vec<bool>,
}

impl Sparsity {
    /// An empty pattern for dimension `n`.
    pub fn new(n: usize) -> Self {
        Sparsity { n, nonzero: vec![false; n * n] }
    }

    /// Marks ∂fᵢ/∂yⱼ as possibly non-zero; indices out of range are ignored.
    pub fn insert(&mut self, i: usize, j: usize) {
        if i < self.n && j < self.n {
            self.nonzero[i * self.n + j] = true;
        }
    }

    /// Dimension.
    pub fn n(&self) -> usize {
        self.n
    }

    /// May ∂fᵢ/∂yⱼ differ from zero?
    pub fn contains(&self, i: usize, j: usize) -> bool {
        i < self.n && j < self.n && self.nonzero[i * self.n + j]
    }
}

/// A system of ordinary or differential-algebraic equations. See the [module](self).
pub trait System {
    /// Active unknowns.
    fn dim(&self) -> usize;

    /// Right-hand side f(t, y) into `dy`; both have the active dimension. Implicit steppers do not call it in
    /// [`Form::Residual`].
    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError>;

    /// Largest number of active unknowns that `switch` may ask for.
    fn max_dim(&self) -> usize {
        self.dim()
    }

    /// How the equations are given.
    fn form(&self) -> Form {
        Form::Explicit
    }

    /// n₂: number of leading pairs (q, v) with q̇ = v; 0 for a system without that structure.
    fn second_order(&self) -> usize {
        0
    }

    /// The constant M of [`Form::Mass`]; `m` has the active dimension.
    fn mass(&mut self, m: &mut Matrix) {
        m.clear();
        for i in 0..m.n() {
            m[(i, i)] = 1.0;
        }
    }

    /// Differentiation index of unknown i in a differential-algebraic system: 1 (also for differential unknowns), 2 or
    /// 3.
    fn index(&self, _i: usize) -> u8 {
        1
    }

    /// Residual F(t, y, y') into `r`, for [`Form::Residual`].
    fn residual(&mut self, _t: f64, _y: &[f64], _dy: &[f64], _r: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal { code: usize::MAX })
    }

    /// ∂f/∂y into `jac`, every entry; `false` asks for finite differences.
    fn jacobian(&mut self, _t: f64, _y: &[f64], _jac: &mut Matrix) -> Result<bool, EvalError> {
        Ok(false)
    }

    /// ∂F/∂y and ∂F/∂y', every entry; `false` asks for finite differences.
    fn residual_jacobian(
        &mut self,
        _t: f64,
        _y: &[f64],
        _dy: &[f64],
        _df_dy: &mut Matrix,
        _df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        Ok(false)
    }

    /// Pattern for finite differences (of ∂F/∂y and ∂F/∂y' together in the residual form).
    fn sparsity(&self) -> Option<&Sparsity> {
        None
    }

    /// Unknowns that [`crate::MixedEuler`] treats implicitly: by default z, all after q and v.
    fn implicit_part(&self) -> std::ops::Range<usize> {
        2 * self.second_order()..self.dim()
    }

    /// Absolute tolerance of each unknown from the one the user gave.
    fn absolute_tolerance(&self, atol: f64, each: &mut [f64]) {
        each.fill(atol);
    }

    /// Bounds on steps beside the error estimate, and a projection after each: [`StepRules`]. None by default.
    fn step_rules(&mut self) -> Option<&mut impl StepRules> {
        None::<&mut NoStepRules>
    }

    /// Number of quadratures; constant.
    fn n_quadratures(&self) -> usize {
        0
    }

    /// Rates of the quadratures at (t, y) with y' = `dy`. Explicit steppers call it right after `rhs` at the same
    /// point; implicit ones at the stages of an accepted step, with the stage derivatives of the method, so that
    /// accelerations need not be solved for.
    fn quadratures(&mut self, _t: f64, _y: &[f64], _dy: &[f64], _rate: &mut [f64]) -> Result<(), EvalError> {
        Ok(())
    }

    /// Number of event functions; may change in `switch`, up to `max_events`.
    fn n_events(&self) -> usize {
        0
    }

    /// Largest number of event functions.
    fn max_events(&self) -> usize {
        self.n_events()
    }

    /// Event functions into `g`.
    fn events(&mut self, _t: f64, _y: &[f64], _g: &mut [f64]) -> Result<(), EvalError> {
        Ok(())
    }

    /// Which sign changes of function `index` count.
    fn direction(&self, _index: usize) -> Direction {
        Direction::Any
    }

    /// The first time event strictly after `t`: a step will end on it exactly.
    fn next_time_event(&self, _t: f64) -> Option<f64> {
        None
    }

    /// Called just past located events. `y` has length `max_dim`, the active unknowns first; y and the quadratures may
    /// be changed.
    ///
    /// *Just past* means that the event function already has its new sign, by a few ulps. Where the motion turns back
    /// (a ball that bounces) put the state on the root exactly (`y[0] = 0.0`): a function that starts at zero is
    /// neither fired at once nor missed when it returns. Left below the ground, the ball crosses it upwards first, an
    /// event with [`Direction::Any`], and bounces lower than its depth are no events at all.
    fn switch(
        &mut self,
        _t: f64,
        _y: &mut [f64],
        _quad: &mut [f64],
        _fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        Ok(Restart::unchanged(self.dim()))
    }

    /// The one-step map of the system, (y₁, ΔQ) = Φ(t, h, y), for [`crate::Method::RealTime`].
    fn system_step(
        &mut self,
        _t: f64,
        _h: f64,
        _y: &[f64],
        _y_new: &mut [f64],
        _quad: &mut [f64],
    ) -> Result<(), EvalError> {
        Err(EvalError::Fatal { code: usize::MAX })
    }
}
