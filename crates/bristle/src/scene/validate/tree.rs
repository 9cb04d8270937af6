//! The joints make a tree: every link is carried by one of them, and all hang from the world.

use std::collections::HashMap;

use super::{At, Check};
use crate::scene::error::closest;

impl Check<'_> {
    /// Every link is carried by exactly one joint, and the way up from it ends at the world.
    pub(super) fn tree(&mut self) {
        let scene = self.scene;
        let joints = At::field("joints");
        let index: HashMap<&str, usize> = scene.links.iter().enumerate().map(|(i, l)| (l.name.as_str(), i)).collect();
        // a link whose name could not be read may be any; so may the link that a joint carries
        let all_links = self.knows("links", "name");
        let all_children = self.knows("joints", "child");
        let names = || scene.links.iter().map(|link| link.name.as_str());

        // the joint that carries each link; links that a mistake elsewhere leaves without one are excused
        let mut carrier: Vec<Option<usize>> = vec![None; scene.links.len()];
        let mut excused = vec![false; scene.links.len()];
        for (j, joint) in scene.joints.iter().enumerate() {
            let at = joints.index(j);
            if joint.parent != "world" && all_links && !index.contains_key(joint.parent.as_str()) {
                let help = self.suggest(&joint.parent, std::iter::once("world").chain(names()));
                self.report_alone(at.key("parent"), format!("there is no link `{}`", joint.parent), help);
            }
            let Some(&child) = index.get(joint.child.as_str()) else {
                let (reason, help, meant) = if joint.child == "world" {
                    let reason = "`world` cannot be carried by a joint".to_owned();
                    (reason, "swap `parent` and `child`".to_owned(), vec![joint.parent.as_str()])
                } else if !all_links {
                    continue;
                } else {
                    let help = self.suggest(&joint.child, names());
                    let meant = if help.is_empty() { Vec::new() } else { closest(&joint.child, names()) };
                    (format!("there is no link `{}`", joint.child), help, meant)
                };
                self.report_alone(at.key("child"), reason, help);
                for link in meant.into_iter().filter_map(|name| index.get(name)) {
                    excused[*link] = true;
                }
                continue;
            };
            if joint.parent == joint.child {
                self.report_alone(at.key("child"), format!("`{}` joins `{}` to itself", joint.name, joint.child), "");
            } else if let Some(other) = carrier[child] {
                let reason = format!("`{}` is already the child of `{}`", joint.child, scene.joints[other].name);
                self.report_alone(
                    at.key("child"),
                    reason,
                    "a link has one parent; close a chain with a `LoopJoint` in `couplings`",
                );
                continue;
            }
            carrier[child] = Some(j);
        }

        // up from every link; those on the way of an earlier walk are known
        const NEW: usize = usize::MAX;
        let mut walk = vec![NEW; scene.links.len()];
        let links = At::field("links");
        let mut loose = Vec::new();
        for start in 0..scene.links.len() {
            let Some(first) = carrier[start] else {
                let name = &scene.links[start].name;
                let counts = index[name.as_str()] == start; // of links with the same name, one does
                let is_name = !name.trim().is_empty() && name != "world";
                if counts && all_children && !excused[start] && is_name {
                    loose.push(start);
                }
                continue;
            };
            let (mut link, mut joint) = (start, first);
            while walk[link] == NEW {
                walk[link] = start;
                let parent = scene.joints[joint].parent.as_str();
                let Some(&up) = index.get(parent) else { break };
                let Some(next) = carrier[up] else { break };
                (link, joint) = (up, next);
                if all_links && walk[link] == start && scene.joints[joint].parent != scene.joints[joint].child {
                    self.cycle(&carrier, &index, link, joint);
                }
            }
        }
        // of many, one: something else is wrong, such as a list of joints that is not there
        let (shown, others) =
            if loose.len() > 8 { (&loose[..1], loose.len().saturating_sub(1)) } else { (&loose[..], 0) };
        for &link in shown {
            let name = &scene.links[link].name;
            let more = if others > 0 { format!(", nor {others} others") } else { String::new() };
            let help = format!("add a joint with `child: \"{name}\"`; `kind: Free` lets it float");
            let element = links.index(link);
            self.report_alone(element.key("name"), format!("no joint carries the link `{name}`{more}"), help);
        }
    }

    /// Report the loop through a link.
    fn cycle(&mut self, carrier: &[Option<usize>], index: &HashMap<&str, usize>, link: usize, joint: usize) {
        let scene = self.scene;
        let mut around = vec![scene.links[link].name.as_str()];
        let mut at = link;
        while let Some(j) = carrier[at] {
            let parent = scene.joints[j].parent.as_str();
            around.push(parent);
            match index.get(parent) {
                Some(&up) if up != link && around.len() <= 8 => at = up,
                Some(&up) if up != link => {
                    around.push("…");
                    break;
                }
                _ => break,
            }
        }
        around.reverse();
        let joints = At::field("joints");
        let element = joints.index(joint);
        let reason = format!("the joints make a loop: {}", around.join(" → "));
        self.report_alone(
            element.key("parent"),
            reason,
            "one of these links must hang from outside the loop, in the end from \"world\"",
        );
    }
}
