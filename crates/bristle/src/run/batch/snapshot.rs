//! A copy as bytes, those of [`Simulation::snapshot`](crate::Simulation::snapshot): for a simulation or a copy of the
//! same machine.

use super::Batch;
use crate::error::Result;

impl Batch {
    /// The complete state of one copy: it continues bit for bit from there, in this copy, in another one, or in a
    /// [`Simulation`](crate::Simulation::restore) of the same machine. Inputs in the arrays of the batch are applied
    /// first, as in the next step.
    pub fn snapshot(&mut self, copy: usize) -> Result<Vec<u8>> {
        let fingerprint = self.fingerprint;
        self.at(copy)?;
        self.apply_inputs()?;
        Ok(self.at_mut(copy)?.run.write(fingerprint))
    }

    /// Continues from a snapshot of this machine, of a copy or of a simulation. Other bytes are refused, and nothing
    /// changes.
    pub fn restore(&mut self, copy: usize, bytes: &[u8]) -> Result<()> {
        let (fingerprint, n) = (self.fingerprint, self.len());
        let at = self.at_mut(copy)?;
        at.run.read(fingerprint, bytes)?;
        at.failure = None;
        // the arrays hold the inputs that act now
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
