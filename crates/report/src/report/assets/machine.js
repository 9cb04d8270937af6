// The machine: poses of its links at any time, and what is drawn of a link. Poses are data; nothing is computed but
// rotations between frames.

const machine = (() => {
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
    const size = 7 * links.length,
      a = frame * size + 7 * link,
      b = u > 0 ? a + size : a;
    const p = [0, 1, 2].map((k) => toX[k](raw[a + k] * (1 - u) + raw[b + k] * u));
    const qa = [3, 4, 5, 6].map((k) => 2 * raw[a + k] - 1),
      qb = [3, 4, 5, 6].map((k) => 2 * raw[b + k] - 1);
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
  const world = {
    p: [0, 0, 0],
    R: [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ],
  };
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
    for (const a of [-1, 1])
      for (const b of [-1, 1])
        for (const c of [-1, 1])
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
      link.rim = [1, -1]
        .flatMap((s) => [times3(link.spoke, s), times3(cross(link.axis, link.spoke), s)])
        .map((v) => add(link.center, v));
    }
    // joints it carries, and points at which loops close
    link.children = links
      .filter((other) => other.parent === i && !isFrame(other))
      .map((other) => other.at)
      .concat(link.closes);
    // a rod ends at the far end of its longest edge; what nothing hangs on draws a trail with its end or centre
    const edges = (link.box || []).slice().sort((a, b) => Math.hypot(...b) - Math.hypot(...a));
    link.thick = edges.length ? 2 * Math.hypot(...edges[1]) : 0;
    link.isRod = edges.length > 0 && link.thick < 0.08 * Math.hypot(...edges[0]);
    const ends = link.isRod ? [add(link.center, edges[0]), sub(link.center, edges[0])] : [link.center];
    const end = ends.reduce((a, b) => (dot(b, b) > dot(a, a) ? b : a));
    link.tip = link.children.length || link.isDisc ? null : end;
    const curve = data.panels
      .filter((panel) => panel.ofJoints)
      .flatMap((panel) => panel.curves)
      .find((c) => c.owner === link.joint);
    link.color = curve && !isFrame(link) ? curve.color : i;
  });
  // A drivetrain: wheels in one place, told apart by standing side by side, with what ties them between.
  const isTrain =
    links.length > 1 &&
    links.every(
      (link) =>
        link.isDisc &&
        link.parent < 0 &&
        Math.hypot(...sub(link.at, links[0].at)) < 0.5 * Math.min(...links.map((other) => other.disc)),
    );
  const middle = (poses) =>
    times3(links.map((link, i) => place(poses[i], link.center)).reduce(add, [0, 0, 0]), 1 / Math.max(links.length, 1));

  // The stop on which a resting joint lies: at a slide the nearer place, otherwise the wall along its bone.
  const nearest = (link, pose, parent) => {
    const far = (stop) => {
      if (!stop.along) return Math.hypot(...sub(place(parent, stop.at), pose.p));
      const bone = link.children.concat([link.center]).reduce((a, b) => (dot(b, b) > dot(a, a) ? b : a));
      const d = turn(pose, bone),
        wall = turn(parent, stop.along);
      return -dot(d, wall);
    };
    return link.stops.reduce((a, b) => (far(b) < far(a) ? b : a));
  };

  // Everything there is to see at one instant.
  const pointsOf = (poses) =>
    links.flatMap((link, i) => [
      place(poses[i], link.center),
      poses[i].p,
      ...link.corners.map((c) => place(poses[i], c)),
      ...(link.rim || []).map((c) => place(poses[i], c)),
      ...(isFrame(link) ? [] : [place(parentOf(poses, i), link.at)]),
      ...(link.rail || []).map((c) => place(parentOf(poses, i), c)),
      ...(link.kind === "prismatic" ? link.stops : []).map((stop) => place(parentOf(poses, i), stop.at)),
    ]);
  return {
    links,
    times,
    isTrain,
    planar,
    isFrame,
    vectors: { add, sub, times3, dot, cross },
    poses: { poseAt, posesAt, parentOf, turn, place },
    middle,
    nearest,
    pointsOf,
  };
})();
