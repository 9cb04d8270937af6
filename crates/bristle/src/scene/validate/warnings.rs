//! Warnings: parts of a valid scene that its author may not intend.

use super::{At, Check, rounded};
use crate::scene::{Coupling, Formulation, Joint, Load, has_bristle};
use bristle_friction::{FrictionLaw, Law};

impl Check<'_> {
    pub(super) fn warnings(&mut self) {
        let scene = self.scene;
        let (joints, couplings) = (At::field("joints"), At::field("couplings"));
        for (i, joint) in scene.joints.iter().enumerate() {
            let at = joints.index(i);
            match &joint.friction {
                Some(law) => {
                    self.warn_of_law(at.key("friction"), law);
                    self.warn_of_bristle(at, joint, law);
                }
                None if joint.load != Load::Unit => {
                    let reason = format!("`{}` has a load but no friction for it to scale", joint.name);
                    self.report(at.key("load"), reason, "add `friction: …`, or leave `load` out");
                }
                None => {}
            }
        }
        for (i, coupling) in scene.couplings.iter().enumerate() {
            let at = couplings.index(i);
            if let Some((law, load)) = coupling.friction() {
                self.warn_of_law(at.key("friction"), law);
                if scene.formulation == Formulation::Jerk && has_bristle(law) {
                    let reason = format!(
                        "`formulation: Jerk` takes very short steps with the bristles of `{}`, whose load is no \
                        reaction and gains nothing by it",
                        coupling.name()
                    );
                    self.report(at.key("friction"), reason, "write `Implicit` or `Residual`: the motion is the same");
                }
                let largest = match load {
                    Load::Constant(n) => *n,
                    Load::Signal { max, geometry, .. } => max * geometry,
                    _ => 1.0,
                };
                if matches!(coupling, Coupling::OneWayClutch { .. }) && largest == 0.0 {
                    let reason = format!(
                        "one-way clutch `{}` is free both ways: it locks with `lock_factor` times its largest \
                        load, which is 0",
                        coupling.name()
                    );
                    let help = "for a freewheel that drags nothing forward, write `load: Signal(max: …, signal: \
                        Constant(0.0))`";
                    self.report(at.key("load"), reason, help);
                }
            }
        }
    }

    /// A bristle bent beyond the level of its law: z is probably in other units.
    fn warn_of_bristle(&mut self, at: At, joint: &Joint, law: &Law) {
        let Some(bristle) = joint.bristle else { return };
        let (bent, level) = (law.sigma0() * bristle.z.abs(), law.largest_level());
        if bent > level * (1.0 + 1e-9) {
            let reason = format!(
                "the bristle of `{}` starts bent to {:?} where its law lets go at {:?}: it throws the joint",
                joint.name,
                rounded(bent),
                rounded(level)
            );
            let help = format!("z is a deflection, in rad or m: at most {:?} here", rounded(level / law.sigma0()));
            self.report(at.key("bristle").key("z"), reason, help);
        }
    }

    fn warn_of_law(&mut self, at: At, law: &Law) {
        if let Law::Directional(pair) = law {
            self.warn_of_law(at.key("forward"), pair.forward());
            self.warn_of_law(at.key("backward"), pair.backward());
            return;
        }
        for finding in law.warnings() {
            self.report(at.key(finding.parameter), finding.reason, "");
        }
    }
}
