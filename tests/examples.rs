//! The examples run, and what they assert holds.

#[path = "../crates/bristle/examples/arm_hold.rs"]
mod arm_hold;
#[path = "../crates/bristle/examples/batch_sweep.rs"]
mod batch_sweep;
#[path = "../crates/bristle/examples/custom_components.rs"]
mod custom_components;
#[path = "../crates/bristle/examples/friction_compensation.rs"]
mod friction_compensation;
#[path = "../crates/bristle/examples/linearize_lqr.rs"]
mod linearize_lqr;
#[path = "../crates/bristle/examples/pendulum.rs"]
mod pendulum;

#[test]
fn a_pendulum_stops_for_good() {
    pendulum::main().unwrap();
}

#[test]
fn an_arm_is_held_by_friction() {
    arm_hold::main().unwrap();
}

#[test]
fn a_controller_that_knows_friction_follows_better() {
    friction_compensation::main().unwrap();
}

#[test]
fn friction_follows_a_users_own_component() {
    custom_components::main().unwrap();
}

#[test]
fn a_batch_comes_to_rest() {
    batch_sweep::main().unwrap();
}

#[test]
fn a_pole_stands_by_the_linearised_equations() {
    linearize_lqr::main().unwrap();
}
