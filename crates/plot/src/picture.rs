//! A picture before it is written: a list of shapes, later ones over earlier ones, each with a class for its style
//! ([`super::style`]).

use std::fmt;

/// Shapes on a ground of one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Description for screen readers.
    pub name: String,
    /// Width, px.
    pub width: f64,
    /// Height, px.
    pub height: f64,
    /// Shapes in drawing order.
    pub shapes: Vec<Shape>,
}

/// Shapes of a picture. x points to the right, y downwards.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line of text; x is its anchor, y its baseline.
    Text { class: &'static str, x: Px, y: Px, text: String },
    /// Lines and areas, as path data ([`super::path`]); areas can have a smaller opacity than their class.
    Path { class: String, fill_opacity: f64, data: String },
    /// A rectangle with sides along the axes.
    Rect { class: &'static str, area: Area },
    /// Shapes that are clipped to an area.
    Clip { id: String, area: Area, shapes: Vec<Shape> },
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: Px,
    /// Upper edge.
    pub y: Px,
    /// Width.
    pub width: Px,
    /// Height.
    pub height: Px,
}

/// A place or a length in pixels, and its format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Px {
    /// A constant of the layout: written exactly.
    Fixed(f64),
    /// A computed number: to a tenth.
    Tenth(f64),
}

impl Px {
    /// The number itself.
    pub fn value(self) -> f64 {
        match self {
            Self::Fixed(x) | Self::Tenth(x) => x,
        }
    }
}

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(x) => write!(f, "{x}"),
            Self::Tenth(x) => write!(f, "{x:.1}"),
        }
    }
}

impl Shape {
    /// A line of text at a computed place.
    pub fn text(class: &'static str, x: f64, y: f64, text: impl Into<String>) -> Self {
        Self::Text { class, x: Px::Tenth(x), y: Px::Tenth(y), text: text.into() }
    }

    /// Lines and areas with the opacity of their class.
    pub fn path(class: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Path { class: class.into(), fill_opacity: 1.0, data: data.into() }
    }
}
