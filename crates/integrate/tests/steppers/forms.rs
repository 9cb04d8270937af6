//! The same mechanics given as y' = f, as M y' = f and as F(t, y, y') = 0 gives the same steps.

use bristle_integrate::linear::Matrix;
use bristle_integrate::{Control, Driver, EvalError, Form, Method, Options, System};

/// Two coupled joints with a bristle, y = (q₁, q₂, v₁, v₂, z).
///
/// ```text
///     | 2    0.5 | | a₁ |     | −sin q₁ − z + cos t |
///     | 0.5  1   | | a₂ |  =  | −4 (q₂ − q₁) − 0.1 v₂ |        ż = v₁ − √(v₁² + 0.01) z
/// ```
struct Joints {
    form: Form,
    analytic: bool,
}

fn forces(t: f64, y: &[f64]) -> [f64; 3] {
    let [q1, q2, v1, v2, z] = *y else { unreachable!("five unknowns") };
    [-q1.sin() - z + t.cos(), -4.0 * (q2 - q1) - 0.1 * v2, v1 - (v1 * v1 + 0.01).sqrt() * z]
}

fn force_jacobian(y: &[f64]) -> [[f64; 5]; 3] {
    let [q1, _, v1, _, z] = *y else { unreachable!("five unknowns") };
    let speed = (v1 * v1 + 0.01).sqrt();
    [[-q1.cos(), 0.0, 0.0, 0.0, -1.0], [4.0, -4.0, 0.0, -0.1, 0.0], [0.0, 0.0, 1.0 - v1 / speed * z, 0.0, -speed]]
}

const MASS: [[f64; 2]; 2] = [[2.0, 0.5], [0.5, 1.0]];

fn fill_mass(m: &mut Matrix) {
    m.clear();
    for i in [0, 1, 4] {
        m[(i, i)] = 1.0;
    }
    for i in 0..2 {
        for j in 0..2 {
            m[(2 + i, 2 + j)] = MASS[i][j];
        }
    }
}

impl System for Joints {
    fn dim(&self) -> usize {
        5
    }

    fn second_order(&self) -> usize {
        2
    }

    fn form(&self) -> Form {
        self.form
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        let [f1, f2, dz] = forces(t, y);
        let [a1, a2] = match self.form {
            Form::Mass => [f1, f2],
            // det M = 1.75
            Form::Explicit => [(f1 - 0.5 * f2) / 1.75, (2.0 * f2 - 0.5 * f1) / 1.75],
            // an implicit stepper does not call it
            Form::Residual => return Err(EvalError::Fatal { code: 1 }),
        };
        dy.copy_from_slice(&[y[2], y[3], a1, a2, dz]);
        Ok(())
    }

    fn mass(&mut self, m: &mut Matrix) {
        fill_mass(m);
    }

    fn jacobian(&mut self, _t: f64, y: &[f64], jac: &mut Matrix) -> Result<bool, EvalError> {
        jac.clear();
        jac[(0, 2)] = 1.0;
        jac[(1, 3)] = 1.0;
        let rows = force_jacobian(y);
        for j in 0..5 {
            let [f1, f2] = [rows[0][j], rows[1][j]];
            let is_mass = self.form == Form::Mass;
            jac[(2, j)] = if is_mass { f1 } else { (f1 - 0.5 * f2) / 1.75 };
            jac[(3, j)] = if is_mass { f2 } else { (2.0 * f2 - 0.5 * f1) / 1.75 };
            jac[(4, j)] = rows[2][j];
        }
        Ok(self.analytic)
    }

    fn residual(&mut self, t: f64, y: &[f64], dy: &[f64], r: &mut [f64]) -> Result<(), EvalError> {
        let f = forces(t, y);
        r[0] = dy[0] - y[2];
        r[1] = dy[1] - y[3];
        r[2] = MASS[0][0] * dy[2] + MASS[0][1] * dy[3] - f[0];
        r[3] = MASS[1][0] * dy[2] + MASS[1][1] * dy[3] - f[1];
        r[4] = dy[4] - f[2];
        Ok(())
    }

    fn residual_jacobian(
        &mut self,
        _t: f64,
        y: &[f64],
        _dy: &[f64],
        df_dy: &mut Matrix,
        df_ddy: &mut Matrix,
    ) -> Result<bool, EvalError> {
        df_dy.clear();
        df_dy[(0, 2)] = -1.0;
        df_dy[(1, 3)] = -1.0;
        for (i, row) in force_jacobian(y).iter().enumerate() {
            for (j, entry) in row.iter().enumerate() {
                df_dy[(2 + i, j)] = -entry;
            }
        }
        fill_mass(df_ddy);
        Ok(self.analytic)
    }
}

fn end(form: Form, analytic: bool, method: Method, control: Control) -> Vec<f64> {
    let mut joints = Joints { form, analytic };
    let y = [1.0, 0.5, 0.0, 0.3, 0.1];
    let mut driver = Driver::new(&mut joints, 0.0, &y, Options::new(method, control)).unwrap();
    driver.advance(&mut joints, 3.0, &mut ()).unwrap();
    driver.y().to_vec()
}

#[test]
fn forms_and_jacobians_agree() {
    for method in [
        Method::Trapezoidal,
        Method::Radau3,
        Method::Radau5,
        Method::GeneralizedAlpha { spectral_radius: 0.8 },
        Method::GeneralizedAlpha { spectral_radius: 1.0 },
    ] {
        let control = Control::Constant { step: 0.02 };
        let explicit = end(Form::Explicit, true, method, control);
        for form in [Form::Explicit, Form::Mass, Form::Residual] {
            for analytic in [true, false] {
                let other = end(form, analytic, method, control);
                for (a, b) in explicit.iter().zip(&other) {
                    // Newton is run to 1e-10 of the state
                    assert!((a - b).abs() < 1e-9, "{method:?} {form:?} {analytic}: {explicit:?} {other:?}");
                }
            }
        }
    }
}

#[test]
fn error_control_works_in_every_form() {
    let exact = end(Form::Explicit, true, Method::Dopri5, Control::error(1e-12, 1e-12));
    for (method, rtol, allowed) in
        [(Method::Radau5, 1e-8, 1e-6), (Method::GeneralizedAlpha { spectral_radius: 0.8 }, 1e-7, 1e-4)]
    {
        for form in [Form::Explicit, Form::Mass, Form::Residual] {
            let y = end(form, true, method, Control::error(rtol, rtol));
            for (a, b) in exact.iter().zip(&y) {
                assert!((a - b).abs() < allowed, "{method:?} {form:?}: {exact:?} {y:?}");
            }
        }
    }
}
