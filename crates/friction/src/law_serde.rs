//! Laws as they are written in a scene (RON): every parameter by name, `Coulomb(coulomb: 0.4, stiction: 0.6)`.
//!
//! This enum is the file contract; [`Law`] is read from and written to it. A parameter with a default may be left
//! out, and unknown ones are refused. `validate` checks ranges.

use serde::{Deserialize, Serialize};

use crate::{Coulomb, Custom, Dahl, Directional, ElastoPlastic, Law, LuGre, LuGre2, Stribeck, Table, Tanh};

#[derive(Serialize, Deserialize)]
#[serde(rename = "Law", deny_unknown_fields)]
pub(crate) enum LawSerde {
    Coulomb {
        coulomb: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stiction: Option<f64>,
        #[serde(default)]
        viscous: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        viscous_exponent: Option<f64>,
    },
    Stribeck {
        coulomb: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stiction: Option<f64>,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stribeck_velocity: Option<f64>,
        #[serde(default = "two")]
        exponent: f64,
        #[serde(default)]
        viscous: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        viscous_exponent: Option<f64>,
        #[serde(default = "one")]
        peak: f64,
    },
    Table {
        points: Vec<(f64, f64)>,
        #[serde(default = "one")]
        peak: f64,
    },
    Tanh {
        coulomb: f64,
        stribeck_velocity: f64,
        #[serde(default)]
        viscous: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        viscous_exponent: Option<f64>,
    },
    Dahl {
        coulomb: f64,
        sigma0: f64,
    },
    LuGre {
        sigma0: f64,
        sigma1: f64,
        #[serde(default)]
        sigma2: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        viscous_exponent: Option<f64>,
        coulomb: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stiction: Option<f64>,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stribeck_velocity: Option<f64>,
        #[serde(default = "two")]
        exponent: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        damping_velocity: Option<f64>,
    },
    LuGre2 {
        sigma0: f64,
        sigma1: f64,
        #[serde(default)]
        sigma2: f64,
        coulomb: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stiction: Option<f64>,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stribeck_velocity: Option<f64>,
        #[serde(default = "two")]
        exponent: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        damping_velocity: Option<f64>,
        #[serde(default = "three")]
        alpha: f64,
        #[serde(default = "one")]
        beta: f64,
    },
    ElastoPlastic {
        sigma0: f64,
        sigma1: f64,
        #[serde(default)]
        sigma2: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        viscous_exponent: Option<f64>,
        coulomb: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stiction: Option<f64>,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        stribeck_velocity: Option<f64>,
        #[serde(default = "two")]
        exponent: f64,
        #[serde(default, with = "number", skip_serializing_if = "Option::is_none")]
        damping_velocity: Option<f64>,
        breakaway: f64,
    },
    Directional {
        forward: Box<Law>,
        backward: Box<Law>,
    },
    /// Its name alone: a scene cannot hold it, and none is read.
    #[serde(skip_deserializing)]
    Custom {
        name: String,
    },
}

fn one() -> f64 {
    1.0
}

fn two() -> f64 {
    2.0
}

fn three() -> f64 {
    3.0
}

/// An optional parameter, written as a plain number.
mod number {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        f64::deserialize(deserializer).map(Some)
    }

    #[expect(clippy::ref_option, reason = "the signature serde calls")]
    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.unwrap_or(f64::NAN))
    }
}

/// The law, its viscous term with the exponent that the file gives.
fn powered(law: impl Into<Law>, viscous_exponent: Option<f64>) -> Law {
    let law = law.into();
    if let Some(n) = viscous_exponent { law.with_viscous_exponent(n) } else { law }
}

