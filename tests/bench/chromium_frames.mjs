// What a page costs the main thread of Chromium, frame by frame, out of a trace that the browser records of itself.
export const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'cc', 'viz'];
const MAIN = new Set(['FireAnimationFrame', 'EventDispatch', 'UpdateLayoutTree', 'Layout', 'PrePaint', 'Paint', 'Layerize', 'Commit']);

const sorted = (values) => values.toSorted((a, b) => a - b);
export const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
export const told = (values) =>
  `p50 ${at(values, 0.5).toFixed(1)}, p95 ${at(values, 0.95).toFixed(1)}, longest ${at(values, 1).toFixed(1)} ms`;

// The outermost events of a frame, so that nothing counts twice: a frame ends with its commit.
export function frames(events) {
  const [first] = events.filter(({ name }) => name === 'FireAnimationFrame');
  const own = events.filter(({ ph, name, pid, tid }) => ph === 'X' && pid === first?.pid && tid === first?.tid && MAIN.has(name));
  const list = [];
  let [wall, thread, reached, drawn] = [0, 0, 0, false];
  for (const event of own.toSorted((a, b) => a.ts - b.ts)) {
    if (event.ts < reached) continue;
    reached = event.ts + event.dur;
    wall += event.dur / 1000;
    thread += (event.tdur ?? event.dur) / 1000;
    drawn ||= event.name === 'FireAnimationFrame';
    if (event.name !== 'Commit') continue;
    if (drawn) list.push({ wall, thread });
    [wall, thread, drawn] = [0, 0, false];
  }
  return list;
}
