// Signs: outlines, discs, centres of mass, and the ground of a joint of the world.

// Convex outline of points (Andrew 1979).
const hull = (points) => {
  const sorted = points.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const chain = (list) => {
    const out = [];
    for (const p of list) {
      while (out.length > 1) {
        const [a, b] = out.slice(-2);
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0) break;
        out.pop();
      }
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
};
const disc = (pen, p, radius, fill, stroke) => {
  pen.beginPath();
  pen.arc(p[0], p[1], radius, 0, 7);
  pen.fillStyle = fill;
  pen.fill();
  pen.strokeStyle = stroke;
  pen.lineWidth = clamp(radius / 3, 1, 2);
  pen.stroke();
};
// The sign of a centre of mass: two quarters filled.
const quartered = (pen, p, radius, ink, paper) => {
  disc(pen, p, radius, paper, ink);
  pen.fillStyle = ink;
  for (const from of [0, Math.PI]) {
    pen.beginPath();
    pen.moveTo(p[0], p[1]);
    pen.arc(p[0], p[1], radius, from, from + Math.PI / 2);
    pen.fill();
  }
};
// What holds a joint of the world: above what hangs, below what stands.
const ground = (pen, p, ink, side) => {
  pen.strokeStyle = ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  const y = p[1] - 13 * side;
  pen.moveTo(p[0] - 17, y);
  pen.lineTo(p[0] + 17, y);
  for (let k = -2; k <= 2; k++) {
    pen.moveTo(p[0] + 7 * k - 3, y);
    pen.lineTo(p[0] + 7 * k + 3, y - 7 * side);
  }
  pen.moveTo(p[0], p[1]);
  pen.lineTo(p[0], y);
  pen.stroke();
};
