//! Who carries what inverse dynamics asks for beyond the efforts given.
//!
//! ```text
//! e = Gᵀλ − Rᵀf + u          ties λ, stuck contacts f, led joints u
//! ```
//!
//! Where several may carry the same, stuck contacts share in proportion to what they can hold: of all solutions the one with the least Σ f²/limit,
//! so that they reach their limits together. One that reaches its limit before the others gives what it can, and the others carry the rest
//! as long as they are able to: nothing moves before all of them are at their limits.

use super::Ties;
use crate::formulation::machine::{Failure, Machine};
use crate::modes::{factorise, solve_factorised};
use bristle_multibody::Error;

/// Weight of sharing among stuck contacts that may carry the same, relative to the balance of efforts.
const SHARING: f64 = 1e-9;

/// Limits smaller than this part of the largest count as much.
const WEAKEST: f64 = 1e-3;

/// Efforts beyond a limit, or carried by nobody, by less than this part of it are none.
const OVER: f64 = 1e-10;

/// Shares of limits that differ by less than this part of them are the same.
const ALIKE: f64 = 1e-6;

impl Machine {
    /// Efforts of ties, stuck contacts and led joints, from what is missing at the accelerations in `a`: `b` holds what inverse
    /// dynamics asks for beyond the efforts given.
    pub(in crate::formulation) fn share_out(&mut self) -> Result<(), Failure> {
        let n = self.ties.columns.len();
        let mut count = 0;
        // ties
        for tie in &self.compiled.coupled.ties {
            let row = &mut self.ties.carriers[count * n..(count + 1) * n];
            row.fill(0.0);
            tie.terms.iter().for_each(|&(v, c)| row[self.ties.column_of[v]] = c);
            self.ties.weight[count] = 0.0;
            count += 1;
        }
        // stuck contacts
        let n_ties = count;
        for c in 0..self.mode.len() {
            if !self.sticks(c) {
                continue;
            }
            let limit = self.limit(c);
            let contact = &self.compiled.contacts[c];
            let row = &mut self.ties.carriers[count * n..(count + 1) * n];
            row.fill(0.0);
            row[self.ties.column_of[contact.v]] = -1.0;
            if let Some(b) = contact.b {
                row[self.ties.column_of[b]] = 1.0;
            }
            self.ties.weight[count] = limit;
            count += 1;
        }
        // the weaker, the heavier; those that are about to let go of nothing like the weakest there may be
        let contacts = &mut self.ties.weight[n_ties..count];
        let strongest = contacts.iter().fold(f64::MIN_POSITIVE, |most, limit| most.max(*limit));
        contacts.iter_mut().for_each(|weight| *weight = strongest / weight.max(WEAKEST * strongest));
        // led joints
        for driven in &self.driven {
            let row = &mut self.ties.carriers[count * n..(count + 1) * n];
            row.fill(0.0);
            row[self.ties.column_of[driven.v]] = 1.0;
            self.ties.weight[count] = 0.0;
            count += 1;
        }
        self.carry_within_limits(count)?;

        let mut carried = self.ties.carried.iter();
        for effort in &mut self.tie_effort {
            *effort = carried.next().copied().unwrap_or(0.0);
        }
        self.compiled.without_passed(&self.a, &mut self.tie_effort);
        let mut given = self.ties.given[n_ties..].iter();
        for c in 0..self.mode.len() {
            self.ties.is_given[c] = false;
            if self.sticks(c) {
                self.friction[c] = carried.next().copied().unwrap_or(0.0);
                self.ties.is_given[c] = given.next().copied().flatten().is_some_and(|given| !given.is_nan());
            }
        }
        for driven in &mut self.driven {
            driven.effort = carried.next().copied().unwrap_or(0.0);
        }
        Ok(())
    }
}

