//! Counters of a run, under the names the literature on stiff codes uses.

/// What a run cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Steps accepted; a step shortened to land on an event counts once.
    pub n_accepted: usize,
    /// Steps rejected by the error estimate.
    pub n_rejected: usize,
    /// Steps given up because Newton did not converge or the system could not be evaluated.
    pub n_failed: usize,
    /// Evaluations of f, those for finite differences excepted.
    pub n_rhs: usize,
    /// Evaluations of F in the residual form, those for finite differences excepted.
    pub n_residual: usize,
    /// Jacobians.
    pub n_jacobian: usize,
    /// Extra evaluations of f or F for Jacobians by finite differences: groups of columns.
    pub n_difference_columns: usize,
    /// Factorisations; the real and complex matrix of a Radau step count once.
    pub n_factor: usize,
    /// Forward-backward substitutions, counted like factorisations.
    pub n_solve: usize,
    /// Newton iterations.
    pub n_newton: usize,
    /// Evaluations of the quadrature rates.
    pub n_quadrature: usize,
    /// Event functions fired, each function once per instant.
    pub n_events: usize,
    /// Time events reached.
    pub n_time_events: usize,
    /// Evaluations of the event functions, all of them at one point counting once.
    pub n_event_evaluations: usize,
    /// Steps taken again, shortened, to land on an event.
    pub n_landings: usize,
    /// Times y was changed by `accepted`.
    pub n_charts: usize,
    /// Steps of an explicit method that stability held down, not accuracy.
    pub n_stiff: usize,
}

crate::archive::archived!(Stats {
    n_accepted,
    n_rejected,
    n_failed,
    n_rhs,
    n_residual,
    n_jacobian,
    n_difference_columns,
    n_factor,
    n_solve,
    n_newton,
    n_quadrature,
    n_events,
    n_time_events,
    n_event_evaluations,
    n_landings,
    n_charts,
    n_stiff
}; fits |it| it.counts().iter().all(|&count| count < crate::archive::MOST));

impl Stats {
    /// All of them.
    fn counts(&self) -> [usize; 17] {
        let Self {
            n_accepted,
            n_rejected,
            n_failed,
            n_rhs,
            n_residual,
            n_jacobian,
            n_difference_columns,
            n_factor,
            n_solve,
            n_newton,
            n_quadrature,
            n_events,
            n_time_events,
            n_event_evaluations,
            n_landings,
            n_charts,
            n_stiff,
        } = *self;
        [
            n_accepted,
            n_rejected,
            n_failed,
            n_rhs,
            n_residual,
            n_jacobian,
            n_difference_columns,
            n_factor,
            n_solve,
            n_newton,
            n_quadrature,
            n_events,
            n_time_events,
            n_event_evaluations,
            n_landings,
            n_charts,
            n_stiff,
        ]
    }
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        // a counter that is forgotten here does not compile
        let Stats {
            n_accepted,
            n_rejected,
            n_failed,
            n_rhs,
            n_residual,
            n_jacobian,
            n_difference_columns,
            n_factor,
            n_solve,
            n_newton,
            n_quadrature,
            n_events,
            n_time_events,
            n_event_evaluations,
            n_landings,
            n_charts,
            n_stiff,
        } = other;
        self.n_accepted += n_accepted;
        self.n_rejected += n_rejected;
        self.n_failed += n_failed;
        self.n_rhs += n_rhs;
        self.n_residual += n_residual;
        self.n_jacobian += n_jacobian;
        self.n_difference_columns += n_difference_columns;
        self.n_factor += n_factor;
        self.n_solve += n_solve;
        self.n_newton += n_newton;
        self.n_quadrature += n_quadrature;
        self.n_events += n_events;
        self.n_time_events += n_time_events;
        self.n_event_evaluations += n_event_evaluations;
        self.n_landings += n_landings;
        self.n_charts += n_charts;
        self.n_stiff += n_stiff;
    }
}

impl std::ops::Add for Stats {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
