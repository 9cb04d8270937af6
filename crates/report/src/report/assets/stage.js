// The machine: poses are data, the page projects and draws them.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const darkness = matchMedia("(prefers-color-scheme: dark)");
const color = (k) => (darkness.matches ? data.dark : data.light)[k % data.light.length];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// Numbers in base 64, low byte first: of sixteen bits, as 0 to 1, and in single precision.
const bytesOf = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const numbers = (text) => {
  const view = bytesOf(text);
  return Float64Array.from({ length: view.byteLength / 2 }, (_, k) => view.getUint16(2 * k, true) / 65535);
};
const floats = (text) => {
  const view = bytesOf(text);
  return Float64Array.from({ length: view.byteLength / 4 }, (_, k) => view.getFloat32(4 * k, true));
};
const between = (low, high) => (u) => low + (high - low) * u;

// The last index at which the sorted list is not beyond x; -1 before all.
const lastBefore = (list, x) => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= x) low = middle + 1; else high = middle;
  }
  return low - 1;
};

// A canvas as large as it is shown, in CSS pixels.
const fitted = (canvas) => {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
};

// Which joints are stuck at a time, and which rest on their stops.
const phaseOf = new Map(data.phases.map((phase) => [phase.joint, phase]));
const contactOf = new Map(data.contacts.map((phase) => [phase.joint, phase]));
const isWithin = (phase, t) => {
  if (!phase) return false;
  phase.starts = phase.starts || phase.stuck.map((span) => span[0]);
  const k = lastBefore(phase.starts, t);
  return k >= 0 && t < phase.stuck[k][1];
};
const isStuck = (joint, t) => isWithin(phaseOf.get(joint), t);

