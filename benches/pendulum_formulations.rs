//! Load-dependent friction in three formulations: the tables of `FORMULATIONS.md`.
//!
//! ```text
//! cargo bench --bench pendulum_formulations                                 both tables
//! cargo bench --bench pendulum_formulations -- --quick                      the same with less care
//! cargo bench --bench pendulum_formulations -- --count implicit 16 100      6,000 evaluations on 16 pins, counted
//! benches/count_formulations.sh                                             instructions per evaluation and joint
//! ```
//!
//! `bristle bench pendulum` and `bristle bench chains` print the same.

use bristle_papers::bench::{chains, pendulum, table};
use pendulum::{Effort, Pendulum};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "--count") {
        let [name, length, rounds] = &arguments[at + 1..] else {
            return Err("--count takes a formulation, a number of pins and a number of rounds".into());
        };
        let way = chains::WAYS.into_iter().find(|way| way.name() == name).ok_or("no such formulation")?;
        let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{text}: {error}"));
        let mut chain = chains::Chain::new(number(length)?, way)?;
        for _ in 0..number(rounds)? {
            std::hint::black_box(chain.evaluate());
        }
        return Ok(());
    }

    let is_quick = arguments.iter().any(|a| a == "--quick");
    let mut progress = |what: &str| eprintln!("{what}");
    println!("{}", chains::table(if is_quick { 10 } else { 200 }, &mut progress)?);
    let effort = if is_quick { Effort::QUICK } else { Effort::FULL };
    for pendulum in Pendulum::all().map_err(|error| error.to_string())? {
        let measured = pendulum::measure(&pendulum, effort, &mut progress).map_err(|error| error.to_string())?;
        println!("{}", table::text(&pendulum, &measured));
    }
    Ok(())
}
