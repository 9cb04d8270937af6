//! A copy as bytes: those of [`Simulation::snapshot`](crate::Simulation::snapshot), for a simulation or a copy of the
//! same machine.

use super::Batch;
use crate::error::Result;

impl Batch {
    /// Everything of one copy: it goes on bit by bit from there, here, in another copy, or in a
    /// [`Simulation`](crate::Simulation::restore) of the same machine. What was put into the arrays of the batch acts
    /// first, as with the next step.
    pub fn snapshot(&mut self, copy: usize) -> Result<Vec<u8>> {
        let fingerprint = self.fingerprint;
        self.at(copy)?;
        self.apply_inputs()?;
        Ok(self.at_mut(copy)?.run.write(fingerprint))
    }

    /// Goes on from a snapshot of this machine, of a copy or of a simulation. Bytes that are no such snapshot are
    /// refused, and nothing has changed then.
    pub fn restore(&mut self, copy: usize, bytes: &[u8]) -> Result<()> {
        let (fingerprint, n) = (self.fingerprint, self.len());
        let at = self.at_mut(copy)?;
        at.run.read(fingerprint, bytes)?;
        at.failure = None;
        // the arrays say what acts now
        let compiled = self.copies[copy].run.compiled();
        compiled.inputs.effort.iter().enumerate().for_each(|(k, tau)| self.effort.put(k * n + copy, *tau));
        (0..compiled.inputs.drives.len()).for_each(|k| self.target.put(k * n + copy, None));
        (1..compiled.model.tree.n_bodies()).for_each(|body| self.wrench.put((body - 1) * n + copy, [0.0; 6]));
        for w in &compiled.inputs.wrenches {
            self.wrench.put((w.body - 1) * n + copy, w.wrench.to_array());
        }
        self.gather(copy);
        Ok(())
    }
}
