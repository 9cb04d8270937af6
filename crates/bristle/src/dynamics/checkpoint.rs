//! Checkpoints: the state before an operation that may be refused, and the way back to it.

use super::Dynamics;
use super::diagnostics::Diagnostics;
use super::point::Point;
use super::state::State;
use crate::constraint::coordinates::Coordinates;
use crate::constraint::loops::Chart;
use crate::model::Compiled;

/// The state before an operation that may be refused.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    state: State,
    point: Point,
    coordinates: Coordinates,
    chart: Chart,
    diagnostics: Diagnostics,
}

impl Checkpoint {
    fn new(compiled: &Compiled) -> Self {
        Self {
            state: State::new(compiled, 0.0),
            point: Point::new(compiled),
            coordinates: Coordinates::new(compiled),
            chart: Chart::new(compiled),
            diagnostics: Diagnostics::new(compiled.inputs.contacts.len()),
        }
    }
}

impl Dynamics {
    /// Copies the state for [`Dynamics::rollback`]; allocates on first use only.
    pub(crate) fn checkpoint(&mut self) {
        let Self { compiled, state, point, coordinates, chart, diagnostics, checkpoint, .. } = self;
        let kept = checkpoint.get_or_insert_with(|| Box::new(Checkpoint::new(compiled)));
        kept.state.copy_from(state);
        kept.point.copy_from(point);
        kept.coordinates.copy_from(coordinates);
        kept.chart.copy_from(chart);
        kept.diagnostics.copy_from(diagnostics);
    }

    /// Copies back the state of the last [`Dynamics::checkpoint`] after an operation was refused.
    pub(crate) fn rollback(&mut self) {
        let Some(kept) = &self.checkpoint else { return };
        self.state.copy_from(&kept.state);
        self.point.copy_from(&kept.point);
        self.coordinates.copy_from(&kept.coordinates);
        self.chart.copy_from(&kept.chart);
        self.diagnostics.copy_from(&kept.diagnostics);
    }
}
