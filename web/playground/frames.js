/*
 * frames.js - animation, how much it does in a frame, and how long its scripts take. What a frame may do is bounded by MOST,
 * and counted: spend() and room() say how much was done since the last frame. Every frame of the page runs through
 * animate(), which measures the time from the start of the callback to its end; with ?debug in the
 * address the footer shows the 95th percentile of the last 600 frames. A browser has 16.7 ms for a frame at 60 Hz, of which
 * layout and paint need their part: the page aims at 8 ms.
 */

/* MOST: of one frame: cells that are drawn (a large one counts as four), steps that are played, keys that are added, and probes. */
export const MOST = { cells: 16000, steps: 200, keys: 200000, probes: 200000 };
const now = { cells: 0, steps: 0, keys: 0, probes: 0 };
const most = { ...now };
let counting = false;

const KEEP = 600;
const times = new Float64Array(KEEP);
let ntimes = 0;
let shownAt = 0;

/* spend: something was done in this frame. */
export function spend(what, n) {
  now[what] += n;
  most[what] = Math.max(most[what], now[what]);
  if (counting) return;
  counting = true;
  requestAnimationFrame(() => {
    counting = false;
    for (const name of Object.keys(now)) now[name] = 0;
  });
}

/* room: how much more of it this frame may do. */
export function room(what) {
  return Math.max(0, MOST[what] - now[what]);
}

/* frameStats: {frames, p95, max} in milliseconds of the last frames, and the most that was done in one. */
export function frameStats() {
  const n = Math.min(ntimes, KEEP);
  const sorted = times.slice(0, n).sort();
  return {
    frames: ntimes,
    p95: n === 0 ? 0 : sorted[Math.min(n - 1, Math.floor(0.95 * n))],
    max: n === 0 ? 0 : sorted[n - 1],
    most: { ...most },
  };
}

/* resetFrames: forgets what was measured. */
export function resetFrames() {
  ntimes = 0;
  for (const name of Object.keys(most)) most[name] = 0;
}

function record(ms) {
  times[ntimes % KEEP] = ms;
  ntimes += 1;
}

const debug = /[?&]debug\b/.test(location.search) || /[?&]debug\b/.test(location.hash);

function showMeter(now) {
  if (!debug || now - shownAt < 500) return;
  shownAt = now;
  const { p95, frames } = frameStats();
  const meter = document.getElementById('meter');
  if (meter)
    meter.textContent = `script time per frame: p95 ${p95.toFixed(1)} ms over ${Math.min(frames, KEEP)} frames`;
}

/* animate: calls step(now) once per frame until it returns false. Returns a function that ends it. */
export function animate(step) {
  let running = true;
  const frame = (now) => {
    if (!running) return;
    const start = performance.now();
    running = step(now) !== false;
    record(performance.now() - start);
    showMeter(now);
    if (running) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  return () => {
    running = false;
  };
}

/* breathe: lets the browser paint; for work in pieces. */
export function breathe() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
  });
}

/* calm: whether the reader asked for less motion. */
export function calm() {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
