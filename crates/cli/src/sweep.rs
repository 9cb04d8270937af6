//! `bristle sweep`: one scene, many values; a table with one row per point of the grid.
//!
//! Points are numbered with the last range running fastest. Rows are written in the order of the points, whole blocks of them at a time, so
//! that the file is the same for any number of threads, and a run that was killed goes on where it stopped: what is there is kept, a
//! last line without its end is dropped, and the last whole row is computed again and must come out the same, or the file is refused.

use crate::Outcome;
use crate::settings::Settings;
use bristle::Simulation;
use bristle::scene::SceneError;
use clap::Args;
use rayon::prelude::*;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Points per thread between two writes.
const BLOCK: usize = 4;
/// Points of a grid at most.
const MOST_POINTS: usize = 100_000_000;

#[derive(Args)]
#[command(
    after_help = "Each --set PATH=FROM:TO:N is a range of N values, both ends included; PATH=VALUE holds one value.
A row has the number of its point, the values of the ranges, and every channel at the end of the run.

Examples:
  bristle sweep scenes/double_pendulum_coulomb.ron --set joints.elbow.friction.coulomb=0.1:0.3:5 --out sweep.csv
  bristle sweep scenes/arm_3dof.ron --set joints.yaw.damping=0:1:10 --set joints.elbow.damping=0:1:10 --shard 2/8 --out part2.csv

Exit codes: 0 done, 1 a point failed (its row says why), 2 the input was refused. A sweep that is interrupted goes on where it was when
it is started again."
)]
pub struct Sweep {
    /// A scene (RON) or robot (URDF)
    scene: PathBuf,
    /// The table (CSV); what is in it already is kept and continued
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Threads; as many as there are cores by default
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Only every n-th point, beginning with the i-th: parts of one sweep on several machines
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,
    #[command(flatten)]
    settings: Settings,
}

/// `i/n` with 1 ≤ i ≤ n.
fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i, n)),
        _ => Err("write it as i/n with i from 1 to n, such as 2/8".into()),
    }
}

/// Values of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Where they go.
    pub path: String,
    /// The values.
    pub values: Vec<f64>,
}

impl Range {
    /// `from:to:n`; `None` where the text is no range.
    pub fn parse(path: &str, text: &str) -> Option<Result<Self, String>> {
        let parts: Vec<&str> = text.split(':').collect();
        let [from, to, n] = parts[..] else { return None };
        let (Ok(from), Ok(to)) = (from.trim().parse::<f64>(), to.trim().parse::<f64>()) else { return None };
        let Ok(n) = n.trim().parse::<usize>() else {
            return Some(Err(format!("`{path}={text}`: the number of values is not a whole number")));
        };
        if !(from.is_finite() && to.is_finite()) || n == 0 || n > MOST_POINTS {
            return Some(Err(format!("`{path}={text}`: give finite ends and between 1 and {MOST_POINTS} values")));
        }
        let at = |k: usize| if k + 1 == n { to } else { from + (to - from) * k as f64 / (n - 1) as f64 };
        let values = if n == 1 { vec![from] } else { (0..n).map(at).collect() };
        Some(Ok(Self { path: path.into(), values }))
    }
}

impl Sweep {
    pub fn execute(self) -> Outcome {
        match self.run() {
            Ok(0) => Outcome::Done,
            Ok(failed) => {
                eprintln!("{failed} points failed: their rows end with a message instead of values");
                Outcome::Failed
            }
            Err(reason) => {
                // a scene that is refused has said so itself
                let reason = reason.to_string();
                eprintln!("error: {}", reason.strip_prefix("error: ").unwrap_or(&reason));
                Outcome::Refused
            }
        }
    }

