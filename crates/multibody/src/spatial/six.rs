//! The common part of motions and forces: two 3-vectors that add and scale. Their differences are in their own files.

/// Gives a type of two parts its constructors, accessors and arithmetic.
macro_rules! six_vector {
    ($type:ident, $first:ident, $second:ident, $first_doc:literal, $second_doc:literal) => {
        impl $type {
            /// From its two parts.
            pub fn new($first: Vector3<f64>, $second: Vector3<f64>) -> Self {
                Self { $first: $first.into(), $second: $second.into() }
            }

            #[doc = $first_doc]
            pub fn $first(&self) -> Vector3<f64> {
                self.$first.to_vector()
            }

            #[doc = $second_doc]
            pub fn $second(&self) -> Vector3<f64> {
                self.$second.to_vector()
            }
        }

        impl<S: Scalar> $type<S> {
            /// Nothing.
            pub const ZERO: Self = Self { $first: V3::ZERO, $second: V3::ZERO };

            #[inline(always)]
            pub(crate) const fn of($first: V3<S>, $second: V3<S>) -> Self {
                Self { $first, $second }
            }

            /// The six numbers, first part first.
            #[inline(always)]
            pub fn to_array(&self) -> [S; 6] {
                let (a, b) = (&self.$first, &self.$second);
                [a.part(0), a.part(1), a.part(2), b.part(0), b.part(1), b.part(2)]
            }

            /// From six numbers, first part first.
            #[inline(always)]
            pub fn from_array(e: [S; 6]) -> Self {
                Self::of(V3::of(e[0], e[1], e[2]), V3::of(e[3], e[4], e[5]))
            }

            /// From a slice of six numbers, first part first; missing ones are 0.
            #[inline(always)]
            pub fn from_slice(e: &[S]) -> Self {
                Self::from_array(std::array::from_fn(|k| e.get(k).copied().unwrap_or(S::ZERO)))
            }
        }

        impl<S: Scalar> std::ops::Add for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self::of(self.$first + b.$first, self.$second + b.$second)
            }
        }

        impl<S: Scalar> std::ops::AddAssign for $type<S> {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }

        impl<S: Scalar> std::ops::Sub for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self::of(self.$first - b.$first, self.$second - b.$second)
            }
        }

        impl<S: Scalar> std::ops::SubAssign for $type<S> {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }

        impl<S: Scalar> std::ops::Neg for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::of(-self.$first, -self.$second)
            }
        }

        impl<S: Scalar> std::ops::Mul<S> for $type<S> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, s: S) -> Self {
                Self::of(self.$first * s, self.$second * s)
            }
        }
    };
}
pub(super) use six_vector;