impl From<LawSerde> for Law {
    fn from(law: LawSerde) -> Law {
        match law {
            LawSerde::Coulomb { coulomb, stiction, viscous, viscous_exponent } => {
                powered(Coulomb { coulomb, stiction: stiction.unwrap_or(coulomb), viscous }, viscous_exponent)
            }
            LawSerde::Stribeck { coulomb, stiction, stribeck_velocity, exponent, viscous, viscous_exponent, peak } => {
                let stiction = stiction.unwrap_or(coulomb);
                powered(Stribeck { coulomb, stiction, stribeck_velocity, exponent, viscous, peak }, viscous_exponent)
            }
            LawSerde::Table { points, peak } => Table { points, peak }.into(),
            LawSerde::Tanh { coulomb, stribeck_velocity, viscous, viscous_exponent } => {
                powered(Tanh { coulomb, stribeck_velocity, viscous }, viscous_exponent)
            }
            LawSerde::Dahl { coulomb, sigma0 } => Dahl { coulomb, sigma0 }.into(),
            LawSerde::LuGre {
                sigma0,
                sigma1,
                sigma2,
                viscous_exponent,
                coulomb,
                stiction,
                stribeck_velocity,
                exponent,
                damping_velocity,
            } => {
                let stiction = stiction.unwrap_or(coulomb);
                let law =
                    LuGre { sigma0, sigma1, sigma2, coulomb, stiction, stribeck_velocity, exponent, damping_velocity };
                powered(law, viscous_exponent)
            }
            LawSerde::LuGre2 {
                sigma0,
                sigma1,
                sigma2,
                coulomb,
                stiction,
                stribeck_velocity,
                exponent,
                damping_velocity,
                alpha,
                beta,
            } => {
                let stiction = stiction.unwrap_or(coulomb);
                let lugre =
                    LuGre { sigma0, sigma1, sigma2, coulomb, stiction, stribeck_velocity, exponent, damping_velocity };
                LuGre2 { lugre, alpha, beta }.into()
            }
            LawSerde::ElastoPlastic {
                sigma0,
                sigma1,
                sigma2,
                viscous_exponent,
                coulomb,
                stiction,
                stribeck_velocity,
                exponent,
                damping_velocity,
                breakaway,
            } => {
                let stiction = stiction.unwrap_or(coulomb);
                let lugre =
                    LuGre { sigma0, sigma1, sigma2, coulomb, stiction, stribeck_velocity, exponent, damping_velocity };
                powered(ElastoPlastic { lugre, breakaway }, viscous_exponent)
            }
            LawSerde::Directional { forward, backward } => Directional { forward, backward }.into(),
            LawSerde::Custom { name } => Custom::absent(name).into(),
        }
    }
}

