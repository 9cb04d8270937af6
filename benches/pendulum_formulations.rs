//! Load-dependent friction in three formulations.
#[path = "../crates/cli/src/bench/pendulum.rs"]
mod pendulum;
use pendulum::*;
fn main() {
    let quick = std::env::args().any(|a| a == "--quick");
    let effort = if quick { Effort::QUICK } else { Effort::FULL };
    for p in [Pendulum::single(), Pendulum::double(), Pendulum::chain("ten", 10)] {
        let m = measure(&p, effort, &mut |s| eprintln!("{s}")).unwrap();
        let base = m[1].time.as_secs_f64();
        for m in m {
            println!("{:7} {:20} rtol {:.2e} err {:.2e} {:9.1} us ratio {:.2} steps {} eval {} sweeps {} subst {} events {} ns/eval {:.0}", p.name, m.way.name(), m.rtol, m.error, m.time.as_secs_f64()*1e6, m.time.as_secs_f64()/base, m.steps, m.evaluations, m.sweeps, m.substitutions, m.events, m.time.as_secs_f64()*1e9/m.evaluations as f64);
        }
    }
}
