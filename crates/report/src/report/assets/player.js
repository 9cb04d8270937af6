// Time: one clock for the machine and the curves.

const span = data.end - data.start;
const SPEEDS = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 100, 1000];
// real time where a person can watch it, otherwise what takes about ten seconds
const wanted = span >= 0.5 && span <= 60 ? 1 : span / 10;
let speed = SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a));
// report.html#t=2.5 opens at that moment
const asked = Number((/[#&]t=([^&]+)/.exec(location.hash) || [])[1]);
let now = Number.isFinite(asked) ? clamp(asked, data.start, data.end) : data.start,
  playing = false,
  last = 0;

const decimals = clamp(3 - Math.floor(Math.log10(span || 1)), 0, 9);
const scrub = $("scrub");
scrub.min = data.start;
scrub.max = data.end;
for (const s of SPEEDS) {
  const option = document.createElement("option");
  option.value = s;
  option.textContent = `${s} ×`;
  option.selected = s === speed;
  $("speed").appendChild(option);
}

const show = () => {
  scrub.value = now;
  $("clock").textContent = `${now.toFixed(decimals).replace("-", "−")} s`;
  stage.draw(now);
  curves.move(now);
};
const setTime = (t, pauses = true) => {
  if (pauses) pause();
  now = clamp(t, data.start, data.end);
  show();
};
const tick = (clock) => {
  if (!playing) return;
  now += Math.min((clock - last) / 1000, 0.1) * speed;
  last = clock;
  if (now >= data.end) {
    if ($("loop").checked && span > 0) now = data.start + ((now - data.start) % span);
    else {
      now = data.end;
      pause();
    }
  }
  show();
  if (playing) requestAnimationFrame(tick);
};
const face = (path) => $("play").querySelector("path").setAttribute("d", path);
const pause = () => {
  playing = false;
  face("M3 1l11 7-11 7z");
  $("play").setAttribute("aria-label", "play");
};
const play = () => {
  if (playing) return;
  if (now >= data.end) now = data.start;
  playing = true;
  face("M3 2h4v12H3zM9 2h4v12H9z");
  $("play").setAttribute("aria-label", "pause");
  requestAnimationFrame((clock) => {
    last = clock;
    tick(clock);
  });
};

$("play").onclick = () => (playing ? pause() : play());
$("speed").onchange = (e) => {
  speed = Number(e.target.value);
};
scrub.oninput = () => setTime(Number(scrub.value));
curves.connect(
  (t, pressed) => setTime(t, pressed || !playing),
  () => playing,
);

const changes = data.phases.flatMap((phase) => phase.changes).sort((a, b) => a - b);
const margin = span * 1e-6;
$("before").onclick = () => {
  const k = lastBefore(changes, now - margin);
  setTime(k < 0 ? data.start : changes[k]);
};
$("after").onclick = () => {
  const t = changes.find((c) => c > now + margin);
  setTime(t === undefined ? data.end : t);
};
if (!changes.length) for (const button of document.querySelectorAll(".jump")) button.hidden = true;

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target !== scrub))
    return;
  const step = span / (e.shiftKey ? 50 : 500);
  const actions = {
    " ": () => $("play").onclick(),
    ArrowLeft: () => setTime(now - step),
    ArrowRight: () => setTime(now + step),
    Home: () => setTime(data.start),
    End: () => setTime(data.end),
  };
  // a focused button has its own use of the space bar
  if (!actions[e.key] || (e.key === " " && e.target.tagName === "BUTTON")) return;
  e.preventDefault();
  actions[e.key]();
});
darkness.addEventListener("change", () => {
  stage.redraw();
  curves.redraw();
});
show();