    /// Number of points that failed.
    fn run(mut self) -> Result<usize, String> {
        let ranges = self.settings.take_ranges()?;
        let n_points = ranges.iter().try_fold(1_usize, |n, range| n.checked_mul(range.values.len()));
        let n_points = n_points.filter(|&n| n <= MOST_POINTS).ok_or("the grid has too many points")?;
        let (i, n) = self.shard.unwrap_or((1, 1));
        let points: Vec<usize> = (i - 1..n_points).step_by(n).collect();

        // the first point says what the table looks like, and that the scene can be run
        let first = self.simulation(&ranges, points.first().copied().unwrap_or(0)).map_err(|e| e.to_string())?;
        let mut header = String::from("point");
        for name in ranges.iter().map(|range| &range.path).chain(first.recording().names()).map(String::as_str) {
            header.push(',');
            header.push_str(name);
        }
        header.push_str(",error\n");

        let path = self.out.display();
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.out);
        let mut file = file.map_err(|error| format!("{path}: {error}"))?;
        let n_done = self.resume(&mut file, &header, &points, &ranges).map_err(|reason| format!("{path}: {reason}"))?;
        if n_done > 0 {
            eprintln!("{path}: {n_done} of {} points are there already", points.len());
        }
        let threads = self.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| error.to_string())?;
        let mut failed = 0;
        for block in points[n_done..].chunks(BLOCK * pool.current_num_threads()) {
            let rows: Vec<(String, bool)> = pool.install(|| block.par_iter().map(|&k| self.row(&ranges, k)).collect());
            let text: String = rows.iter().map(|(row, _)| row.as_str()).collect();
            failed += rows.iter().filter(|(_, is_good)| !is_good).count();
            file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(failed)
    }

    /// Puts the file where the next row goes; how many points are in it already.
    fn resume(
        &self,
        file: &mut std::fs::File,
        header: &str,
        points: &[usize],
        ranges: &[Range],
    ) -> Result<usize, String> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| error.to_string())?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let kept = &text[..whole];
        let n_done = match kept.strip_prefix(header) {
            Some(rows) => {
                let rows: Vec<&str> = rows.split_inclusive('\n').collect();
                let other = "this is the table of another sweep, or of another scene; give a new file";
                let is_same = |k: &usize, row: &&str| row.split(',').next() == Some(k.to_string().as_str());
                if rows.len() > points.len() || !points.iter().zip(&rows).all(|(k, row)| is_same(k, row)) {
                    return Err(other.into());
                }
                // the last row once more
                if let Some(last) = rows.last()
                    && self.row(ranges, points[rows.len() - 1]).0 != **last
                {
                    return Err(other.into());
                }
                rows.len()
            }
            None if header.starts_with(kept) && (text.is_empty() || header.starts_with(&text)) => {
                file.set_len(0).map_err(|error| error.to_string())?;
                file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
                file.write_all(header.as_bytes()).map_err(|error| error.to_string())?;
                return Ok(0);
            }
            None => return Err("there is something else in this file; give a new one".into()),
        };
        file.set_len(whole as u64).map_err(|error| error.to_string())?;
        file.seek(SeekFrom::Start(whole as u64)).map_err(|error| error.to_string())?;
        Ok(n_done)
    }

    /// Values of the ranges at point `k`.
    fn values(ranges: &[Range], mut k: usize) -> Vec<f64> {
        let mut values = vec![0.0; ranges.len()];
        for (value, range) in values.iter_mut().zip(ranges).rev() {
            *value = range.values[k % range.values.len()];
            k /= range.values.len();
        }
        values
    }

    fn simulation(&self, ranges: &[Range], k: usize) -> bristle::Result<Simulation> {
        self.settings.simulation(&self.scene_at(ranges, k)?)
    }

    fn scene_at(&self, ranges: &[Range], k: usize) -> Result<bristle::Scene, SceneError> {
        let mut settings = self.settings.clone();
        for (range, value) in ranges.iter().zip(Self::values(ranges, k)) {
            settings.put(&range.path, format!("{value:?}"));
        }
        settings.load(&self.scene)
    }

    /// The row of point `k`, and whether it came to its end.
    fn row(&self, ranges: &[Range], k: usize) -> (String, bool) {
        let mut row = k.to_string();
        for value in Self::values(ranges, k) {
            row.push_str(&format!(",{value:?}"));
        }
        match self.finish(ranges, k) {
            Ok(values) => {
                values.iter().for_each(|value| row.push_str(&format!(",{value:?}")));
                row.push_str(",\n");
                (row, true)
            }
            Err(error) => {
                let n = self.simulation(ranges, k).map_or(1, |sim| sim.recording().names().len());
                row.push_str(&",".repeat(n));
                let text = error.to_string().replace(['\n', '\r'], " ").replace('"', "'");
                row.push_str(&format!(",\"{text}\"\n"));
                (row, false)
            }
        }
    }

    /// Every channel at the end of the run.
    fn finish(&self, ranges: &[Range], k: usize) -> bristle::Result<Vec<f64>> {
        let scene = self.scene_at(ranges, k)?;
        let mut sim = self.settings.simulation(&scene)?;
        if scene.duration > 0.0 {
            sim.step(scene.duration)?;
        }
        // the state there, as a run would record it
        let recording = sim.run_until(sim.time())?;
        Ok(recording.rows().next_back().map(<[f64]>::to_vec).unwrap_or_default())
    }
}
