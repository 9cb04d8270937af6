// A drivetrain: wheels side by side, couplings between them.

const drivetrain = (canvas, axes) => {
  const { links } = machine;
  const { dot } = machine.vectors;
  const { posesAt, turn } = machine.poses;
  return (t) => {
    const { pen, width, height } = fitted(canvas);
    if (!width) return;
    const poses = posesAt(t),
      { right, up } = axes();
    const ink = css("--text"),
      soft = css("--soft"),
      paper = css("--raised"),
      held = css("--stuck");
    const columns = clamp(Math.floor(width / 96), 1, links.length),
      rows = Math.ceil(links.length / columns);
    const cell = [width / columns, (height - 24) / rows],
      most = Math.max(...links.map((link) => link.disc));
    // what ties wheels that are no neighbours passes over the others, which leave it room
    const passes = (i, j) => Math.abs(i - j) !== 1 || Math.floor(i / columns) !== Math.floor(j / columns);
    const passing = data.couplings.some((coupling) =>
      coupling.links.some((j, k) => k > 0 && passes(coupling.links[k - 1], j)),
    );
    const full = Math.min(0.3 * cell[0], (passing ? 0.22 : 0.28) * cell[1]),
      low = passing ? 0.66 : 0.5;
    const at = links.map((_, i) => [((i % columns) + 0.5) * cell[0], 12 + (Math.floor(i / columns) + low) * cell[1]]);
    const radius = links.map((link) => full * clamp(Math.sqrt(link.disc / most), 0.45, 1));
    const stroke = (style, thickness, path) => {
      pen.strokeStyle = style;
      pen.lineWidth = thickness;
      pen.beginPath();
      path();
      pen.stroke();
    };
    pen.lineCap = pen.lineJoin = "round";
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    // arcs that pass over wheels rise one above the other, named once where they are highest
    const rise = clamp((at[0][1] - 1.25 * full - 52) / 4, 4, 26);
    let arcs = 0;
    // names stand where no wheel and no other name is, on a ground of their own
    const boxes = [],
      labels = [];
    const boxOf = (text, x, y) => {
      const half = pen.measureText(text).width / 2 + 2;
      return [x - half, y - 8, x + half, y + 8];
    };
    const isFree = (box) => boxes.every((b) => box[2] < b[0] || b[2] < box[0] || box[3] < b[1] || b[3] < box[1]);
    const nameAt = (text, x, y, style) => {
      boxes.push(boxOf(text, x, y));
      labels.push([text, x, y, style]);
    };
    links.forEach((link, i) => {
      const [x, y] = at[i];
      boxes.push([x - radius[i], y - radius[i], x + radius[i], y + radius[i] + 12]);
      nameAt(link.joint, x, y + radius[i] + 23, ink);
    });
    for (const coupling of data.couplings) {
      const stuck = isStuck(coupling.name, t),
        slips = /Clutch|Brake/.test(coupling.kind);
      if (coupling.links.length < 2) {
        // a brake: a shoe under its wheel
        const [i] = coupling.links;
        if (i === undefined) continue;
        stroke(stuck ? held : soft, 7, () =>
          pen.arc(at[i][0], at[i][1], radius[i] + (stuck ? 5 : 9), 0.3 * Math.PI, 0.7 * Math.PI),
        );
        continue;
      }
      for (let k = 1; k < coupling.links.length; k++) {
        const [a, b] = [coupling.links[k - 1], coupling.links[k]].map((i) => at[i]);
        const far = passes(coupling.links[k - 1], coupling.links[k]);
        const top = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 - (far ? 1.25 * full + 6 + rise * (arcs++ % 5) : 0)];
        const bend = [top[0], 2 * top[1] - (a[1] + b[1]) / 2];
        const along = (u) => [0, 1].map((d) => (1 - u) ** 2 * a[d] + 2 * u * (1 - u) * bend[d] + u * u * b[d]);
        stroke(soft, slips ? 2 : 3, () => {
          pen.moveTo(...a);
          pen.quadraticCurveTo(...bend, ...b);
        });
        if (slips) {
          // two plates, together while stuck
          const gap = stuck ? 3 : 6;
          pen.fillStyle = paper;
          pen.fillRect(top[0] - gap, top[1] - 14, 2 * gap, 28);
          for (const s of [-1, 1])
            stroke(stuck ? held : ink, 4, () => {
              pen.moveTo(top[0] + s * gap, top[1] - 13);
              pen.lineTo(top[0] + s * gap, top[1] + 13);
            });
          boxes.push([top[0] - gap - 4, top[1] - 14, top[0] + gap + 4, top[1] + 14]);
        }
        if (k > 1 && !slips) continue;
        const places = slips
          ? [
              [top[0], top[1] - 24],
              [top[0], top[1] + 24],
            ]
          : [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(along);
        const [x, y] = places.find(([x, y]) => isFree(boxOf(coupling.name, x, y))) || places[0];
        nameAt(coupling.name, x, y, soft);
      }
    }
    links.forEach((link, i) => {
      const hue = color(link.color),
        [x, y] = at[i],
        spoke = turn(poses[i], link.spoke);
      const d = [(dot(spoke, right) / link.disc) * radius[i], (-dot(spoke, up) / link.disc) * radius[i]];
      pen.beginPath();
      pen.arc(x, y, radius[i], 0, 7);
      pen.fillStyle = paper;
      pen.fill();
      pen.globalAlpha = 0.22;
      pen.fillStyle = hue;
      pen.fill();
      pen.globalAlpha = 1;
      stroke(hue, 2, () => pen.arc(x, y, radius[i], 0, 7));
      stroke(hue, 4, () => {
        pen.moveTo(x, y);
        pen.lineTo(x + d[0], y + d[1]);
      });
      disc(pen, at[i], 5, isStuck(link.joint, t) ? held : paper, ink);
    });
    pen.textBaseline = "middle";
    for (const [text, x, y, style] of labels) {
      const [left, above, right, below] = boxOf(text, x, y);
      pen.fillStyle = paper;
      pen.fillRect(left, above, right - left, below - above);
      pen.fillStyle = style;
      pen.fillText(text, x, y);
    }
    sayStuck(t);
  };
};