const stage = (() => {
  const canvas = $("scene");
  const links = data.links;
  const times = numbers(data.frames.times).map(between(data.start, data.end));
  const raw = numbers(data.frames.poses);
  const toX = [0, 1, 2].map((k) => between(data.frames.low[k], data.frames.high[k]));

  const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
  const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const times3 = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

  // Pose of a link: place and rotation, between the frames around t.
  const poseAt = (link, frame, u) => {
    const size = 7 * links.length, a = frame * size + 7 * link, b = u > 0 ? a + size : a;
    const p = [0, 1, 2].map((k) => toX[k](raw[a + k] * (1 - u) + raw[b + k] * u));
    const qa = [3, 4, 5, 6].map((k) => 2 * raw[a + k] - 1), qb = [3, 4, 5, 6].map((k) => 2 * raw[b + k] - 1);
    const sign = qa.reduce((sum, x, k) => sum + x * qb[k], 0) < 0 ? -1 : 1;
    const q = qa.map((x, k) => x * (1 - u) + sign * qb[k] * u);
    const norm = Math.hypot(...q) || 1;
    const [w, x, y, z] = q.map((c) => c / norm);
    const R = [
      [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ];
    return { p, R };
  };
  const world = { p: [0, 0, 0], R: [[1, 0, 0], [0, 1, 0], [0, 0, 1]] };
  const turn = (pose, v) => pose.R.map((row) => dot(row, v));
  const place = (pose, v) => add(pose.p, turn(pose, v));
  const posesAt = (t) => {
    const frame = clamp(lastBefore(times, t), 0, times.length - 1);
    const next = Math.min(frame + 1, times.length - 1);
    const length = times[next] - times[frame];
    const u = length > 0 ? clamp((t - times[frame]) / length, 0, 1) : 0;
    return links.map((_, i) => poseAt(i, frame, u));
  };
  const parentOf = (poses, i) => (links[i].parent < 0 ? world : poses[links[i].parent]);

  // Corners of the box of a link, or none.
  const corners = (link) => {
    if (!link.box) return [];
    const out = [];
    for (const a of [-1, 1]) for (const b of [-1, 1]) for (const c of [-1, 1])
      out.push(add(link.center, add(times3(link.box[0], a), add(times3(link.box[1], b), times3(link.box[2], c)))));
    return out;
  };
  const isFrame = (link) => link.kind === "free";
  const planar = data.view.planar;
  links.forEach((link, i) => {
    // seen along its axis, a wheel is a disc
    link.isDisc = planar && link.disc > 0;
    link.corners = link.isDisc ? [] : corners(link);
    if (link.isDisc) {
      const side = cross(link.axis, Math.abs(link.axis[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]);
      link.spoke = times3(side, link.disc / (Math.hypot(...side) || 1));
      link.rim = [1, -1].flatMap((s) => [times3(link.spoke, s), times3(cross(link.axis, link.spoke), s)]).map((v) => add(link.center, v));
    }
    // joints it carries, and points at which loops close
    link.children = links.filter((other) => other.parent === i && !isFrame(other)).map((other) => other.at).concat(link.closes);
    // a rod ends at the far end of its longest edge; what nothing hangs on draws a trail with its end or centre
    const edges = (link.box || []).slice().sort((a, b) => Math.hypot(...b) - Math.hypot(...a));
    link.thick = edges.length ? 2 * Math.hypot(...edges[1]) : 0;
    link.isRod = edges.length > 0 && link.thick < 0.08 * Math.hypot(...edges[0]);
    const ends = link.isRod ? [add(link.center, edges[0]), sub(link.center, edges[0])] : [link.center];
    const end = ends.reduce((a, b) => (dot(b, b) > dot(a, a) ? b : a));
    link.tip = link.children.length || link.isDisc ? null : end;
    const curve = data.panels.filter((panel) => panel.ofJoints).flatMap((panel) => panel.curves)
      .find((c) => c.owner === link.joint);
    link.color = curve && !isFrame(link) ? curve.color : i;
  });
  // A drivetrain: wheels in one place, told apart by standing side by side, with what ties them between.
  const isTrain = links.length > 1 && links.every((link) => link.isDisc && link.parent < 0 &&
    Math.hypot(...sub(link.at, links[0].at)) < 0.5 * Math.min(...links.map((other) => other.disc)));
  const middle = (poses) =>
    times3(links.map((link, i) => place(poses[i], link.center)).reduce(add, [0, 0, 0]), 1 / Math.max(links.length, 1));

  // The stop on which a resting joint lies: at a slide the nearer place, otherwise the wall along its bone.
  const nearest = (link, pose, parent) => {
    const far = (stop) => {
      if (!stop.along) return Math.hypot(...sub(place(parent, stop.at), pose.p));
      const bone = link.children.concat([link.center]).reduce((a, b) => (dot(b, b) > dot(a, a) ? b : a));
      const d = turn(pose, bone), wall = turn(parent, stop.along);
      return -dot(d, wall);
    };
    return link.stops.reduce((a, b) => (far(b) < far(a) ? b : a));
  };

  // Everything there is to see at one instant.
  const pointsOf = (poses) => links.flatMap((link, i) => [
    place(poses[i], link.center), poses[i].p,
    ...link.corners.map((c) => place(poses[i], c)),
    ...(link.rim || []).map((c) => place(poses[i], c)),
    ...(isFrame(link) ? [] : [place(parentOf(poses, i), link.at)]),
    ...(link.rail || []).map((c) => place(parentOf(poses, i), c)),
    ...(link.kind === "prismatic" ? link.stops : []).map((stop) => place(parentOf(poses, i), stop.at)),
  ]);

  // Camera: turned by yaw and pitch from the first view.
  const camera = { yaw: 0, pitch: 0, zoom: 1 };
  const home = () => Object.assign(camera, { yaw: planar ? 0 : -0.65, pitch: planar ? 0 : 0.38, zoom: 1 });
  home();
  const axes = () => {
    const { right: r, up: u, toward: n } = data.view;
    const [a, b] = [camera.yaw, camera.pitch];
    const level = add(times3(n, Math.cos(a)), times3(r, Math.sin(a)));
    const toward = add(times3(level, Math.cos(b)), times3(u, Math.sin(b)));
    const right = sub(times3(r, Math.cos(a)), times3(n, Math.sin(a)));
    return { right, toward, up: cross(toward, right) };
  };

  // How much room the motion takes, seen from home: as a whole, and around its middle.
  const extents = (() => {
    const { right, up, toward } = axes();
    const whole = [right, up, toward].map(() => [Infinity, -Infinity]), around = [0, 0], travel = [0, 0, 0].map(() => [Infinity, -Infinity]);
    const widen = (range, x) => { range[0] = Math.min(range[0], x); range[1] = Math.max(range[1], x); };
    const stride = Math.max(1, Math.floor(times.length / 300));
    for (let frame = 0; frame < times.length; frame += stride) {
      const poses = links.map((_, i) => poseAt(i, frame, 0)), center = middle(poses);
      [right, up, toward].forEach((axis, k) => widen(travel[k], dot(center, axis)));
      for (const point of pointsOf(poses)) {
        [right, up, toward].forEach((axis, k) => widen(whole[k], dot(point, axis)));
        const off = sub(point, center);
        around[0] = Math.max(around[0], Math.abs(dot(off, right)), planar ? 0 : Math.abs(dot(off, toward)));
        around[1] = Math.max(around[1], Math.abs(dot(off, up)));
      }
    }
    const center = [0, 1, 2].map((k) =>
      [right, up, toward].reduce((sum, axis, j) => sum + axis[k] * (whole[j][0] + whole[j][1]) / 2, 0));
    const size = Math.hypot(...around), far = Math.hypot(...travel.map((range) => range[1] - range[0]));
    // the median length of what is drawn of a link
    const lengths = links.map((link) => Math.max(...[link.center, ...link.corners, ...link.children].map((c) => Math.hypot(...c)))).sort((a, b) => a - b);
    const bone = lengths[lengths.length >> 1] || Infinity;
    return { bone, center, half: [(whole[0][1] - whole[0][0]) / 2, (whole[1][1] - whole[1][0]) / 2], around, roams: size > 0 && far > 8 * size };
  })();
  if (isTrain) $("viewbar").hidden = true;
  $("follow").checked = extents.roams && links.some(isFrame);
  $("follow").parentElement.hidden = !extents.roams && !links.some(isFrame);

  // what moves along a line needs no height
  if (planar && extents.half[1] < 0.1 * extents.half[0]) canvas.style.height = "210px";
  canvas.style.touchAction = planar ? "pan-y" : "none";

  const nice = (x) => {
    const power = 10 ** Math.floor(Math.log10(x));
    return [5, 2, 1].map((digit) => digit * power).find((step) => step <= x) || power;
  };
  const lengthLabel = (x) => {
    const units = [[1e3, "km"], [1, "m"], [1e-3, "mm"], [1e-6, "µm"], [1e-9, "nm"]];
    const [scale, name] = units.find(([scale]) => x >= scale * 0.999) || units[4];
    return `${Number((x / scale).toPrecision(3))} ${name}`;
  };

  const drawTrain = (t) => {
    const { pen, width, height } = fitted(canvas);
    if (!width) return;
    const poses = posesAt(t), { right, up } = axes();
    const ink = css("--text"), soft = css("--soft"), paper = css("--raised"), held = css("--stuck");
    const columns = clamp(Math.floor(width / 96), 1, links.length), rows = Math.ceil(links.length / columns);
    const cell = [width / columns, (height - 24) / rows], most = Math.max(...links.map((link) => link.disc));
    // what ties wheels that are no neighbours passes over the others, which leave it room
    const passes = (i, j) => Math.abs(i - j) !== 1 || Math.floor(i / columns) !== Math.floor(j / columns);
    const passing = data.couplings.some((coupling) => coupling.links.some((j, k) => k > 0 && passes(coupling.links[k - 1], j)));
    const full = Math.min(0.3 * cell[0], (passing ? 0.22 : 0.28) * cell[1]), low = passing ? 0.66 : 0.5;
    const at = links.map((_, i) => [(i % columns + 0.5) * cell[0], 12 + (Math.floor(i / columns) + low) * cell[1]]);
    const radius = links.map((link) => full * clamp(Math.sqrt(link.disc / most), 0.45, 1));
    const stroke = (style, thickness, path) => { pen.strokeStyle = style; pen.lineWidth = thickness; pen.beginPath(); path(); pen.stroke(); };
    pen.lineCap = pen.lineJoin = "round"; pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center";
    // arcs that pass over wheels rise one above the other, named once where they are highest
    const rise = clamp((at[0][1] - 1.25 * full - 52) / 4, 4, 26);
    let arcs = 0;
    // names stand where no wheel and no other name is, on a ground of their own
    const boxes = [], labels = [];
    const boxOf = (text, x, y) => { const half = pen.measureText(text).width / 2 + 2; return [x - half, y - 8, x + half, y + 8]; };
    const isFree = (box) => boxes.every((b) => box[2] < b[0] || b[2] < box[0] || box[3] < b[1] || b[3] < box[1]);
    const nameAt = (text, x, y, style) => { boxes.push(boxOf(text, x, y)); labels.push([text, x, y, style]); };
    links.forEach((link, i) => {
      const [x, y] = at[i];
      boxes.push([x - radius[i], y - radius[i], x + radius[i], y + radius[i] + 12]);
      nameAt(link.joint, x, y + radius[i] + 23, ink);
    });
    for (const coupling of data.couplings) {
      const stuck = isStuck(coupling.name, t), slips = /Clutch|Brake/.test(coupling.kind);
      if (coupling.links.length < 2) {
        // a brake: a shoe under its wheel
        const [i] = coupling.links;
        if (i === undefined) continue;
        stroke(stuck ? held : soft, 7, () => pen.arc(at[i][0], at[i][1], radius[i] + (stuck ? 5 : 9), 0.3 * Math.PI, 0.7 * Math.PI));
        continue;
      }
      for (let k = 1; k < coupling.links.length; k++) {
        const [a, b] = [coupling.links[k - 1], coupling.links[k]].map((i) => at[i]);
        const far = passes(coupling.links[k - 1], coupling.links[k]);
        const top = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2 - (far ? 1.25 * full + 6 + rise * (arcs++ % 5) : 0)];
        const bend = [top[0], 2 * top[1] - (a[1] + b[1]) / 2];
        const along = (u) => [0, 1].map((d) => (1 - u) ** 2 * a[d] + 2 * u * (1 - u) * bend[d] + u * u * b[d]);
        stroke(soft, slips ? 2 : 3, () => { pen.moveTo(...a); pen.quadraticCurveTo(...bend, ...b); });
        if (slips) {
          // two plates, together while stuck
          const gap = stuck ? 3 : 6;
          pen.fillStyle = paper; pen.fillRect(top[0] - gap, top[1] - 14, 2 * gap, 28);
          for (const s of [-1, 1]) stroke(stuck ? held : ink, 4, () => { pen.moveTo(top[0] + s * gap, top[1] - 13); pen.lineTo(top[0] + s * gap, top[1] + 13); });
          boxes.push([top[0] - gap - 4, top[1] - 14, top[0] + gap + 4, top[1] + 14]);
        }
        if (k > 1 && !slips) continue;
        const places = slips ? [[top[0], top[1] - 24], [top[0], top[1] + 24]] : [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8].map(along);
        const [x, y] = places.find(([x, y]) => isFree(boxOf(coupling.name, x, y))) || places[0];
        nameAt(coupling.name, x, y, soft);
      }
    }
    links.forEach((link, i) => {
      const hue = color(link.color), [x, y] = at[i], spoke = turn(poses[i], link.spoke);
      const d = [dot(spoke, right) / link.disc * radius[i], -dot(spoke, up) / link.disc * radius[i]];
      pen.beginPath(); pen.arc(x, y, radius[i], 0, 7);
      pen.fillStyle = paper; pen.fill(); pen.globalAlpha = 0.22; pen.fillStyle = hue; pen.fill(); pen.globalAlpha = 1;
      stroke(hue, 2, () => pen.arc(x, y, radius[i], 0, 7));
      stroke(hue, 4, () => { pen.moveTo(x, y); pen.lineTo(x + d[0], y + d[1]); });
      disc(pen, at[i], 5, isStuck(link.joint, t) ? held : paper, ink);
    });
    pen.textBaseline = "middle";
    for (const [text, x, y, style] of labels) {
      const [left, above, right, below] = boxOf(text, x, y);
      pen.fillStyle = paper; pen.fillRect(left, above, right - left, below - above);
      pen.fillStyle = style; pen.fillText(text, x, y);
    }
    sayStuck(t);
  };
  const sayStuck = (t) => {
    const now = $("now");
    if (!now) return;
    const stuck = data.phases.filter((phase) => isStuck(phase.joint, t)).map((phase) => phase.joint);
    now.textContent = stuck.length ? `stuck now: ${stuck.slice(0, 4).join(", ")}${stuck.length > 4 ? ", …" : ""}` : "";
  };

  let shown = data.start;
  const draw = (t) => {
    shown = t;
    if (isTrain) return drawTrain(t);
    const { pen, width, height } = fitted(canvas);
    if (!links.length || !width) return;
    const poses = posesAt(t), { right, up, toward } = axes();
    const follow = $("follow").checked;
    const target = follow ? middle(poses) : extents.center;
    const half = follow ? extents.around : extents.half;
    const room = [Math.max(0.9 * width - 50, 60) / 2, Math.max(height - 112, 60) / 2];
    const fit = Math.min(room[0] / (half[0] || 1e-12), room[1] / (half[1] || 1e-12));
    const scale = (half[0] || half[1] ? fit : room[1]) * camera.zoom;
    const see = (point) => {
      const off = sub(point, target);
      return [width / 2 + scale * dot(off, right), height / 2 - scale * dot(off, up), dot(off, toward)];
    };
    // signs shrink with the links they stand on
    const unit = clamp(0.16 * extents.bone * scale, 2.6, 6.5);
    const ink = css("--text"), soft = css("--soft"), metal = css("--metal"), paper = css("--raised"), held = css("--stuck"), grid = css("--line");
    const line = (points, style, thickness, dash = []) => {
      pen.beginPath();
      points.forEach((p, k) => (k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])));
      pen.strokeStyle = style; pen.lineWidth = thickness; pen.setLineDash(dash); pen.stroke(); pen.setLineDash([]);
    };
    pen.lineCap = pen.lineJoin = "round";
    pen.font = "12px system-ui, sans-serif";

    // the floor through the world's origin, where the view is not flat
    if (!planar && !follow) {
      const { right: gx, toward: gy } = data.view;
      const step = nice(Math.max(...half, 1e-9) / 2);
      const lines = 6;
      pen.globalAlpha = 0.7;
      for (let k = -lines; k <= lines; k++) {
        const a = times3(gx, k * step), b = times3(gy, k * step), reach = lines * step;
        line([see(add(a, times3(gy, -reach))), see(add(a, times3(gy, reach)))], grid, 1);
        line([see(add(b, times3(gx, -reach))), see(add(b, times3(gx, reach)))], grid, 1);
      }
      pen.globalAlpha = 1;
    }
    // rails of sliding joints
    links.forEach((link, i) => {
      if (!link.rail) return;
      const parent = parentOf(poses, i);
      const [a, b] = link.rail.map((c) => see(place(parent, c)));
      const direction = see(place(parent, link.at)), ahead = see(add(place(parent, link.at), turn(poses[i], link.axis)));
      const d = [ahead[0] - direction[0], ahead[1] - direction[1]], n = Math.hypot(...d) || 1;
      const over = 34, e = [d[0] / n * over, d[1] / n * over];
      line([[a[0] - e[0], a[1] - e[1]], [b[0] + e[0], b[1] + e[1]]], grid, 6);
    });
    // stops: walls with hatching outside, in the colour of what is stuck while the joint rests on them
    links.forEach((link, i) => {
      const parent = parentOf(poses, i), isResting = isWithin(contactOf.get(link.joint), t);
      for (const stop of link.stops) {
        const at = see(place(parent, stop.at)), seen = (v) => {
          const p = see(add(place(parent, stop.at), turn(parent, v))), d = [p[0] - at[0], p[1] - at[1]], n = Math.hypot(...d);
          // seen from its end a wall is no line
          return n > 0.2 * scale ? [d[0] / n, d[1] / n] : null;
        };
        let out = seen(stop.out), along = stop.along ? seen(stop.along) : out && [-out[1], out[0]];
        if (!along || !out) continue;
        const isHere = isResting && (link.stops.length < 2 || stop === nearest(link, poses[i], parent));
        const [near, far] = stop.along ? [2 * unit, 2 * unit + 5.5 * unit] : [-3.2 * unit, 3.2 * unit];
        // a slide meets its stop with its front
        const side = stop.along ? 0 : Math.sign(dot(turn(parent, stop.out), turn(poses[i], link.axis)));
        const front = Math.max(0, ...link.corners.map((c) => side * dot(c, link.axis))) * scale;
        const off = stop.along ? 0.9 * unit : link.corners.length ? front : 24, point = (u, o) => [0, 1].map((k) => at[k] + u * along[k] + (o + off) * out[k]);
        line([point(near, 0), point(far, 0)], isHere ? held : soft, isHere ? 4 : 2.5);
        for (let u = near; u < far; u += 1.1 * unit) line([point(u, 0), point(u + 0.8 * unit, 1.1 * unit)], isHere ? held : soft, 1);
      }
    });
    // trails of what hangs free
    const since = t - (data.end - data.start) * 0.08;
    links.forEach((link, i) => {
      if (!link.tip || times.length < 2) return;
      const first = Math.max(lastBefore(times, since), 0), last = lastBefore(times, t);
      const stride = Math.max(1, Math.floor((last - first) / 90));
      const trail = [];
      for (let frame = first; frame <= last; frame += stride) trail.push(see(place(poseAt(i, frame, 0), link.tip)));
      trail.push(see(place(poses[i], link.tip)));
      pen.lineCap = "butt";
      for (let k = 1; k < trail.length; k++) {
        pen.globalAlpha = 0.5 * k / trail.length;
        line([trail[k - 1], trail[k]], color(link.color), 2);
      }
      pen.globalAlpha = 1; pen.lineCap = "round";
    });
    // links, the farthest first
    const order = links.map((_, i) => i).sort((a, b) => see(place(poses[a], links[a].center))[2] - see(place(poses[b], links[b].center))[2]);
    for (const i of order) {
      const link = links[i], pose = poses[i], hue = color(link.color);
      const origin = see(pose.p), center = see(place(pose, link.center));
      if (link.corners.length) {
        const outline = hull(link.corners.map((c) => see(place(pose, c))));
        pen.beginPath();
        outline.forEach((p, k) => (k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])));
        pen.closePath();
        pen.globalAlpha = 0.22; pen.fillStyle = hue; pen.fill();
        pen.globalAlpha = 0.6; pen.strokeStyle = hue; pen.lineWidth = link.isRod ? clamp(8 - link.thick * scale, 1.5, 8) : 1.5; pen.stroke();
        // in space the edges tell how it is turned
        if (!planar && !link.isRod) {
          const seen = link.corners.map((c) => see(place(pose, c)));
          pen.globalAlpha = 0.4;
          for (let a = 0; a < 8; a++) for (const bit of [1, 2, 4]) if (!(a & bit)) line([seen[a], seen[a | bit]], hue, 1);
        }
        pen.globalAlpha = 1;
      } else if (link.kind === "prismatic") {
        // a block on its rail
        const ahead = see(add(pose.p, turn(pose, link.axis))), angle = Math.atan2(ahead[1] - origin[1], ahead[0] - origin[0]);
        pen.save(); pen.translate(center[0], center[1]); pen.rotate(angle);
        pen.fillStyle = hue; pen.globalAlpha = 0.9; pen.fillRect(-24, -15, 48, 30);
        pen.restore(); pen.globalAlpha = 1;
      }
      if (link.isDisc) {
        const rim = see(place(pose, add(link.center, link.spoke)));
        pen.beginPath(); pen.arc(center[0], center[1], link.disc * scale, 0, 7);
        pen.globalAlpha = 0.22; pen.fillStyle = hue; pen.fill(); pen.globalAlpha = 1;
        pen.strokeStyle = hue; pen.lineWidth = 2; pen.stroke();
        line([center, rim], hue, 4);
        continue;
      }
      for (const child of link.children) line([origin, see(place(pose, child))], hue, 5);
      if (link.isRod && !link.children.length) line([origin, see(place(pose, link.tip))], hue, 5);
      if (!link.corners.length || link.children.length) line([origin, center], hue, link.children.length ? 1.5 : 4);
    }
    // joints
    links.forEach((link, i) => {
      const parent = parentOf(poses, i), at = see(place(parent, link.at)), stuck = isStuck(link.joint, t);
      if (isFrame(link)) {
        // its own axes, x longest
        const c = place(poses[i], link.center);
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, k) => line([see(c), see(add(c, times3(turn(poses[i], axis), (40 - 10 * k) / scale)))], ink, 2));
        return;
      }
      if (link.parent < 0 && link.kind !== "prismatic") ground(pen, at, soft, dot(link.at, data.view.up) < dot(extents.center, data.view.up) ? -1 : 1);
      if (link.kind === "revolute") {
        if (!planar) {
          const tip = see(add(place(parent, link.at), times3(turn(poses[i], link.axis), 2.4 * unit / scale)));
          const d = [tip[0] - at[0], tip[1] - at[1]];
          line([[at[0] - d[0], at[1] - d[1]], [at[0] + d[0], at[1] + d[1]]], ink, 2.5);
        }
        disc(pen, at, planar ? unit : 0.8 * unit, stuck ? held : paper, ink);
      } else if (link.kind === "prismatic") {
        disc(pen, see(place(poses[i], link.center)), 6, stuck ? held : paper, ink);
      } else {
        pen.fillStyle = metal; pen.fillRect(at[0] - 4, at[1] - 4, 8, 8);
      }
    });
    // centres of mass
    links.forEach((link, i) => { if (link.mass > 0 && (link.kind !== "prismatic" || link.corners.length)) quartered(pen, see(place(poses[i], link.center)), 0.62 * unit, ink, paper); });

    // world axes and a length to compare with
    const names = ["x", "y", "z"], corner = [34, height - 34];
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, k) => {
      const d = [22 * dot(axis, right), -22 * dot(axis, up)];
      if (Math.hypot(...d) < 3) return;
      line([corner, [corner[0] + d[0], corner[1] + d[1]]], soft, 1.5);
      pen.fillStyle = soft; pen.textAlign = "center"; pen.textBaseline = "middle";
      pen.fillText(names[k], corner[0] + 1.45 * d[0], corner[1] + 1.45 * d[1]);
    });
    const bar = nice(150 / scale), bx = width - 16, by = height - 16;
    line([[bx - bar * scale, by - 4], [bx - bar * scale, by], [bx, by], [bx, by - 4]], soft, 1.5);
    pen.fillStyle = soft; pen.textAlign = "right"; pen.textBaseline = "bottom";
    pen.fillText(lengthLabel(bar), bx, by - 6);
    sayStuck(t);
  };

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
    pen.beginPath(); pen.arc(p[0], p[1], radius, 0, 7);
    pen.fillStyle = fill; pen.fill(); pen.strokeStyle = stroke; pen.lineWidth = clamp(radius / 3, 1, 2); pen.stroke();
  };
  // The sign of a centre of mass: two quarters filled.
  const quartered = (pen, p, radius, ink, paper) => {
    disc(pen, p, radius, paper, ink);
    pen.fillStyle = ink;
    for (const from of [0, Math.PI]) { pen.beginPath(); pen.moveTo(p[0], p[1]); pen.arc(p[0], p[1], radius, from, from + Math.PI / 2); pen.fill(); }
  };
  // What holds a joint of the world: above what hangs, below what stands.
  const ground = (pen, p, ink, side) => {
    pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.beginPath();
    const y = p[1] - 13 * side;
    pen.moveTo(p[0] - 17, y); pen.lineTo(p[0] + 17, y);
    for (let k = -2; k <= 2; k++) { pen.moveTo(p[0] + 7 * k - 3, y); pen.lineTo(p[0] + 7 * k + 3, y - 7 * side); }
    pen.moveTo(p[0], p[1]); pen.lineTo(p[0], y); pen.stroke();
  };

  // looking from elsewhere
  let grip = null;
  canvas.addEventListener("pointerdown", (e) => { grip = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (!grip) return;
    camera.yaw -= (e.clientX - grip[0]) * 0.008;
    camera.pitch = clamp(camera.pitch + (e.clientY - grip[1]) * 0.008, -1.55, 1.55);
    grip = [e.clientX, e.clientY];
    draw(shown);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { grip = null; });
  canvas.addEventListener("wheel", (e) => {
    // the page keeps its wheel; with Ctrl, or by a pinch, it zooms
    if (!e.ctrlKey) return;
    e.preventDefault();
    camera.zoom = clamp(camera.zoom * Math.exp(-e.deltaY * 0.01), 0.02, 200);
    draw(shown);
  }, { passive: false });
  const zoom = (factor) => () => { camera.zoom = clamp(camera.zoom * factor, 0.02, 200); draw(shown); };
  $("closer").onclick = zoom(1.3);
  $("farther").onclick = zoom(1 / 1.3);
  $("home").onclick = () => { home(); draw(shown); };
  $("follow").onchange = () => draw(shown);
  if (data.phases.length) $("key").innerHTML = '<span><i></i>moving</span><span><i class="held"></i>stuck</span><span id="now"></span>';
  new ResizeObserver(() => draw(shown)).observe(canvas);
  return { draw, redraw: () => draw(shown) };
})();

