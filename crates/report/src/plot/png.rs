//! A picture as PNG (ISO/IEC 15948): a signature, then chunks of length, name, content and check sum.
//!
//! Deflate and check sums are those of flate2, which `.npz` files use. The crate png would bring five more crates, two
//! versions of one among them, and the encoder of tiny-skia has neither the resolution of a picture nor three channels.

use super::picture::Picture;
use super::raster::{Raster, raster};
use anyhow::Result;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// px of the layout to a metre: 96 to an inch.
const PER_METRE: f64 = 96.0 / 0.0254;

/// The content of a file.
pub fn png(picture: &Picture) -> Result<Vec<u8>> {
    let Raster { pixels, scale } = raster(picture)?;
    let (width, height) = (pixels.width(), pixels.height());

    // 8 bits of red, green and blue; deflate, filters by row, no interlace
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, 2, 0, 0, 0]);
    // as large on paper and in documents as the same picture in SVG; the last byte says metres
    let per_metre = (f64::from(scale) * PER_METRE).round() as u32;
    let mut resolution = [per_metre.to_be_bytes(), per_metre.to_be_bytes()].concat();
    resolution.push(1);

    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.data().chunks_exact(4 * width as usize) {
        // no filter: most of a row is of one colour
        let mut bytes = vec![0];
        bytes.extend(row.chunks_exact(4).flat_map(|pixel| &pixel[..3]));
        rows.write_all(&bytes)?;
    }

    let mut out = SIGNATURE.to_vec();
    push_chunk(&mut out, b"IHDR", &header);
    push_chunk(&mut out, b"pHYs", &resolution);
    push_chunk(&mut out, b"IDAT", &rows.finish()?);
    push_chunk(&mut out, b"IEND", &[]);
    Ok(out)
}

fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend((content.len() as u32).to_be_bytes());
    let mut sum = Crc::new();
    for part in [&name[..], content] {
        sum.update(part);
        out.extend(part);
    }
    out.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::picture::Shape;
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    /// Bit by bit, as the standard defines it.
    fn check_sum(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |sum: u32, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 })
        })
    }

    #[test]
    fn the_file_is_as_the_standard_says() {
        let shapes = vec![Shape::path("grid", "M0 1h3")];
        let file = png(&Picture { name: String::new(), width: 3.0, height: 2.0, shapes }).unwrap();
        let (signature, mut rest) = file.split_at(8);
        assert_eq!(signature, b"\x89PNG\r\n\x1a\n");
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            let (chunk, after) = rest[4..].split_at(4 + length);
            assert_eq!(after[..4], check_sum(chunk).to_be_bytes());
            chunks.push((&chunk[..4], &chunk[4..]));
            rest = &after[4..];
        }
        assert_eq!(chunks[0], (&b"IHDR"[..], &[0, 0, 0, 6, 0, 0, 0, 4, 8, 2, 0, 0, 0][..]));
        // 192 pixels to an inch of 0.0254 m are 7559 to a metre
        assert_eq!(chunks[1], (&b"pHYs"[..], &[0, 0, 0x1d, 0x87, 0, 0, 0x1d, 0x87, 1][..]));
        assert_eq!((chunks[2].0, chunks[3]), (&b"IDAT"[..], (&b"IEND"[..], &[][..])));
        let mut rows = Vec::new();
        ZlibDecoder::new(chunks[2].1).read_to_end(&mut rows).unwrap();
        // a line of 1 px takes the two rows in the middle
        let row = |color: u8| [&[0][..], &[color; 18]].concat();
        assert_eq!(rows, [row(255), row(0xe4), row(0xe4), row(255)].concat());
    }
}
