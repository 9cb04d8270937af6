//! Colours that the colour-blind can distinguish (Okabe and Ito 2008), on light and on dark ground.
//!
//! Yellow is left out: it cannot be read on white. After the last colour the first comes again, with a broken line.

/// On light ground.
pub const LIGHT: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#555555"];

/// The same on dark ground, lighter where contrast was low.
pub const DARK: [&str; 7] = ["#4fa8e0", "#ff8a3d", "#2fc79a", "#e39cc4", "#e6b422", "#8fd0f5", "#b5b5b5"];

/// Lengths of dashes and gaps of the second, third and fourth round; the first is drawn through.
pub const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];
