//! Counters of a run, under the names that the literature on stiff codes uses.

/// The counters, each described once: the struct, its sum, its archive.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Cost of a run so far.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: usize,)*
        }

        crate::archive::archived!(Stats { $($name),* };
            fits |it| [$(it.$name),*].iter().all(|&count| count < crate::archive::MOST));

        impl std::ops::AddAssign for Stats {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    /// Steps accepted; a step shortened to land on an event counts once.
    n_accepted,
    /// Steps rejected by the error estimate.
    n_rejected,
    /// Steps abandoned because Newton did not converge or the system could not be evaluated.
    n_failed,
    /// Evaluations of f, those for finite differences excepted.
    n_rhs,
    /// Evaluations of F in the residual form, those for finite differences excepted.
    n_residual,
    /// Jacobians.
    n_jacobian,
    /// Extra evaluations of f or F for Jacobians by finite differences: groups of columns.
    n_difference_columns,
    /// Factorisations; the real and complex matrix of a Radau step count once.
    n_factor,
    /// Forward-backward substitutions, counted like factorisations.
    n_solve,
    /// Newton iterations.
    n_newton,
    /// Evaluations of the quadrature rates.
    n_quadrature,
    /// Event functions fired, each function once per instant.
    n_events,
    /// Time events reached.
    n_time_events,
    /// Evaluations of the event functions, all of them at one point counting once.
    n_event_evaluations,
    /// Steps taken again, shortened, to land on an event.
    n_landings,
    /// Changes of y by [`StepRules::accepted`](crate::StepRules::accepted).
    n_charts,
    /// Steps of an explicit method that stability limited instead of accuracy.
    n_stiff,
}

impl std::ops::Add for Stats {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
