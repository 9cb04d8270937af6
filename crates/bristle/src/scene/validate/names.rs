//! Names of links, joints and couplings: present, unique, printable.

use std::collections::HashMap;

use super::{At, Check};
use crate::scene::Coupling;

const CONTROL: &str = "a name cannot hold line ends or control characters";

impl<'s> Check<'s> {
    /// Names are present and unique: links among links, joints and couplings together since both name channels.
    pub(super) fn names(&mut self) {
        let scene = self.scene;
        // a title may have lines and tabs
        if scene.name.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            self.report_alone(
                At::field("name"),
                "a title cannot hold control characters other than line ends and tabs",
                "",
            );
        }
        let list =
            |key: &'static str, names: Vec<&'s str>| names.into_iter().enumerate().map(move |(i, n)| (key, i, n));
        let links = list("links", scene.links.iter().map(|link| link.name.as_str()).collect());
        let joints = list("joints", scene.joints.iter().map(|joint| joint.name.as_str()).collect());
        let couplings = list("couplings", scene.couplings.iter().map(Coupling::name).collect());

        let world = "`world` is what links and joints hang from";
        let energy = "`energy.…` are the columns of the energy balance";
        self.unique(links, &[("world", world)]);
        self.unique(joints.chain(couplings), &[("energy", energy), ("world", world)]);
    }

    fn unique(&mut self, names: impl Iterator<Item = (&'static str, usize, &'s str)>, reserved: &[(&str, &str)]) {
        let mut seen: HashMap<&str, (&str, usize)> = HashMap::new();
        for (list, i, name) in names {
            let (list, what) = (At::field(list), list.trim_end_matches('s'));
            let element = list.index(i);
            let at = element.key("name");
            if name.trim().is_empty() {
                self.report_alone(at, format!("this {what} has no name"), "results are named after it");
            } else if name.chars().any(char::is_control) {
                self.report_alone(at, CONTROL, "");
            } else if what != "link" && name.starts_with(['=', '+', '-', '@']) {
                // `-3+1.position` in the header of a table would be computed
                let reason = format!("the name of a {what} cannot begin with `{}`", &name[..1]);
                self.report_alone(at, reason, "results are named after it, and spreadsheets take that for a formula");
            } else if what != "link" && (name.contains("..") || name.ends_with('.')) {
                // `../x.position.npy` in an archive would leave its folder
                let reason = format!("the name of a {what} cannot hold `..`, nor end with `.`");
                self.report_alone(at, reason, "results are named after it, and `..` leads out of an archive");
            } else if let Some((_, why)) = reserved.iter().find(|reserved| reserved.0 == name) {
                self.report_alone(at, format!("`{name}` cannot be the name of a {what}"), *why);
            } else if let Some((other, _)) = seen.insert(name, (what, i)) {
                let by = if other == what { format!("another {what}") } else { format!("a {other}") };
                self.report_alone(at, format!("the name `{name}` is taken by {by}"), "names must be unique");
            }
        }
    }
}
