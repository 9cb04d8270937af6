//! The scoreboard: every claim of the texts with its verdict, read from the `results.json` files of the reports.
//!
//! A paper that is run alone is combined with the results of earlier runs in the folder.

use super::document::inline;
use bristle_plot::escape;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// Verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The printed numbers, or the sentence, are reproduced.
    Reproduced,
    /// The print differs from the correct result, and a stated cause gives the print.
    Explained,
    /// The print is reproduced with an adjusted parameter that it does not give.
    Fitted,
    /// The result is the opposite.
    Contradicted,
    /// It was run, but the print lacks what a comparison needs.
    NotComparable,
    /// It was not run.
    NotAttempted,
}

const VERDICTS: [Verdict; 6] = [
    Verdict::Reproduced,
    Verdict::Explained,
    Verdict::Fitted,
    Verdict::Contradicted,
    Verdict::NotComparable,
    Verdict::NotAttempted,
];

impl Verdict {
    /// Reproduced where the claim holds here, contradicted otherwise.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Reproduced } else { Self::Contradicted }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Explained => "explained",
            Self::Fitted => "fitted",
            Self::Contradicted => "contradicted",
            Self::NotComparable => "not comparable",
            Self::NotAttempted => "not attempted",
        }
    }
}

/// A claim of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Its place: `Table 2`, `Section 1.3`.
    pub place: String,
    /// The claim, in our words.
    pub claim: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers.
    pub finding: String,
}

/// Origin of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Day, UTC.
    pub date: String,
    /// Of the sources.
    pub commit: String,
    pub compiler: String,
    pub processor: String,
}

impl Origin {
    /// Of this build, at this time.
    pub fn here() -> Self {
        let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(':').nth(1));
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            date: date((seconds / 86_400) as i64),
            commit: env!("BRISTLE_COMMIT").into(),
            compiler: env!("BRISTLE_COMPILER").into(),
            processor: format!("{}, {threads} threads", model.unwrap_or(std::env::consts::ARCH).trim()),
        }
    }

    fn line(&self) -> String {
        format!("{}, commit {}, {}, {}", self.date, self.commit, self.compiler, self.processor)
    }
}

