// The curves: a panel for each quantity, one axis of time, a cursor that is everywhere at once.

const curves = (() => {
  const LEFT = 54,
    RIGHT = 12,
    TOP = 6,
    BOTTOM = 24,
    MOST_SHADED = 3;
  const [from, to] = data.window;
  const panels = [];
  let onTime = () => {};
  let isPlaying = () => false;

  const make = (tag, className, parent, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
  };
  const valueText = (x) => {
    if (x === null) return "–";
    const size = Math.abs(x);
    const text =
      size !== 0 && (size < 1e-3 || size >= 1e5)
        ? x.toExponential(2)
        : x.toFixed(clamp(3 - Math.floor(Math.log10(size || 1)), 0, 4));
    return text.replaceAll("-", "−").replace("e+", "e");
  };
  const dashOf = (k) => data.dashes[Math.floor(k / data.light.length) % data.dashes.length];

  const prepare = (curve) => {
    curve.t = numbers(curve.t).map(between(data.start, data.end));
    curve.x = floats(curve.x);
    curve.isOn = true;
  };
  // Value at a time, on the line that is drawn; null where there is none.
  const valueAt = (curve, t) => {
    const k = lastBefore(curve.t, t);
    if (k < 0) return curve.t.length ? curve.x[0] : null;
    if (k + 1 >= curve.t.length) return curve.x[k];
    if (curve.ends.includes(k + 1)) return t > curve.t[k] ? null : curve.x[k];
    const length = curve.t[k + 1] - curve.t[k];
    return length > 0 ? curve.x[k] + ((curve.x[k + 1] - curve.x[k]) * (t - curve.t[k])) / length : curve.x[k];
  };

  const frameOf = (canvas) => {
    const view = fitted(canvas);
    view.inner = Math.max(view.width - LEFT - RIGHT, 1);
    view.xOf = (t) => LEFT + (view.inner * (t - from)) / (to - from);
    view.bottom = view.height - BOTTOM;
    return view;
  };
  const timeAxis = ({ pen, width, xOf, bottom, height }, grid, soft) => {
    pen.strokeStyle = grid;
    pen.fillStyle = soft;
    pen.lineWidth = 1;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    const ticks = width < 480 ? data.fewTicks : data.ticks;
    ticks.forEach(([t, label], k) => {
      const x = xOf(t),
        text = k + 1 < ticks.length ? label : `${label}${data.factor} s`;
      pen.beginPath();
      pen.moveTo(x, TOP);
      pen.lineTo(x, bottom);
      pen.stroke();
      // the last has the unit and stays within
      pen.fillText(text, Math.min(x, width - pen.measureText(text).width / 2 - 1), height - 8);
    });
  };
  // Spans as bars. Where they are finer than pixels, columns are as dense as the spans in them.
  const bars = ({ pen, xOf, inner }, spans, top, height) => {
    const fine = spans.filter(([a], k) => k > 0 && xOf(a) - xOf(spans[k - 1][1]) < 0.5).length > 20;
    if (!fine) {
      for (const [a, b] of spans) pen.fillRect(xOf(a), top, Math.max(xOf(b) - xOf(a), 0.6), height);
      return;
    }
    const covered = new Float64Array(Math.ceil(inner)),
      full = pen.globalAlpha;
    for (const span of spans) {
      const [a, b] = span.map((t) => clamp(xOf(t) - LEFT, 0, covered.length));
      for (let k = Math.floor(a); k < b; k++) covered[k] += Math.min(b, k + 1) - Math.max(a, k);
    }
    covered.forEach((part, k) => {
      pen.globalAlpha = full * Math.min(part, 1);
      pen.fillRect(LEFT + k, top, 1, height);
    });
    pen.globalAlpha = full;
  };

  const drawPanel = (panel) => {
    const view = frameOf(panel.canvas),
      { pen, inner, xOf, bottom } = view;
    const soft = css("--soft"),
      grid = css("--grid"),
      line = css("--line");
    const yOf = (x) => bottom - ((bottom - TOP) * (x - panel.low)) / (panel.high - panel.low);
    pen.font = "12px system-ui, sans-serif";
    const joints = panel.ofJoints
      ? data.phases.filter((phase) => panel.curves.some((c) => c.owner === phase.joint && c.isOn))
      : [];
    const hueOf = (phase) => color(panel.curves.find((c) => c.owner === phase.joint).color);
    const shaded = joints.filter((phase) => phase.stuck.length);
    if (shaded.length <= MOST_SHADED)
      for (const phase of shaded) {
        pen.globalAlpha = darkness.matches ? 0.22 : 0.14;
        pen.fillStyle = hueOf(phase);
        bars(view, phase.stuck, TOP, bottom - TOP);
      }
    pen.globalAlpha = 1;
    timeAxis(view, grid, soft);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const [x, label] of panel.ticks) {
      const y = yOf(x);
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(LEFT + inner, y);
      pen.stroke();
      pen.fillText(label, LEFT - 7, y);
    }
    pen.strokeStyle = line;
    pen.strokeRect(LEFT, TOP, inner, bottom - TOP);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP - 1, inner, bottom - TOP + 2);
    pen.clip();
    for (const phase of joints) {
      pen.strokeStyle = hueOf(phase);
      pen.lineWidth = 1;
      pen.beginPath();
      for (const t of phase.changes) {
        pen.moveTo(xOf(t), bottom);
        pen.lineTo(xOf(t), bottom - 6);
      }
      pen.stroke();
    }
    pen.lineJoin = "round";
    // of many joints, each curve has its own shade while its joint is stuck
    if (shaded.length > MOST_SHADED) {
      pen.lineWidth = 8;
      pen.lineCap = "butt";
      pen.globalAlpha = darkness.matches ? 0.3 : 0.2;
      for (const curve of panel.curves) {
        const phase = shaded.find((phase) => phase.joint === curve.owner);
        if (!curve.isOn || !phase) continue;
        pen.strokeStyle = color(curve.color);
        pen.beginPath();
        for (const [a, b] of phase.stuck) {
          const [first, last] = [valueAt(curve, a), valueAt(curve, b)];
          if (first === null || last === null) continue;
          pen.moveTo(xOf(a), yOf(first));
          for (let k = lastBefore(curve.t, a) + 1; k < curve.t.length && curve.t[k] < b; k++)
            pen.lineTo(xOf(curve.t[k]), yOf(curve.x[k]));
          pen.lineTo(xOf(b), yOf(last));
        }
        pen.stroke();
      }
      pen.globalAlpha = 1;
    }
    // stops
    pen.lineWidth = 1;
    pen.setLineDash([6, 4]);
    for (const curve of panel.curves) {
      if (!curve.isOn || !curve.bounds.length) continue;
      pen.strokeStyle = color(curve.color);
      pen.beginPath();
      for (const bound of curve.bounds) {
        pen.moveTo(LEFT, yOf(bound));
        pen.lineTo(LEFT + inner, yOf(bound));
      }
      pen.stroke();
    }
    pen.lineWidth = 1.6;
    pen.lineCap = "round";
    for (const curve of panel.curves) {
      if (!curve.isOn) continue;
      pen.strokeStyle = color(curve.color);
      pen.setLineDash(dashOf(curve.color));
      pen.beginPath();
      let begin = 0;
      for (const end of curve.ends) {
        for (let k = begin; k < end; k++) {
          if (k === begin) {
            pen.moveTo(xOf(curve.t[k]), yOf(curve.x[k]));
            if (end - begin === 1) pen.lineTo(xOf(curve.t[k]) + 0.1, yOf(curve.x[k]));
          } else pen.lineTo(xOf(curve.t[k]), yOf(curve.x[k]));
        }
        begin = end;
      }
      pen.stroke();
    }
    pen.restore();
  };
  // Rows that are filled while a joint is stuck.
  const drawRows = (panel) => {
    const view = frameOf(panel.canvas),
      { pen, inner, bottom } = view;
    const soft = css("--soft"),
      grid = css("--grid"),
      raised = css("--raised");
    pen.font = "12px system-ui, sans-serif";
    const high = (bottom - TOP) / panel.rows.length,
      thick = Math.min(high * 0.72, 20);
    // the grid lies between the rows and what fills them
    pen.fillStyle = raised;
    panel.rows.forEach((_, k) => pen.fillRect(LEFT, TOP + high * (k + 0.5) - thick / 2, inner, thick));
    timeAxis(view, grid, soft);
    panel.rows.forEach((phase, k) => {
      const y = TOP + high * (k + 0.5);
      pen.fillStyle = color(phase.color);
      bars(view, phase.stuck, y - thick / 2, thick);
      if (high < 11) return;
      let name = phase.name || phase.joint;
      while (name.length > 2 && pen.measureText(name).width > LEFT - 8)
        name = `${name.slice(0, name.endsWith("…") ? -2 : -1)}…`;
      pen.fillStyle = soft;
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText(name, LEFT - 5, y);
    });
  };

  const addPlot = (panel, box, draw) => {
    const plot = make("div", "plot", box);
    panel.canvas = make("canvas", "", plot);
    panel.cursor = make("div", "cursor", plot);
    panel.draw = () => draw(panel);
    let pressed = false;
    const go = (e) => {
      const box = panel.canvas.getBoundingClientRect();
      onTime(from + ((to - from) * (e.clientX - box.left - LEFT)) / Math.max(box.width - LEFT - RIGHT, 1), pressed);
    };
    plot.addEventListener("pointerdown", (e) => {
      pressed = true;
      plot.setPointerCapture(e.pointerId);
      go(e);
    });
    plot.addEventListener("pointermove", (e) => {
      if (pressed || (e.pointerType === "mouse" && !isPlaying())) go(e);
    });
    for (const end of ["pointerup", "pointercancel"])
      plot.addEventListener(end, () => {
        pressed = false;
      });
    new ResizeObserver(() => {
      panel.draw();
      moveOne(panel, shown);
    }).observe(panel.canvas);
    panels.push(panel);
  };
  const moveOne = (panel, t) => {
    const inner = panel.canvas.clientWidth - LEFT - RIGHT;
    panel.cursor.style.height = `${panel.canvas.clientHeight - BOTTOM - TOP}px`;
    panel.cursor.style.transform = `translateX(${(LEFT + (inner * (t - from)) / (to - from)).toFixed(2)}px)`;
    for (const curve of panel.curves || []) if (curve.value) curve.value.textContent = valueText(valueAt(curve, t));
  };

  let shown = data.start;
  for (const panel of data.panels) {
    const box = make("div", "panel", $("panels"));
    const head = make("h2", "", box, panel.title);
    if (panel.unit) {
      head.append(" ");
      make("small", "", head, panel.unit);
    }
    const legend = make("div", "legend", box);
    for (const curve of panel.curves) {
      prepare(curve);
      const name = make("button", "name", legend);
      name.type = "button";
      name.title = "hide or show";
      const swatch = document.createElement("canvas");
      swatch.style.cssText = "width:20px;height:4px";
      swatch.width = 40;
      swatch.height = 8;
      name.appendChild(swatch);
      curve.swatch = () => {
        const pen = swatch.getContext("2d");
        pen.clearRect(0, 0, 40, 8);
        pen.strokeStyle = color(curve.color);
        pen.lineWidth = 5;
        pen.setLineDash(dashOf(curve.color).map((d) => 2 * d));
        pen.beginPath();
        pen.moveTo(0, 4);
        pen.lineTo(40, 4);
        pen.stroke();
      };
      if (curve.label) make("span", "", name, curve.label);
      curve.value = make("b", "", name);
      name.onclick = () => {
        curve.isOn = !curve.isOn;
        name.classList.toggle("off", !curve.isOn);
        panel.draw();
      };
    }
    if (panel.leftOut) make("span", "", legend, `… and ${panel.leftOut} more`);
    addPlot(panel, box, drawPanel);
  }
  const rows = data.phases
    .filter((phase) => phase.stuck.length)
    .concat(data.contacts.map((phase) => ({ ...phase, name: `${phase.joint} stop` })));
  if (rows.length) {
    const box = make("div", "panel", $("panels"));
    make("h2", "", box, "stuck");
    const legend = make("div", "legend", box);
    rows.forEach((phase, k) => {
      const curve = data.panels
        .filter((panel) => panel.ofJoints)
        .flatMap((panel) => panel.curves)
        .find((c) => c.owner === phase.joint);
      phase.color = curve ? curve.color : k;
      const name = make("span", "name", legend);
      phase.mark = make("i", "", name);
      phase.mark.style.cssText = "width:10px;height:10px;border-radius:2px";
      const total = phase.stuck.reduce((sum, span) => sum + span[1] - span[0], 0);
      make("span", "", name, phase.name || phase.joint);
      make("b", "", name, `${((100 * total) / (to - from)).toFixed(1)} %`);
    });
    addPlot({ rows }, box, drawRows);
    panels[panels.length - 1].canvas.style.height = `${clamp(TOP + BOTTOM + 24 * rows.length, 78, 260)}px`;
  }
  const redraw = () => {
    for (const panel of panels) {
      (panel.curves || []).forEach((curve) => curve.swatch());
      panel.draw();
    }
    rows.forEach((phase) => {
      phase.mark.style.background = color(phase.color);
    });
  };
  redraw();
  return {
    redraw,
    move: (t) => {
      shown = t;
      panels.forEach((panel) => moveOne(panel, t));
    },
    connect: (set, playing) => {
      onTime = set;
      isPlaying = playing;
    },
  };
})();
