//! Cost of files: loading and compiling a chain of 1,000 links, and writing the results of `double_pendulum` as CSV.
//!
//!     cargo bench -p bristle --bench files
//!
//! Each figure is the minimum of several runs. Writing is compared with the same run without output.
//!
//! On two cores at rest (2026-11-16): file to simulation 10.4 ms; 5.65 ms without writing, 6.12 ms with CSV, 8.3 % more
//! (12 % on busy cores), about half of it digits (18 ns a number) and half of it the file system.

use bristle::prelude::*;
use bristle::stream::CsvStream;
use bristle::{Event, Record};
use std::time::{Duration, Instant};

/// A record that discards its rows.
struct Nowhere;

impl Record for Nowhere {
    fn row(&mut self, row: &[f64]) -> Result<(), Error> {
        std::hint::black_box(row);
        Ok(())
    }

    fn event(&mut self, _event: Event) -> Result<(), Error> {
        Ok(())
    }
}

/// The minimum time of `n` runs.
fn least(n: usize, mut run: impl FnMut()) -> Duration {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..n).map(|_| time(&mut run)).min().unwrap_or_default()
}

fn chain(n: usize) -> String {
    let mut text = String::from("Scene(\n    links: [\n");
    for i in 0..n {
        text += &format!(
            "        Link(name: \"rod{i}\", mass: 0.1, center_of_mass: (0.0, 0.0, -0.1), \
             inertia: Diagonal(3.3e-4, 3.3e-4, 5.0e-6)),\n"
        );
    }
    text += "    ],\n    joints: [\n";
    for i in 0..n {
        let parent = if i == 0 { "world".to_owned() } else { format!("rod{}", i - 1) };
        text += &format!(
            "        Joint(name: \"pin{i}\", parent: \"{parent}\", child: \"rod{i}\", \
             kind: Revolute(axis: (0.0, 1.0, 0.0)), placement: Placement(translation: (0.0, 0.0, -0.2)), \
             damping: 0.002),\n"
        );
    }
    text + "    ],\n)\n"
}

fn main() {
    let text = chain(1000);
    let parse = least(20, || drop(std::hint::black_box(Scene::parse(&text, "chain").unwrap())));
    let scene = Scene::parse(&text, "chain").unwrap();
    let build = least(20, || {
        let mut world = World::new();
        bristle::spawn(&scene, &mut world).unwrap();
        std::hint::black_box(bristle::compile(&world).unwrap());
    });
    let ready =
        least(20, || drop(std::hint::black_box(Simulation::new(&Scene::parse(&text, "chain").unwrap()).unwrap())));
    println!(
        "chain of 1,000 links, {} kB: read {parse:.1?}, compile {build:.1?}, file to simulation {ready:.1?}",
        text.len() / 1000
    );

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum.ron");
    let scene = Scene::load(path).unwrap();
    let file = std::env::temp_dir().join(format!("bristle-bench-{}.csv", std::process::id()));
    let names = Simulation::new(&scene).unwrap().recording().names().to_vec();
    let run = |record: &mut dyn Record| Simulation::new(&scene).unwrap().run_with(scene.duration, record).unwrap();
    let (mut plain, mut written) = (Duration::MAX, Duration::MAX);
    // alternating, so that both run under the same conditions
    for _ in 0..200 {
        plain = plain.min(least(1, || run(&mut Nowhere)));
        let _ = std::fs::remove_file(&file);
        written = written.min(least(1, || {
            let mut rows = CsvStream::create(&file, &names).unwrap();
            run(&mut rows);
            rows.finish().unwrap();
        }));
    }
    let _ = std::fs::remove_file(&file);
    let share = written.as_secs_f64() / plain.as_secs_f64() - 1.0;
    println!("double_pendulum: {plain:.2?} without writing, {written:.2?} with CSV: {:.1} % more", 100.0 * share);
}
