//! Coefficients of the three-stage Radau IIA method (Hairer & Wanner, *Solving ODEs II*, table IV.5.6 and section
//! IV.8).
//!
//! ```text
//!     T⁻¹ A⁻¹ T = diag(γ̂, α̂ ± iβ̂)
//! ```

const SQRT6: f64 = 2.449489742783178;
/// Nodes.
pub(super) const C: [f64; 3] = [(4.0 - SQRT6) / 10.0, (4.0 + SQRT6) / 10.0, 1.0];
/// Weights of the embedded error formula.
pub(super) const DD: [f64; 3] = [-(13.0 + 7.0 * SQRT6) / 3.0, (-13.0 + 7.0 * SQRT6) / 3.0, -1.0 / 3.0];
/// γ̂ = 1/γ₀, the real eigenvalue of A⁻¹, γ₀ = (6 + ∛81 − ∛9)/30.
pub(super) const GAMMA: f64 = 3.637834252744496;
/// α̂, β̂: the complex pair α̂ ± iβ̂.
pub(super) const ALPHA: f64 = 2.6810828736277523;
pub(super) const BETA: f64 = 3.050430199247411;
/// T; its last row is (T₃₁, 1, 0).
pub(super) const T: [[f64; 3]; 3] = [
    [0.09123239487089295, -0.1412552950209542, -0.030029194105147424],
    [0.241717932707107, 0.20412935229379994, 0.3829421127572619],
    [0.966048182615093, 1.0, 0.0],
];
/// T⁻¹.
pub(super) const TI: [[f64; 3]; 3] = [
    [4.325579890063155, 0.33919925181580984, 0.5417705399358749],
    [-4.178718591551905, -0.32768282076106237, 0.47662355450055044],
    [-0.5028726349457868, 2.571926949855605, -0.5960392048282249],
];
/// A⁻¹.
pub(super) const AI: [[f64; 3]; 3] = [
    [2.0 + SQRT6 / 2.0, -1.2 + 29.0 / 30.0 * SQRT6, 0.4 - 4.0 / 15.0 * SQRT6],
    [-1.2 - 29.0 / 30.0 * SQRT6, 2.0 - SQRT6 / 2.0, 0.4 + 4.0 / 15.0 * SQRT6],
    [-1.0 + 8.0 / 3.0 * SQRT6, -1.0 - 8.0 / 3.0 * SQRT6, 5.0],
];

/// The derivative of the collocation polynomial at the start of the step, by Lagrange's formula on 0, c₁, c₂, 1.
pub(super) fn start_rate(h: f64, z1: f64, z2: f64, z3: f64) -> f64 {
    let [c1, c2, _] = C;
    let l1 = c2 / (c1 * (c1 - c2) * (c1 - 1.0));
    let l2 = c1 / (c2 * (c2 - c1) * (c2 - 1.0));
    let l3 = c1 * c2 / ((1.0 - c1) * (1.0 - c2));
    (l1 * z1 + l2 * z2 + l3 * z3) / h
}

/// (A⁻¹z)ₛ/h, the derivative of the collocation polynomial at cₛ.
#[inline(always)]
pub(super) fn rate(s: usize, h: f64, z1: f64, z2: f64, z3: f64) -> f64 {
    (AI[s][0] * z1 + AI[s][1] * z2 + AI[s][2] * z3) / h
}
