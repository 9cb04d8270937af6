//! A step does not allocate: with any stepper, in any form, at events and at changes of dimension.

use bristle_integrate::linear::Matrix;
use bristle_integrate::{
    Control, Driver, EvalError, FiredEvent, Form, Method, Options, Restart, Sink, Sparsity, System,
};
use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every request is handed on unchanged; the counter is a plain thread-local cell without destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises about `layout` are those `alloc` asks for.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above, which is the system's.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A pendulum with a first-order companion; at each crossing of zero the companion leaves or returns.
struct Changing {
    form: Form,
    has_companion: bool,
    n_switched: usize,
    analytic: bool,
    /// Patterns without and with the companion.
    sparsity: [Sparsity; 2],
}

impl Changing {
    fn new(form: Form, analytic: bool) -> Self {
        let sparsity = [2, 3].map(|n| {
            let mut pattern = Sparsity::new(n);
            [(0, 1), (1, 0), (2, 0)].into_iter().for_each(|(i, j)| pattern.insert(i, j));
            (0..n).for_each(|i| pattern.insert(i, i));
            pattern
        });
        Changing { form, has_companion: true, n_switched: 0, analytic, sparsity }
    }
}

impl System for Changing {
    fn dim(&self) -> usize {
        if self.has_companion { 3 } else { 2 }
    }

    fn max_dim(&self) -> usize {
        3
    }

    fn form(&self) -> Form {
        self.form
    }

    fn second_order(&self) -> usize {
        1
    }

    fn sparsity(&self) -> Option<&Sparsity> {
        Some(&self.sparsity[usize::from(self.has_companion)])
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        self.rhs(t, y, r)?;
        r.iter_mut().zip(dy).for_each(|(r, dy)| *r = dy - *r);
        Ok(())
    }

    fn residual_jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        _dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        let n = y.len();
        self.jacobian(t, y, df_dy)?;
        df_ddy.clear();
        for i in 0..n {
            (0..n).for_each(|j| df_dy[(i, j)] *= -1.0);
            df_ddy[(i, i)] = 1.0;
        }
        Ok(self.analytic)
    }

    fn rhs(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        (dy[0], dy[1]) = (y[1], -y[0].sin());
        if self.has_companion {
            dy[2] = -10.0 * (y[2] - y[0]);
        }
        Ok(())
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        jac.clear();
        jac[(0, 1)] = 1.0;
        jac[(1, 0)] = -y[0].cos();
        if self.has_companion {
            jac[(2, 0)] = 10.0;
            jac[(2, 2)] = -10.0;
        }
        Ok(self.analytic)
    }

    fn n_quadratures(&self) -> usize {
        1
    }

    fn quadratures(&mut self, _t: f64, y: &[f64], dy: &[f64], rate: &mut [f64]) -> Result<(), EvalError> {
        rate[0] = y[1] * dy[1];
        Ok(())
    }

    fn n_events(&self) -> usize {
        1
    }

    fn events(&mut self, _t: f64, y: &[f64], g: &mut [f64]) -> Result<(), EvalError> {
        g[0] = y[0];
        Ok(())
    }

    fn next_time_event(&self, t: f64) -> Option<f64> {
        Some(t.floor() + 1.0)
    }

    fn switch(
        &mut self,
        _t: f64,
        y: &mut [f64],
        _quad: &mut [f64],
        fired: &[FiredEvent],
    ) -> Result<Restart, EvalError> {
        if fired.contains(&FiredEvent::Time) {
            return Ok(Restart::unchanged(self.dim()));
        }
        self.n_switched += 1;
        self.has_companion = !self.has_companion;
        if self.has_companion {
            y[2] = y[0];
        }
        Ok(Restart::fresh(self.dim()))
    }
}

/// Wants a sample every hundredth and adds them up.
struct Sum {
    n: usize,
    sum: f64,
}

impl Sink<Changing> for Sum {
    fn next_sample(&self) -> f64 {
        0.01 * self.n as f64
    }

    fn sample(&mut self, _system: &mut Changing, _t: f64, y: &[f64], quad: &[f64]) {
        self.n += 1;
        self.sum += y[0] + quad[0];
    }
}

#[test]
fn a_step_does_not_allocate() {
    let error = Control::error(1e-8, 1e-10);
    let constant = Control::Constant { step: 0.003 };
    let choices = [
        (Method::Euler, &constant),
        (Method::MixedEuler, &constant),
        (Method::LinearlyImplicitEuler, &constant),
        (Method::Rk4, &constant),
        (Method::Trapezoidal, &constant),
        (Method::Radau3, &constant),
        (Method::Dopri5, &error),
        (Method::Radau5, &error),
        (Method::GeneralizedAlpha { spectral_radius: 0.8 }, &error),
        (Method::Radau5, &constant),
        (Method::GeneralizedAlpha { spectral_radius: 0.8 }, &constant),
    ];
    let forms = [Form::Explicit, Form::Mass, Form::Residual];
    for (form, analytic) in forms.into_iter().flat_map(|form| [(form, true), (form, false)]) {
        for (method, control) in choices {
            if form != Form::Explicit && !method.is_implicit() {
                continue;
            }
            let mut system = Changing::new(form, analytic);
            let options = Options::new(method, *control);
            let mut driver = Driver::new(&mut system, 0.0, &[1.0, 0.0, 1.0], options).unwrap();
            let mut sink = Sum { n: 0, sum: 0.0 };
            let before = COUNT.with(Cell::get);
            driver.advance(&mut system, 20.0, &mut sink).unwrap();
            let after = COUNT.with(Cell::get);
            assert_eq!(after - before, 0, "{method:?} {form:?}");
            let seen = (sink.n, driver.stats().n_time_events);
            assert!(system.n_switched >= 5 && seen == (2001, 20), "{method:?} {form:?}");
        }
    }
    // the counter counts
    let before = COUNT.with(Cell::get);
    drop(std::hint::black_box(vec![0.0; 7]));
    assert_eq!(COUNT.with(Cell::get) - before, 1);
}
