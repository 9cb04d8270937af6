//! The common part of motions and forces: two 3-vectors that add and scale. Their differences are in their own files.

/// Gives a type of two parts its constructors, accessors and arithmetic.
macro_rules! six_vector {
    ($type:ident, $first:ident, $second:ident, $first_doc:literal, $second_doc:literal) => {
        impl $type {
            /// Nothing.
            pub const ZERO: Self = Self { $first: V3::ZERO, $second: V3::ZERO };

            /// From its two parts.
            pub fn new($first: Vector3<f64>, $second: Vector3<f64>) -> Self {
                Self { $first: $first.into(), $second: $second.into() }
            }

            #[inline(always)]
            pub(crate) const fn of($first: V3, $second: V3) -> Self {
                Self { $first, $second }
            }

            #[doc = $first_doc]
            pub fn $first(&self) -> Vector3<f64> {
                self.$first.to_vector()
            }

            #[doc = $second_doc]
            pub fn $second(&self) -> Vector3<f64> {
                self.$second.to_vector()
            }

            /// The six numbers, first part first.
            #[inline(always)]
            pub fn to_array(&self) -> [f64; 6] {
                let (a, b) = (&self.$first, &self.$second);
                [a[0], a[1], a[2], b[0], b[1], b[2]]
            }

            /// From six numbers, first part first.
            #[inline(always)]
            pub fn from_array(e: [f64; 6]) -> Self {
                Self::of(V3::new(e[0], e[1], e[2]), V3::new(e[3], e[4], e[5]))
            }

            /// From a slice of six numbers, first part first; missing ones are 0.
            #[inline(always)]
            pub fn from_slice(e: &[f64]) -> Self {
                Self::from_array(std::array::from_fn(|k| e.get(k).copied().unwrap_or(0.0)))
            }
        }

        impl std::ops::Add for $type {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self::of(self.$first + b.$first, self.$second + b.$second)
            }
        }

        impl std::ops::AddAssign for $type {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }

        impl std::ops::Sub for $type {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self::of(self.$first - b.$first, self.$second - b.$second)
            }
        }

        impl std::ops::SubAssign for $type {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }

        impl std::ops::Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::of(-self.$first, -self.$second)
            }
        }

        impl std::ops::Mul<f64> for $type {
            type Output = Self;
            #[inline(always)]
            fn mul(self, s: f64) -> Self {
                Self::of(self.$first * s, self.$second * s)
            }
        }
    };
}
pub(super) use six_vector;
