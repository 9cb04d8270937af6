// What every part of the page needs: the data, numbers in it, canvases, which joints are stuck.

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
  let low = 0,
    high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

// A canvas as large as it is shown, in CSS pixels.
const fitted = (canvas) => {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const width = canvas.clientWidth,
    height = canvas.clientHeight;
  const w = Math.round(width * ratio),
    h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
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

const sayStuck = (t) => {
  const now = $("now");
  if (!now) return;
  const stuck = data.phases.filter((phase) => isStuck(phase.joint, t)).map((phase) => phase.joint);
  now.textContent = stuck.length ? `stuck now: ${stuck.slice(0, 4).join(", ")}${stuck.length > 4 ? ", …" : ""}` : "";
};