impl Machine {
    /// Finds what `count` carriers carry of `b`. Where several may carry the same, contacts that would go beyond their limits give what they
    /// can, one after the other, as long as the rest is carried by others.
    fn carry_within_limits(&mut self, count: usize) -> Result<(), Failure> {
        let failed = |_| Failure::Mechanics(Error::NonFinite { function: "couplings" });
        let (n, n_ties) = (self.ties.columns.len(), self.compiled.coupled.ties.len());
        for k in 0..n {
            self.ties.wanted[k] = self.b[self.ties.columns[k]];
        }
        self.ties.given[..count].fill(None);
        if self.ties.carry(count).map_err(failed)?.is_unique {
            return Ok(());
        }
        for _ in 0..count {
            // the one that is furthest beyond; of those that are as far the first, so that rounding does not make it now one, now another
            let (mut k, mut worst) = (n_ties, None);
            let mut most = 1.0 + OVER;
            for c in 0..self.mode.len() {
                if !self.sticks(c) {
                    continue;
                }
                self.friction[c] = self.ties.carried[k];
                let limit = self.limit(c);
                let ratio = self.friction[c].abs() / limit;
                if self.ties.given[k].is_none() && ratio > most {
                    (most, worst) = (ratio * (1.0 + ALIKE), Some((k, limit.copysign(self.friction[c]))));
                }
                k += 1;
            }
            let Some((k, at_limit)) = worst else { break };
            self.ties.try_at_limit(count, k, at_limit).map_err(failed)?;
        }
        Ok(())
    }
}

/// How carriers were found.
struct Carried {
    /// Nobody can carry what another carries.
    is_unique: bool,
    /// Largest effort that nobody carries.
    left: f64,
}

impl Ties {
    /// Lets carrier `k` carry `effort`, and the others the rest, if they can; otherwise all is as it was, and it is not tried again.
    fn try_at_limit(&mut self, count: usize, k: usize, effort: f64) -> Result<(), usize> {
        let n = self.columns.len();
        let row = k * n..(k + 1) * n;
        self.before[..count].copy_from_slice(&self.carried[..count]);
        self.row.copy_from_slice(&self.carriers[row.clone()]);
        self.carriers[row.clone()].fill(0.0);
        self.wanted.iter_mut().zip(&self.row).for_each(|(wanted, x)| *wanted -= effort * x);
        self.given[k] = Some(effort);
        if self.carry(count)?.left > OVER * self.before[k].abs() {
            self.wanted.iter_mut().zip(&self.row).for_each(|(wanted, x)| *wanted += effort * x);
            self.carriers[row].copy_from_slice(&self.row);
            self.carried[..count].copy_from_slice(&self.before[..count]);
            // what it carries is what it must
            self.given[k] = Some(f64::NAN);
        }
        Ok(())
    }
}

impl Ties {
    /// Finds what `count` carriers carry of what is wanted.
    fn carry(&mut self, count: usize) -> Result<Carried, usize> {
        let n = self.columns.len();
        for r in 0..count {
            for c in 0..count {
                let (a, b) = (&self.carriers[r * n..(r + 1) * n], &self.carriers[c * n..(c + 1) * n]);
                self.normal[r * count + c] = a.iter().zip(b).map(|(a, b)| a * b).sum();
            }
            // one that is given carries nothing here
            if self.normal[r * count + r] == 0.0 {
                self.normal[r * count + r] = 1.0;
            }
        }
        let normal = &self.normal;
        let is_unique = factorise(count, &mut self.factor, |r, c| normal[r * count + c]).is_ok();
        if !is_unique {
            let scale = (0..count).map(|k| normal[k * count + k]).fold(0.0, f64::max);
            let heaviest = self.weight[..count].iter().fold(f64::MIN_POSITIVE, |most, w| most.max(*w));
            let weight = &self.weight;
            let share = |k: usize| SHARING * scale * weight[k] / heaviest;
            factorise(count, &mut self.factor, |r, c| normal[r * count + c] + if r == c { share(r) } else { 0.0 })?;
        }
        self.carried[..count].fill(0.0);
        // what sharing keeps from being balanced is balanced by going on from there
        for _ in 0..if is_unique { 2 } else { 4 } {
            self.find_left(count);
            for r in 0..count {
                let row = &self.carriers[r * n..(r + 1) * n];
                self.correction[r] = row.iter().zip(&self.left).map(|(a, b)| a * b).sum();
            }
            solve_factorised(count, &self.factor, &mut self.correction[..count]);
            self.carried[..count].iter_mut().zip(&self.correction).for_each(|(x, dx)| *x += dx);
        }
        self.find_left(count);
        for (carried, given) in self.carried[..count].iter_mut().zip(&self.given) {
            *carried = given.filter(|given| !given.is_nan()).unwrap_or(*carried);
        }
        Ok(Carried { is_unique, left: self.left.iter().fold(0.0, |most, left| most.max(left.abs())) })
    }

    /// What of the efforts wanted nobody carries.
    fn find_left(&mut self, count: usize) {
        let n = self.columns.len();
        for k in 0..n {
            let done: f64 = (0..count).map(|r| self.carriers[r * n + k] * self.carried[r]).sum();
            self.left[k] = self.wanted[k] - done;
        }
    }
}
