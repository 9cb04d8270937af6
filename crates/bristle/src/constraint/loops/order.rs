//! The order of elimination, and T₁ in it.

use super::{ABSENT, Chart, Loops};

impl Loops {
    /// Puts the dependent velocities in the order of elimination. The table of [`Loops::choose`] is in the old one.
    pub fn order(&self, chart: &mut Chart) {
        chart.dependent.sort_by_key(|&v| self.place[v]);
    }

    /// Records T₁ of the table eliminated last in the chart.
    pub fn record_slope(&self, chart: &mut Chart) {
        let n_v = self.n_v;
        chart.slope.clear();
        chart.slope.resize(chart.dependent.len() * n_v, 0.0);
        for (step, &d) in chart.dependent.iter().enumerate() {
            self.slopes(step, d).for_each(|(v, slope)| chart.slope[step * n_v + v] = slope);
        }
    }
}

/// The order of elimination of velocities, from those that each closure concerns: those of few loops first, then from
/// neighbour to neighbour, beginning at an end of a chain of loops, so that little fills in.
pub(super) fn order_of(concerned: &[Vec<usize>], closures_of: &[Vec<usize>]) -> Vec<usize> {
    let neighbours = |closure: usize| concerned[closure].iter().flat_map(|&v| &closures_of[v]).copied();
    let mut rank = vec![ABSENT; concerned.len()];
    let mut starts: Vec<usize> = (0..concerned.len()).collect();
    starts.sort_by_key(|&closure| neighbours(closure).count());
    let (mut reached, mut next) = (Vec::new(), 0);
    for start in starts {
        let mut reach = |closure: usize, reached: &mut Vec<usize>| {
            if rank[closure] == ABSENT {
                rank[closure] = reached.len();
                reached.push(closure);
            }
        };
        reach(start, &mut reached);
        while next < reached.len() {
            neighbours(reached[next]).for_each(|closure| reach(closure, &mut reached));
            next += 1;
        }
    }
    let mut ordered: Vec<usize> = (0..closures_of.len()).collect();
    ordered.sort_by_key(|&v| (closures_of[v].len(), closures_of[v].iter().map(|&closure| rank[closure]).min()));
    ordered
}
