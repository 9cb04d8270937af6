//! Operations on four numbers in one 256-bit register: once with AVX2, once in plain arrays for every other target.

/// `a b + c`, rounded once where the target has the instruction, twice where it would be a library call.
#[inline(always)]
pub(crate) fn fma(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

/// Four lanes in one register.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2", target_feature = "fma"))]
mod lanes {
    use std::arch::x86_64::*;

    pub type Lanes = __m256d;

    // SAFETY, for every block in this module: the intrinsics need AVX, AVX2 or FMA and nothing else, and this module
    // is compiled only for targets that have them; __m256d and [f64; 4] have the same size and every bit pattern of
    // one is a value of the other.

    #[inline(always)]
    pub const fn new(a: [f64; 4]) -> Lanes {
        // SAFETY: see above.
        unsafe { std::mem::transmute::<[f64; 4], Lanes>(a) }
    }

    #[inline(always)]
    pub fn array(a: &Lanes) -> &[f64; 4] {
        // SAFETY: see above; the alignment of an array of f64 is the smaller one.
        unsafe { &*std::ptr::from_ref(a).cast::<[f64; 4]>() }
    }

    #[inline(always)]
    pub fn splat(x: f64) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    pub fn add(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_add_pd(a, b) }
    }

    #[inline(always)]
    pub fn sub(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_sub_pd(a, b) }
    }

    #[inline(always)]
    pub fn mul(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_mul_pd(a, b) }
    }

    /// `a b + c`.
    #[inline(always)]
    pub fn mul_add(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }

    /// `a b − c`.
    #[inline(always)]
    pub fn mul_sub(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_fmsub_pd(a, b, c) }
    }

    /// `c − a b`.
    #[inline(always)]
    pub fn sub_mul(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_fnmadd_pd(a, b, c) }
    }

    /// |a|, lane by lane.
    #[inline(always)]
    pub fn abs(a: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), a) }
    }

    /// (y, z, x, w).
    #[inline(always)]
    pub fn yzx(a: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_permute4x64_pd::<0b11_00_10_01>(a) }
    }

    /// (y, x, z, w).
    #[inline(always)]
    pub fn yxz(a: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_permute_pd::<0b1001>(a) }
    }

    /// Lane `K` in all lanes.
    #[inline(always)]
    pub fn all<const K: usize>(a: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe {
            match K {
                0 => _mm256_permute4x64_pd::<0b00_00_00_00>(a),
                1 => _mm256_permute4x64_pd::<0b01_01_01_01>(a),
                _ => _mm256_permute4x64_pd::<0b10_10_10_10>(a),
            }
        }
    }

    /// The sum of `a`, that of `b`, that of `c`, and 0.
    #[inline(always)]
    pub fn sums(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe {
            // (aₓ + a_y, bₓ + b_y, a_z + a_w, b_z + b_w) and (cₓ + c_y, 0, c_z + c_w, 0)
            let (ab, c) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, _mm256_setzero_pd()));
            _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(ab, c), _mm256_permute2f128_pd::<0x31>(ab, c))
        }
    }
}

/// Four lanes in an array.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2", target_feature = "fma")))]
mod lanes {
    use super::fma;

    pub type Lanes = [f64; 4];

    #[inline(always)]
    pub const fn new(a: [f64; 4]) -> Lanes {
        a
    }

    #[inline(always)]
    pub fn array(a: &Lanes) -> &[f64; 4] {
        a
    }

    #[inline(always)]
    pub fn splat(x: f64) -> Lanes {
        [x; 4]
    }

    #[inline(always)]
    pub fn add(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| a[k] + b[k])
    }

    #[inline(always)]
    pub fn sub(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| a[k] - b[k])
    }

    #[inline(always)]
    pub fn mul(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| a[k] * b[k])
    }

    /// `a b + c`.
    #[inline(always)]
    pub fn mul_add(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        std::array::from_fn(|k| fma(a[k], b[k], c[k]))
    }

    /// `a b − c`.
    #[inline(always)]
    pub fn mul_sub(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        std::array::from_fn(|k| fma(a[k], b[k], -c[k]))
    }

    /// `c − a b`.
    #[inline(always)]
    pub fn sub_mul(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        std::array::from_fn(|k| fma(-a[k], b[k], c[k]))
    }

    /// |a|, lane by lane.
    #[inline(always)]
    pub fn abs(a: Lanes) -> Lanes {
        a.map(f64::abs)
    }

    /// (y, z, x, w).
    #[inline(always)]
    pub fn yzx(a: Lanes) -> Lanes {
        [a[1], a[2], a[0], a[3]]
    }

    /// (y, x, z, w).
    #[inline(always)]
    pub fn yxz(a: Lanes) -> Lanes {
        [a[1], a[0], a[2], a[3]]
    }

    /// Lane `K` in all lanes.
    #[inline(always)]
    pub fn all<const K: usize>(a: Lanes) -> Lanes {
        [a[K]; 4]
    }

    /// The sum of `a`, that of `b`, that of `c`, and 0.
    #[inline(always)]
    pub fn sums(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
        let sum = |x: Lanes| (x[0] + x[1]) + (x[2] + x[3]);
        [sum(a), sum(b), sum(c), 0.0]
    }
}

pub(super) use lanes::*;
