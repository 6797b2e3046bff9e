/*
 * frames.js - animation, and how long its scripts take. Every frame of the page runs through
 * animate(), which measures the time from the start of the callback to its end; with ?debug in the
 * address the footer shows the 95th percentile of the last 600 frames. A browser has 16.7 ms for a frame at 60 Hz, of which
 * layout and paint need their part: the page aims at 8 ms.
 */

const KEEP = 600;
const times = new Float64Array(KEEP);
let ntimes = 0;
let shownAt = 0;

/* frameStats: {frames, p95, max} in milliseconds of the last frames. */
export function frameStats() {
  const n = Math.min(ntimes, KEEP);
  const sorted = times.slice(0, n).sort();
  return {
    frames: ntimes,
    p95: n === 0 ? 0 : sorted[Math.min(n - 1, Math.floor(0.95 * n))],
    max: n === 0 ? 0 : sorted[n - 1],
  };
}

/* resetFrames: forgets what was measured. */
export function resetFrames() {
  ntimes = 0;
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
