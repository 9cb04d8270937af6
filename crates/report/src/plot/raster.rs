//! A picture as pixels, on light ground.

use super::font::Font;
use super::path::{Step, steps};
use super::picture::{Area, Picture, Shape};
use super::style::{Anchor, Color, Ends, Look, Looks};
use anyhow::{Context, Result, bail};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect, Shader, Stroke, StrokeDash,
    Transform,
};

/// Pixels for each px of the layout, on either side: the first that [`MOST_PIXELS`] allow.
const SCALES: [u32; 2] = [2, 1];
/// 4 bytes each: 200 MB while a picture is drawn.
const MAX_PIXELS: f64 = 5e7;

/// The pixels of a picture, all of them opaque.
pub struct Raster {
    /// Rows from the top.
    pub pixels: Pixmap,
    /// Pixels for each px of the layout.
    pub scale: u32,
}

/// Paints a picture. Refuses one that is too large.
pub fn raster(picture: &Picture) -> Result<Raster> {
    let size = |scale: u32| (f64::from(scale) * picture.width.round(), f64::from(scale) * picture.height.round());
    let is_possible = |scale: &u32| size(*scale).0 * size(*scale).1 <= MAX_PIXELS;
    let Some(scale) = SCALES.into_iter().find(is_possible) else {
        let (width, height) = size(1);
        bail!(
            "the picture would be {width:.0} × {height:.0} pixels, too many for a .png; choose fewer channels, or \
            write it as .svg"
        );
    };
    let (width, height) = size(scale);
    let (font, looks) = (Font::new(), Looks::new());
    let mut canvas = Canvas {
        pixels: Pixmap::new(width as u32, height as u32).context("the picture has no area")?,
        transform: Transform::from_scale(scale as f32, scale as f32),
        width: picture.width as f32,
        font: &font,
        looks: &looks,
    };
    canvas.pixels.fill(color(looks.of("rect", "ground").fill.unwrap_or([255; 3]), 1.0));
    canvas.draw(&picture.shapes);
    Ok(Raster { pixels: canvas.pixels, scale })
}

/// Pixels that are being painted.
struct Canvas<'a> {
    pixels: Pixmap,
    /// From px of the layout to pixels.
    transform: Transform,
    /// Of the picture, px.
    width: f32,
    font: &'a Font,
    looks: &'a Looks,
}

impl Canvas<'_> {
    fn draw(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            match shape {
                Shape::Text { class, x, y, text } => self.text(class, x.value() as f32, y.value() as f32, text),
                Shape::Path { class, fill_opacity, data } => {
                    let look = self.looks.of("path", class);
                    if let Some(path) = path(data) {
                        self.paint(&path, &look, *fill_opacity as f32, self.transform);
                    }
                }
                Shape::Rect { class, area } => {
                    let look = self.looks.of("rect", class);
                    if let Some(rect) = rect(area) {
                        self.paint(&PathBuilder::from_rect(rect), &look, 1.0, self.transform);
                    }
                }
                Shape::Clip { area, shapes, .. } => self.clip(area, shapes),
            }
        }
    }

    fn text(&mut self, class: &str, x: f32, y: f32, text: &str) {
        let look = self.looks.of("text", class);
        let line = self.font.line(text, look.size, look.is_bold, self.width);
        let Some(outline) = line.outline else { return };
        let left = match look.anchor {
            Anchor::Start => x,
            Anchor::Middle => x - line.width / 2.0,
            Anchor::End => x - line.width,
        };
        self.paint(&outline, &look, 1.0, self.transform.pre_translate(left, y));
    }

    /// Shapes on a sheet of their own, as large as what is seen of them.
    fn clip(&mut self, area: &Area, shapes: &[Shape]) {
        let Some(seen) = rect(area).and_then(|rect| rect.transform(self.transform)).and_then(|rect| rect.round())
        else {
            return;
        };
        let Some(pixels) = Pixmap::new(seen.width(), seen.height()) else { return };
        let transform = self.transform.post_translate(-seen.x() as f32, -seen.y() as f32);
        let mut sheet = Canvas { pixels, transform, ..*self };
        sheet.draw(shapes);
        let as_it_is = PixmapPaint::default();
        self.pixels.draw_pixmap(seen.x(), seen.y(), sheet.pixels.as_ref(), &as_it_is, Transform::identity(), None);
    }

    /// Area, then line.
    fn paint(&mut self, path: &Path, look: &Look, fill_opacity: f32, transform: Transform) {
        if let Some(color) = look.fill {
            let paint = paint(color, look.opacity * fill_opacity);
            self.pixels.fill_path(path, &paint, FillRule::Winding, transform, None);
        }
        if let Some(color) = look.stroke {
            let stroke = Stroke {
                width: look.width,
                line_cap: if look.ends == Ends::Round { LineCap::Round } else { LineCap::Butt },
                line_join: if look.has_round_corners { LineJoin::Round } else { LineJoin::Miter },
                ..Stroke::default()
            };
            // a line that cannot be broken up is drawn through
            let scale = transform.sx;
            let broken = StrokeDash::new(look.dashes.clone(), 0.0).and_then(|dash| path.dash(&dash, scale));
            let path = broken.as_ref().unwrap_or(path);
            self.pixels.stroke_path(path, &paint(color, look.opacity), &stroke, transform, None);
        }
    }
}

fn color([r, g, b]: Color, opacity: f32) -> tiny_skia::Color {
    let mut color = tiny_skia::Color::from_rgba8(r, g, b, 255);
    color.set_alpha(opacity);
    color
}

fn paint(of: Color, opacity: f32) -> Paint<'static> {
    Paint { shader: Shader::SolidColor(color(of, opacity)), anti_alias: true, ..Paint::default() }
}