impl From<Law> for LawSerde {
    fn from(law: Law) -> LawSerde {
        match law {
            Law::Coulomb(Coulomb { coulomb, stiction, viscous }) => {
                LawSerde::Coulomb { coulomb, stiction: Some(stiction), viscous, viscous_exponent: None }
            }
            Law::Stribeck(Stribeck { coulomb, stiction, stribeck_velocity, exponent, viscous, peak }) => {
                let (stiction, viscous_exponent) = (Some(stiction), None);
                LawSerde::Stribeck { coulomb, stiction, stribeck_velocity, exponent, viscous, viscous_exponent, peak }
            }
            Law::Table(Table { points, peak }) => LawSerde::Table { points, peak },
            Law::Tanh(Tanh { coulomb, stribeck_velocity, viscous }) => {
                LawSerde::Tanh { coulomb, stribeck_velocity, viscous, viscous_exponent: None }
            }
            Law::Dahl(Dahl { coulomb, sigma0 }) => LawSerde::Dahl { coulomb, sigma0 },
            Law::LuGre(l) => LawSerde::LuGre {
                sigma0: l.sigma0,
                sigma1: l.sigma1,
                sigma2: l.sigma2,
                viscous_exponent: None,
                coulomb: l.coulomb,
                stiction: Some(l.stiction),
                stribeck_velocity: l.stribeck_velocity,
                exponent: l.exponent,
                damping_velocity: l.damping_velocity,
            },
            Law::LuGre2(LuGre2 { lugre: l, alpha, beta }) => LawSerde::LuGre2 {
                sigma0: l.sigma0,
                sigma1: l.sigma1,
                sigma2: l.sigma2,
                coulomb: l.coulomb,
                stiction: Some(l.stiction),
                stribeck_velocity: l.stribeck_velocity,
                exponent: l.exponent,
                damping_velocity: l.damping_velocity,
                alpha,
                beta,
            },
            Law::ElastoPlastic(ElastoPlastic { lugre: l, breakaway }) => LawSerde::ElastoPlastic {
                sigma0: l.sigma0,
                sigma1: l.sigma1,
                sigma2: l.sigma2,
                viscous_exponent: None,
                coulomb: l.coulomb,
                stiction: Some(l.stiction),
                stribeck_velocity: l.stribeck_velocity,
                exponent: l.exponent,
                damping_velocity: l.damping_velocity,
                breakaway,
            },
            Law::PowerViscous(law) => {
                let n = law.viscous_exponent;
                let mut written = LawSerde::from(law.linear());
                if let LawSerde::Coulomb { viscous_exponent, .. }
                | LawSerde::Stribeck { viscous_exponent, .. }
                | LawSerde::Tanh { viscous_exponent, .. }
                | LawSerde::LuGre { viscous_exponent, .. }
                | LawSerde::ElastoPlastic { viscous_exponent, .. } = &mut written
                {
                    *viscous_exponent = Some(n);
                }
                written
            }
            Law::Directional(Directional { forward, backward }) => LawSerde::Directional { forward, backward },
            Law::Custom(law) => LawSerde::Custom { name: law.name().to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Law, ron::error::SpannedError> {
        ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME).from_str(text)
    }

    #[test]
    fn laws_read_as_the_design_spells_them() {
        assert_eq!(
            read("Coulomb(coulomb: 0.4, stiction: 0.6)").unwrap(),
            Law::Coulomb(Coulomb { coulomb: 0.4, stiction: 0.6, viscous: 0.0 })
        );
        assert_eq!(
            read("Coulomb(coulomb: 1)").unwrap(),
            Law::Coulomb(Coulomb { coulomb: 1.0, stiction: 1.0, viscous: 0.0 })
        );
        assert_eq!(
            read(
                "Stribeck(stiction: 15.0, coulomb: 5.0, stribeck_velocity: 0.5, exponent: 1.0, viscous: 1.0, \
            peak: 1.001)"
            )
            .unwrap(),
            Law::Stribeck(Stribeck {
                coulomb: 5.0,
                stiction: 15.0,
                stribeck_velocity: Some(0.5),
                exponent: 1.0,
                viscous: 1.0,
                peak: 1.001
            })
        );
        assert_eq!(
            read("Stribeck(coulomb: 5.0)").unwrap(),
            Law::Stribeck(Stribeck {
                coulomb: 5.0,
                stiction: 5.0,
                stribeck_velocity: None,
                exponent: 2.0,
                viscous: 0.0,
                peak: 1.0
            })
        );
        assert_eq!(
            read("Table(points: [(0.0, 1.0), (1.0, 1.4)], peak: 1.5)").unwrap(),
            Law::Table(Table { points: vec![(0.0, 1.0), (1.0, 1.4)], peak: 1.5 })
        );
        assert_eq!(
            read("Tanh(coulomb: 1.0, stribeck_velocity: 0.01)").unwrap(),
            Law::Tanh(Tanh { coulomb: 1.0, stribeck_velocity: 0.01, viscous: 0.0 })
        );
        assert_eq!(read("Dahl(coulomb: 1.0, sigma0: 1.0e5)").unwrap(), Law::Dahl(Dahl { coulomb: 1.0, sigma0: 1e5 }));
        let lugre = LuGre {
            sigma0: 1e5,
            sigma1: 316.0,
            sigma2: 0.4,
            coulomb: 1.0,
            stiction: 1.5,
            stribeck_velocity: Some(0.001),
            exponent: 2.0,
            damping_velocity: None,
        };
        let fields = "sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 0.001";
        assert_eq!(read(&format!("LuGre({fields})")).unwrap(), Law::LuGre(lugre));
        assert_eq!(
            read(&format!("LuGre({fields}, damping_velocity: 0.1)")).unwrap(),
            Law::LuGre(LuGre { damping_velocity: Some(0.1), ..lugre })
        );
        assert_eq!(read(&format!("LuGre2({fields})")).unwrap(), Law::LuGre2(LuGre2 { lugre, alpha: 3.0, beta: 1.0 }));
        assert_eq!(
            read(&format!("ElastoPlastic({fields}, breakaway: 7.0e-6)")).unwrap(),
            Law::ElastoPlastic(ElastoPlastic { lugre, breakaway: 7e-6 })
        );
    }

    #[test]
    fn laws_round_trip() {
        for text in [
            "Coulomb(coulomb: 0.1)",
            "Stribeck(coulomb: 5.0)",
            "Table(points: [(0.1, 1.0), (1.0, 1.4)])",
            "Tanh(coulomb: 1.0, stribeck_velocity: 0.01)",
            "Dahl(coulomb: 1.0, sigma0: 1.0e5)",
            "LuGre(sigma0: 1.0e5, sigma1: 316.22776601683796, coulomb: 1.0)",
            "LuGre2(sigma0: 1.0e5, sigma1: 316.0, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 0.001)",
            "ElastoPlastic(sigma0: 1.0e5, sigma1: 316.0, coulomb: 1.0, damping_velocity: 0.2, breakaway: 7.0e-6)",
            "Coulomb(coulomb: 0.1, viscous: 0.2, viscous_exponent: 0.7)",
            "Stribeck(coulomb: 0.1, viscous: 0.2, viscous_exponent: 1.0)",
            "LuGre(sigma0: 1.0e5, sigma1: 316.0, sigma2: 0.4, coulomb: 1.0, viscous_exponent: 1.5)",
            "Directional(forward: Coulomb(coulomb: 0.1), backward: Coulomb(coulomb: 0.2, viscous_exponent: 0.5))",
        ] {
            let law = read(text).unwrap();
            let written = ron::to_string(&law).unwrap();
            assert_eq!(read(&written).unwrap(), law, "{written}");
            // and without any extension of the reader
            assert_eq!(ron::from_str::<Law>(&written).unwrap(), law, "{written}");
        }
    }

    #[test]
    fn unknown_and_missing_parameters_are_refused_by_name() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert!(message("Coulomb(coulomb: 0.4, static: 0.6)").contains("static"));
        assert!(message("Coulomb(stiction: 0.4)").contains("coulomb"));
        assert!(message("Dahl(coulomb: 0.4)").contains("sigma0"));
        assert!(message("Coulumb(coulomb: 0.4)").contains("Coulumb"));
        assert!(message("Dahl(coulomb: 0.4, sigma0: 1.0, viscous_exponent: 0.5)").contains("viscous_exponent"));
        assert!(message("Directional(forward: Coulomb(coulomb: 0.4))").contains("backward"));
    }
}