/// Days since 1970 as year-month-day: the civil calendar (Hinnant, *chrono-compatible low-level date algorithms*).
fn date(days: i64) -> String {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The part of a `results.json` that is read.
#[derive(Deserialize)]
struct Results {
    paper: String,
    shortened: bool,
    origin: Origin,
    claims: Vec<Claim>,
}

/// The claims of all papers in a folder.
pub struct Scoreboard {
    papers: Vec<Results>,
}

impl Scoreboard {
    /// Reads `results.json` of the papers named, those that are there.
    pub fn read<'a>(out: &Path, names: impl Iterator<Item = &'a str>) -> Self {
        let mut papers = Vec::new();
        for name in names {
            let path = out.join(name).join("results.json");
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            // a file of an earlier version has no claims
            if let Ok(results) = serde_json::from_str(&text) {
                papers.push(results);
            }
        }
        Self { papers }
    }

    fn counts(&self) -> Vec<Vec<String>> {
        let count =
            |claims: &[&Claim], verdict| claims.iter().filter(|claim| claim.verdict == verdict).count().to_string();
        let row = |name: &str, claims: &[&Claim]| -> Vec<String> {
            let counted = VERDICTS.iter().map(|&verdict| count(claims, verdict));
            [name.to_owned(), claims.len().to_string()].into_iter().chain(counted).collect()
        };
        let mut rows: Vec<Vec<String>> =
            self.papers.iter().map(|paper| row(&paper.paper, &paper.claims.iter().collect::<Vec<_>>())).collect();
        rows.push(row("**all**", &self.papers.iter().flat_map(|paper| &paper.claims).collect::<Vec<_>>()));
        rows
    }

    fn tables(&self) -> [(Vec<&'static str>, Vec<Vec<String>>); 2] {
        let head = ["", "claims"].into_iter().chain(VERDICTS.map(Verdict::label)).collect();
        let claims = self.papers.iter().flat_map(|paper| {
            paper.claims.iter().map(|claim| {
                let place = format!("{}, {}", paper.paper, claim.place);
                vec![place, claim.claim.clone(), format!("**{}**", claim.verdict.label()), claim.finding.clone()]
            })
        });
        [(head, self.counts()), (vec!["where", "claim", "verdict", "found"], claims.collect())]
    }

    fn origins(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for paper in &self.papers {
            let short = if paper.shortened { " (shortened, `--quick`)" } else { "" };
            lines.push(format!("{}: {}{short}", paper.paper, paper.origin.line()));
        }
        // one line where all are alike
        let all: Vec<&str> = lines.iter().filter_map(|line| line.split_once(": ").map(|pair| pair.1)).collect();
        match all.first() {
            Some(first) if all.iter().all(|line| line == first) => vec![(*first).to_owned()],
            _ => lines,
        }
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {TITLE}\n\n{MEANING}\n\n");
        self.origins().iter().for_each(|line| text += &format!("- {line}\n"));
        for (head, rows) in self.tables() {
            let _ = writeln!(text, "\n| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
            rows.iter().for_each(|row| text += &format!("| {} |\n", row.join(" | ")));
        }
        text += "\n## Texts\n\n";
        TEXTS.iter().for_each(|line| text += &format!("- {line}\n"));
        text
    }

    /// As the first part of the page.
    pub fn html(&self) -> String {
        let mut text =
            format!("<section id=\"scoreboard\">\n<h2>{}</h2>\n<p>{}</p>\n<ul>\n", escape(TITLE), inline(MEANING));
        self.origins().iter().for_each(|line| text += &format!("<li>{}</li>\n", inline(line)));
        text += "</ul>\n";
        for (k, (head, rows)) in self.tables().into_iter().enumerate() {
            let cells = |cells: &[String], tag: &str| -> String {
                cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", inline(cell))).collect()
            };
            let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
            let class = if k == 0 { "" } else { " class=\"claims\"" };
            let _ = writeln!(text, "<div class=\"wide\"><table{class}>\n<tr>{}</tr>", cells(&head, "th"));
            rows.iter().for_each(|row| text += &format!("<tr>{}</tr>\n", cells(row, "td")));
            text += "</table></div>\n";
        }
        text + "</section>\n"
    }
}

/// The texts and what else is cited, as part of the page.
pub fn bibliography() -> String {
    let items: String = TEXTS.iter().map(|line| format!("<li>{}</li>\n", inline(line))).collect();
    format!("<section id=\"texts\">\n<h2>Texts</h2>\n<ul>\n{items}</ul>\n</section>\n")
}

const TITLE: &str = "Scoreboard";
const MEANING: &str = "Every claim, and what became of it. *Reproduced*: it comes out. *Explained*: the print differs \
    from the correct result, and a stated cause gives the print. *Fitted*: it comes out with something that the print \
    does not give and that was adjusted until it did, which shows that it can come out, not that this is its cause. \
    *Contradicted*: the opposite comes out. *Not comparable*: it was run, but the print lacks what a comparison needs. \
    The texts were read without their figures: a figure is known by its caption and by what its paper says of it.";

const TEXTS: [&str; 13] = [
    "`do2007` N. B. Do, A. A. Ferri, O. A. Bauchau: Efficient simulation of a dynamic system with LuGre friction. \
     *Journal of Computational and Nonlinear Dynamics* 2 (2007) 281–289. doi:10.1115/1.2754304",
    "`lee1997` D. W. Lee, D. C. Hesterman, R. W. Jones: Simulation of friction in oscillating mechanisms. *Fifth \
     International Congress on Sound and Vibration*, Adelaide, 1997. No DOI.",
    "`aberger2002` M. Aberger, M. Otter: Modeling friction in Modelica with the Lund–Grenoble friction model. *2nd \
     International Modelica Conference*, 285–294, 2002. No DOI; www.modelica.org/Conference2002/papers.shtml",
    "`acho2004` L. Acho, J. Moreno, R. Guerra: Second-order LuGre friction model. CITEDI–IPN, Tijuana. The text names \
     no venue; ACTA Press lists it (www.actapress.com, paper 19300). No DOI found.",
    "`dymore` *Dymore user's manual: the Coulomb and LuGre friction models*. A manual; no DOI.",
    "C. Canudas de Wit, H. Olsson, K. J. Åström, P. Lischinsky: A new model for control of systems with friction. \
     *IEEE Transactions on Automatic Control* 40 (1995) 419–425. doi:10.1109/9.376053",
    "P. R. Dahl: Solid friction damping of mechanical vibrations. *AIAA Journal* 14 (1976) 1675–1682. \
     doi:10.2514/3.61511",
    "N. Barabanov, R. Ortega: Necessary and sufficient conditions for passivity of the LuGre friction model. *IEEE \
     Transactions on Automatic Control* 45 (2000) 830–832. doi:10.1109/9.847131",
    "P. Dupont, V. Hayward, B. Armstrong, F. Altpeter: Single state elastoplastic friction models. *IEEE Transactions \
     on Automatic Control* 47 (2002) 787–792. doi:10.1109/TAC.2002.1000274",
    "L. F. Shampine, M. W. Reichelt: The MATLAB ODE suite. *SIAM Journal on Scientific Computing* 18 (1997) 1–22. \
     doi:10.1137/S1064827594276424",
    "J. R. Dormand, P. J. Prince: A family of embedded Runge–Kutta formulae. *Journal of Computational and Applied \
     Mathematics* 6 (1980) 19–26. doi:10.1016/0771-050X(80)90013-3",
    "E. Hairer, G. Wanner: Stiff differential equations solved by Radau methods. *Journal of Computational and Applied \
     Mathematics* 111 (1999) 93–111. doi:10.1016/S0377-0427(99)00134-X",
    "R. Featherstone: *Rigid Body Dynamics Algorithms*. Springer, 2008. doi:10.1007/978-1-4899-7560-7",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let found = [0, 59, 11_016, 19_782, 20_775].map(date);
        assert_eq!(found, ["1970-01-01", "1970-03-01", "2000-02-29", "2024-02-29", "2026-11-18"]);
    }

    #[test]
    fn verdicts_are_counted() {
        let claim = |verdict| Claim { place: "p".into(), claim: "c".into(), verdict, finding: "f".into() };
        let paper = Results {
            paper: "one".into(),
            shortened: false,
            origin: Origin::here(),
            claims: vec![claim(Verdict::Reproduced), claim(Verdict::Explained), claim(Verdict::Reproduced)],
        };
        let board = Scoreboard { papers: vec![paper] };
        assert_eq!(board.counts()[1], ["**all**", "3", "2", "1", "0", "0", "0", "0"]);
        assert!(board.markdown().contains("| one, p | c | **explained** | f |"));
        assert!(board.html().contains("<b>explained</b>"));
    }
}