fn path(data: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    for step in steps(data) {
        match step {
            Step::Move(x, y) => path.move_to(x as f32, y as f32),
            Step::Line(x, y) => path.line_to(x as f32, y as f32),
            Step::Close => path.close(),
        }
    }
    path.finish()
}

fn rect(area: &Area) -> Option<Rect> {
    let Area { x, y, width, height } = area;
    Rect::from_xywh(x.value() as f32, y.value() as f32, width.value() as f32, height.value() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::picture::Px;

    const BLUE: Color = [0x00, 0x72, 0xb2];
    const WHITE: Color = [255; 3];

    fn painted(shapes: Vec<Shape>) -> Raster {
        raster(&Picture { name: String::new(), width: 100.0, height: 60.0, shapes }).unwrap()
    }

    impl Raster {
        fn at(&self, x: f64, y: f64) -> Color {
            let scale = f64::from(self.scale);
            let pixel = self.pixels.pixel((scale * x) as u32, (scale * y) as u32).unwrap();
            assert_eq!(pixel.alpha(), 255);
            [pixel.red(), pixel.green(), pixel.blue()]
        }
    }

    /// A straight line is where its equation says, half its width to either side, and nowhere else.
    #[test]
    fn a_line_has_its_pixels() {
        let found = painted(vec![Shape::path("c0 d0", "M10 10l60 40")]);
        let (length, width) = (60_f64.hypot(40.0), 1.5);
        let (mut on, mut off) = (0, 0);
        for k in 0..200 * 120 {
            // the middle of a pixel, and how far it is from the line
            let (x, y) = (0.25 + 0.5 * f64::from(k % 200), 0.25 + 0.5 * f64::from(k / 200));
            let along = (60.0 * (x - 10.0) + 40.0 * (y - 10.0)) / length;
            let across = ((60.0 * (y - 10.0) - 40.0 * (x - 10.0)) / length).abs();
            let beyond = (-along).max(along - length).max(0.0);
            let distance = across.hypot(beyond);
            // a pixel is half a px wide: its corners are 0.36 px from its middle
            if distance < width / 2.0 - 0.36 {
                assert_eq!(found.at(x, y), BLUE, "{x} {y}");
                on += 1;
            } else if distance > width / 2.0 + 0.36 {
                assert_eq!(found.at(x, y), WHITE, "{x} {y}");
                off += 1;
            }
        }
        assert!(on > 100 && off > 20_000, "{on} {off}");
    }

    #[test]
    fn single_points_and_gaps() {
        let dot = painted(vec![Shape::path("c0 d0", "M50 30h0")]);
        assert_eq!((dot.at(50.0, 30.0), dot.at(52.0, 30.0)), (BLUE, WHITE));
        // 7 px of line with round ends, 3 px of gap
        let broken = painted(vec![Shape::path("c0 d1", "M10 30h80")]);
        assert_eq!([13.0, 18.5, 23.0, 28.5].map(|x| broken.at(x, 30.0)), [BLUE, WHITE, BLUE, WHITE]);
    }

    #[test]
    fn shapes_are_clipped() {
        let (x, y, width, height) = (Px::Fixed(20.0), Px::Tenth(10.0), Px::Fixed(40.0), Px::Tenth(30.0));
        let area = Area { x, y, width, height };
        let within = vec![Shape::path("c0 d0", "M0 30h100"), Shape::path("held f0", "M50 0h50v60h-50z")];
        let clipped = painted(vec![Shape::Clip { id: "a".into(), area, shapes: within }]);
        assert_eq!([19.0, 21.0, 61.0].map(|x| clipped.at(x, 30.0)), [WHITE, BLUE, WHITE]);
        // 85 % of blue over white
        let over = BLUE.map(|c| (0.85 * f64::from(c) + 0.15 * 255.0).round() as i32);
        let held = clipped.at(55.0, 20.0).map(i32::from);
        assert!((0..3).all(|k| (held[k] - over[k]).abs() <= 1), "{held:?} {over:?}");
        assert_eq!((clipped.at(55.0, 8.0), clipped.at(55.0, 42.0)), (WHITE, WHITE));
    }

    /// Letters are left of, around and right of their place, as their class says.
    #[test]
    fn texts_have_their_anchors() {
        let sides = |class: &'static str| {
            let found = painted(vec![Shape::text(class, 50.0, 30.0, "8888")]);
            let ink = |from: u32, to: u32| {
                let dark = |&(x, y): &(u32, u32)| found.at(f64::from(x) / 2.0, f64::from(y) / 2.0)[0] < 128;
                (from..to).flat_map(|x| (0..120).map(move |y| (x, y))).filter(dark).count()
            };
            (ink(0, 100), ink(100, 200))
        };
        assert!(matches!(sides("name"), (0, right) if right > 50));
        assert!(matches!(sides("v"), (left, 0) if left > 50));
        let (left, right) = sides("n");
        assert!(left > 50 && left.abs_diff(right) < left / 5, "{left} {right}");
    }

    #[test]
    fn picture_size_is_limited() {
        let sized = |height: f64| raster(&Picture { name: String::new(), width: 920.0, height, shapes: Vec::new() });
        assert_eq!(sized(1000.0).unwrap().scale, 2);
        let coarse = sized(20_000.0).unwrap();
        assert_eq!((coarse.scale, coarse.pixels.height()), (1, 20_000));
        let message = sized(1e9).err().unwrap().to_string();
        assert!(
            message.starts_with("the picture would be 920 × 1000000000 pixels") && message.contains(".svg"),
            "{message}"
        );
        for height in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sized(height).is_err());
        }
    }
}
