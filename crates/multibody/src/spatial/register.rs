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

    /// `a / b`.
    #[inline(always)]
    pub fn div(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_div_pd(a, b) }
    }

    /// The larger of `a` and `b`; `b` where one is no number.
    #[inline(always)]
    pub fn max(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_max_pd(a, b) }
    }

    /// The smaller of `a` and `b`; `b` where one is no number.
    #[inline(always)]
    pub fn min(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_min_pd(a, b) }
    }

    /// All bits of a lane where `a < b`, none elsewhere.
    #[inline(always)]
    pub fn lt(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(a, b) }
    }

    /// All bits of a lane where `a ≤ b`, none elsewhere.
    #[inline(always)]
    pub fn le(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_cmp_pd::<_CMP_LE_OQ>(a, b) }
    }

    /// All bits of a lane where `a = b`, none elsewhere.
    #[inline(always)]
    pub fn eq(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_cmp_pd::<_CMP_EQ_OQ>(a, b) }
    }

    /// `a` where the sign bit of `mask` is set, `b` elsewhere.
    #[inline(always)]
    pub fn select(mask: Lanes, a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_blendv_pd(b, a, mask) }
    }

    /// Bits of both.
    #[inline(always)]
    pub fn and(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_and_pd(a, b) }
    }

    /// Bits of either.
    #[inline(always)]
    pub fn or(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_or_pd(a, b) }
    }

    /// Bits of one of them.
    #[inline(always)]
    pub fn xor(a: Lanes, b: Lanes) -> Lanes {
        // SAFETY: see above.
        unsafe { _mm256_xor_pd(a, b) }
    }

    /// The sign bits, lane 0 last.
    #[inline(always)]
    pub fn signs(a: Lanes) -> u32 {
        // SAFETY: see above.
        unsafe { _mm256_movemask_pd(a).cast_unsigned() }
    }

    /// The bits moved up by `BY` places, after `add` was added to them as integers.
    #[inline(always)]
    pub fn shift<const BY: i32>(a: Lanes, add: i64) -> Lanes {
        // SAFETY: see above.
        unsafe {
            let bits = _mm256_add_epi64(_mm256_castpd_si256(a), _mm256_set1_epi64x(add));
            _mm256_castsi256_pd(_mm256_slli_epi64::<BY>(bits))
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

    /// `a / b`.
    #[inline(always)]
    pub fn div(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| a[k] / b[k])
    }

    /// The larger of `a` and `b`; `b` where one is no number.
    #[inline(always)]
    pub fn max(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| if a[k] > b[k] { a[k] } else { b[k] })
    }

    /// The smaller of `a` and `b`; `b` where one is no number.
    #[inline(always)]
    pub fn min(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| if a[k] < b[k] { a[k] } else { b[k] })
    }

    /// All bits where `is`, none elsewhere.
    #[inline(always)]
    fn bits(is: bool) -> f64 {
        f64::from_bits(if is { u64::MAX } else { 0 })
    }

    /// All bits of a lane where `a < b`, none elsewhere.
    #[inline(always)]
    pub fn lt(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| bits(a[k] < b[k]))
    }

    /// All bits of a lane where `a ≤ b`, none elsewhere.
    #[inline(always)]
    pub fn le(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| bits(a[k] <= b[k]))
    }

    /// All bits of a lane where `a = b`, none elsewhere.
    #[inline(always)]
    pub fn eq(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| bits(a[k] == b[k]))
    }

    /// `a` where the sign bit of `mask` is set, `b` elsewhere.
    #[inline(always)]
    pub fn select(mask: Lanes, a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| if mask[k].is_sign_negative() { a[k] } else { b[k] })
    }

    /// Bits of both.
    #[inline(always)]
    pub fn and(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| f64::from_bits(a[k].to_bits() & b[k].to_bits()))
    }

    /// Bits of either.
    #[inline(always)]
    pub fn or(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| f64::from_bits(a[k].to_bits() | b[k].to_bits()))
    }

    /// Bits of one of them.
    #[inline(always)]
    pub fn xor(a: Lanes, b: Lanes) -> Lanes {
        std::array::from_fn(|k| f64::from_bits(a[k].to_bits() ^ b[k].to_bits()))
    }

    /// The sign bits, lane 0 last.
    #[inline(always)]
    pub fn signs(a: Lanes) -> u32 {
        (0..4).map(|k| u32::from(a[k].is_sign_negative()) << k).sum()
    }

    /// The bits moved up by `BY` places, after `add` was added to them as integers.
    #[inline(always)]
    pub fn shift<const BY: i32>(a: Lanes, add: i64) -> Lanes {
        a.map(|a| f64::from_bits(a.to_bits().wrapping_add_signed(add) << BY))
    }
}

pub(super) use lanes::*;
