// The machine on its canvas: camera, drawing, looking from elsewhere.

const stage = (() => {
  const canvas = $("scene");
  const { links, times, isTrain, planar, isFrame, middle, nearest, pointsOf } = machine;
  const { add, sub, times3, dot, cross } = machine.vectors;
  const { poseAt, posesAt, parentOf, turn, place } = machine.poses;

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
    const whole = [right, up, toward].map(() => [Infinity, -Infinity]),
      around = [0, 0],
      travel = [0, 0, 0].map(() => [Infinity, -Infinity]);
    const widen = (range, x) => {
      range[0] = Math.min(range[0], x);
      range[1] = Math.max(range[1], x);
    };
    const stride = Math.max(1, Math.floor(times.length / 300));
    for (let frame = 0; frame < times.length; frame += stride) {
      const poses = links.map((_, i) => poseAt(i, frame, 0)),
        center = middle(poses);
      [right, up, toward].forEach((axis, k) => widen(travel[k], dot(center, axis)));
      for (const point of pointsOf(poses)) {
        [right, up, toward].forEach((axis, k) => widen(whole[k], dot(point, axis)));
        const off = sub(point, center);
        around[0] = Math.max(around[0], Math.abs(dot(off, right)), planar ? 0 : Math.abs(dot(off, toward)));
        around[1] = Math.max(around[1], Math.abs(dot(off, up)));
      }
    }
    const center = [0, 1, 2].map((k) =>
      [right, up, toward].reduce((sum, axis, j) => sum + (axis[k] * (whole[j][0] + whole[j][1])) / 2, 0),
    );
    const size = Math.hypot(...around),
      far = Math.hypot(...travel.map((range) => range[1] - range[0]));
    // the median length of what is drawn of a link
    const lengths = links
      .map((link) => Math.max(...[link.center, ...link.corners, ...link.children].map((c) => Math.hypot(...c))))
      .sort((a, b) => a - b);
    const bone = lengths[lengths.length >> 1] || Infinity;
    return {
      bone,
      center,
      half: [(whole[0][1] - whole[0][0]) / 2, (whole[1][1] - whole[1][0]) / 2],
      around,
      roams: size > 0 && far > 8 * size,
    };
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
    const units = [
      [1e3, "km"],
      [1, "m"],
      [1e-3, "mm"],
      [1e-6, "µm"],
      [1e-9, "nm"],
    ];
    const [scale, name] = units.find(([scale]) => x >= scale * 0.999) || units[4];
    return `${Number((x / scale).toPrecision(3))} ${name}`;
  };

  const drawTrain = drivetrain(canvas, axes);
  let shown = data.start;
  const draw = (t) => {
    shown = t;
    if (isTrain) return drawTrain(t);
    const { pen, width, height } = fitted(canvas);
    if (!links.length || !width) return;
    const poses = posesAt(t),
      { right, up, toward } = axes();
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
    const ink = css("--text"),
      soft = css("--soft"),
      metal = css("--metal"),
      paper = css("--raised"),
      held = css("--stuck"),
      grid = css("--line");
    const line = (points, style, thickness, dash = []) => {
      pen.beginPath();
      points.forEach((p, k) => (k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])));
      pen.strokeStyle = style;
      pen.lineWidth = thickness;
      pen.setLineDash(dash);
      pen.stroke();
      pen.setLineDash([]);
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
        const a = times3(gx, k * step),
          b = times3(gy, k * step),
          reach = lines * step;
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
      const direction = see(place(parent, link.at)),
        ahead = see(add(place(parent, link.at), turn(poses[i], link.axis)));
      const d = [ahead[0] - direction[0], ahead[1] - direction[1]],
        n = Math.hypot(...d) || 1;
      const over = 34,
        e = [(d[0] / n) * over, (d[1] / n) * over];
      line(
        [
          [a[0] - e[0], a[1] - e[1]],
          [b[0] + e[0], b[1] + e[1]],
        ],
        grid,
        6,
      );
    });
    // stops: walls with hatching outside, in the colour of what is stuck while the joint rests on them
    links.forEach((link, i) => {
      const parent = parentOf(poses, i),
        isResting = isWithin(contactOf.get(link.joint), t);
      for (const stop of link.stops) {
        const at = see(place(parent, stop.at)),
          seen = (v) => {
            const p = see(add(place(parent, stop.at), turn(parent, v))),
              d = [p[0] - at[0], p[1] - at[1]],
              n = Math.hypot(...d);
            // seen from its end a wall is no line
            return n > 0.2 * scale ? [d[0] / n, d[1] / n] : null;
          };
        let out = seen(stop.out),
          along = stop.along ? seen(stop.along) : out && [-out[1], out[0]];
        if (!along || !out) continue;
        const isHere = isResting && (link.stops.length < 2 || stop === nearest(link, poses[i], parent));
        const [near, far] = stop.along ? [2 * unit, 2 * unit + 5.5 * unit] : [-3.2 * unit, 3.2 * unit];
        // a slide meets its stop with its front
        const side = stop.along ? 0 : Math.sign(dot(turn(parent, stop.out), turn(poses[i], link.axis)));
        const front = Math.max(0, ...link.corners.map((c) => side * dot(c, link.axis))) * scale;
        const off = stop.along ? 0.9 * unit : link.corners.length ? front : 24,
          point = (u, o) => [0, 1].map((k) => at[k] + u * along[k] + (o + off) * out[k]);
        line([point(near, 0), point(far, 0)], isHere ? held : soft, isHere ? 4 : 2.5);
        for (let u = near; u < far; u += 1.1 * unit)
          line([point(u, 0), point(u + 0.8 * unit, 1.1 * unit)], isHere ? held : soft, 1);
      }
    });
    // trails of what hangs free
    const since = t - (data.end - data.start) * 0.08;
    links.forEach((link, i) => {
      if (!link.tip || times.length < 2) return;
      const first = Math.max(lastBefore(times, since), 0),
        last = lastBefore(times, t);
      const stride = Math.max(1, Math.floor((last - first) / 90));
      const trail = [];
      for (let frame = first; frame <= last; frame += stride) trail.push(see(place(poseAt(i, frame, 0), link.tip)));
      trail.push(see(place(poses[i], link.tip)));
      pen.lineCap = "butt";
      for (let k = 1; k < trail.length; k++) {
        pen.globalAlpha = (0.5 * k) / trail.length;
        line([trail[k - 1], trail[k]], color(link.color), 2);
      }
      pen.globalAlpha = 1;
      pen.lineCap = "round";
    });
    // links, the farthest first
    const order = links
      .map((_, i) => i)
      .sort((a, b) => see(place(poses[a], links[a].center))[2] - see(place(poses[b], links[b].center))[2]);
    for (const i of order) {
      const link = links[i],
        pose = poses[i],
        hue = color(link.color);
      const origin = see(pose.p),
        center = see(place(pose, link.center));
      if (link.corners.length) {
        const outline = hull(link.corners.map((c) => see(place(pose, c))));
        pen.beginPath();
        outline.forEach((p, k) => (k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1])));
        pen.closePath();
        pen.globalAlpha = 0.22;
        pen.fillStyle = hue;
        pen.fill();
        pen.globalAlpha = 0.6;
        pen.strokeStyle = hue;
        pen.lineWidth = link.isRod ? clamp(8 - link.thick * scale, 1.5, 8) : 1.5;
        pen.stroke();
        // in space the edges tell how it is turned
        if (!planar && !link.isRod) {
          const seen = link.corners.map((c) => see(place(pose, c)));
          pen.globalAlpha = 0.4;
          for (let a = 0; a < 8; a++)
            for (const bit of [1, 2, 4]) if (!(a & bit)) line([seen[a], seen[a | bit]], hue, 1);
        }
        pen.globalAlpha = 1;
      } else if (link.kind === "prismatic") {
        // a block on its rail
        const ahead = see(add(pose.p, turn(pose, link.axis))),
          angle = Math.atan2(ahead[1] - origin[1], ahead[0] - origin[0]);
        pen.save();
        pen.translate(center[0], center[1]);
        pen.rotate(angle);
        pen.fillStyle = hue;
        pen.globalAlpha = 0.9;
        pen.fillRect(-24, -15, 48, 30);
        pen.restore();
        pen.globalAlpha = 1;
      }
      if (link.isDisc) {
        const rim = see(place(pose, add(link.center, link.spoke)));
        pen.beginPath();
        pen.arc(center[0], center[1], link.disc * scale, 0, 7);
        pen.globalAlpha = 0.22;
        pen.fillStyle = hue;
        pen.fill();
        pen.globalAlpha = 1;
        pen.strokeStyle = hue;
        pen.lineWidth = 2;
        pen.stroke();
        line([center, rim], hue, 4);
        continue;
      }
      for (const child of link.children) line([origin, see(place(pose, child))], hue, 5);
      if (link.isRod && !link.children.length) line([origin, see(place(pose, link.tip))], hue, 5);
      if (!link.corners.length || link.children.length) line([origin, center], hue, link.children.length ? 1.5 : 4);
    }
    // joints
    links.forEach((link, i) => {
      const parent = parentOf(poses, i),
        at = see(place(parent, link.at)),
        stuck = isStuck(link.joint, t);
      if (isFrame(link)) {
        // its own axes, x longest
        const c = place(poses[i], link.center);
        [
          [1, 0, 0],
          [0, 1, 0],
          [0, 0, 1],
        ].forEach((axis, k) =>
          line([see(c), see(add(c, times3(turn(poses[i], axis), (40 - 10 * k) / scale)))], ink, 2),
        );
        return;
      }
      if (link.parent < 0 && link.kind !== "prismatic")
        ground(pen, at, soft, dot(link.at, data.view.up) < dot(extents.center, data.view.up) ? -1 : 1);
      if (link.kind === "revolute") {
        if (!planar) {
          const tip = see(add(place(parent, link.at), times3(turn(poses[i], link.axis), (2.4 * unit) / scale)));
          const d = [tip[0] - at[0], tip[1] - at[1]];
          line(
            [
              [at[0] - d[0], at[1] - d[1]],
              [at[0] + d[0], at[1] + d[1]],
            ],
            ink,
            2.5,
          );
        }
        disc(pen, at, planar ? unit : 0.8 * unit, stuck ? held : paper, ink);
      } else if (link.kind === "prismatic") {
        disc(pen, see(place(poses[i], link.center)), 6, stuck ? held : paper, ink);
      } else {
        pen.fillStyle = metal;
        pen.fillRect(at[0] - 4, at[1] - 4, 8, 8);
      }
    });
    // centres of mass
    links.forEach((link, i) => {
      if (link.mass > 0 && (link.kind !== "prismatic" || link.corners.length))
        quartered(pen, see(place(poses[i], link.center)), 0.62 * unit, ink, paper);
    });

    // world axes and a length to compare with
    const names = ["x", "y", "z"],
      corner = [34, height - 34];
    [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ].forEach((axis, k) => {
      const d = [22 * dot(axis, right), -22 * dot(axis, up)];
      if (Math.hypot(...d) < 3) return;
      line([corner, [corner[0] + d[0], corner[1] + d[1]]], soft, 1.5);
      pen.fillStyle = soft;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(names[k], corner[0] + 1.45 * d[0], corner[1] + 1.45 * d[1]);
    });
    const bar = nice(150 / scale),
      bx = width - 16,
      by = height - 16;
    line(
      [
        [bx - bar * scale, by - 4],
        [bx - bar * scale, by],
        [bx, by],
        [bx, by - 4],
      ],
      soft,
      1.5,
    );
    pen.fillStyle = soft;
    pen.textAlign = "right";
    pen.textBaseline = "bottom";
    pen.fillText(lengthLabel(bar), bx, by - 6);
    sayStuck(t);
  };

  // looking from elsewhere
  let grip = null;
  canvas.addEventListener("pointerdown", (e) => {
    grip = [e.clientX, e.clientY];
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!grip) return;
    camera.yaw -= (e.clientX - grip[0]) * 0.008;
    camera.pitch = clamp(camera.pitch + (e.clientY - grip[1]) * 0.008, -1.55, 1.55);
    grip = [e.clientX, e.clientY];
    draw(shown);
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, () => {
      grip = null;
    });
  canvas.addEventListener(
    "wheel",
    (e) => {
      // the page keeps its wheel; with Ctrl, or by a pinch, it zooms
      if (!e.ctrlKey) return;
      e.preventDefault();
      camera.zoom = clamp(camera.zoom * Math.exp(-e.deltaY * 0.01), 0.02, 200);
      draw(shown);
    },
    { passive: false },
  );
  const zoom = (factor) => () => {
    camera.zoom = clamp(camera.zoom * factor, 0.02, 200);
    draw(shown);
  };
  $("closer").onclick = zoom(1.3);
  $("farther").onclick = zoom(1 / 1.3);
  $("home").onclick = () => {
    home();
    draw(shown);
  };
  $("follow").onchange = () => draw(shown);
  if (data.phases.length)
    $("key").innerHTML = '<span><i></i>moving</span><span><i class="held"></i>stuck</span><span id="now"></span>';
  new ResizeObserver(() => draw(shown)).observe(canvas);
  return { draw, redraw: () => draw(shown) };
})();
