// What stands beside the pointer: at once what the level's columns say of a block, and after a rest on it what its details say as well.
import { element } from '../base/dom';
import { exact, ofStep, spoken, time } from '../base/format';
import { busyWords, waitingWords } from '../server/columns';
import type { Details, Times } from '../server/details_messages';
import { blockWords, gapWords, isMadeWide, type Seen } from '../view/shown';

const MOST_SHAPE = 60; // characters
const TIP_DISTANCE = 14; // pixels

function timesWords({ cpuTotal, cpuSelf, device, waiting }: Times): string {
  const known = [
    ['CPU', cpuTotal],
    ['self', cpuSelf === cpuTotal ? undefined : cpuSelf],
    ['device', device],
    ['waiting', waiting],
  ] as const;
  return known.flatMap(([name, ns]) => (ns === undefined || ns === 0 ? [] : [`${name} ${time(ns)}`])).join(' · ');
}

function detailsWords({ class: type, calls, kind, times, shapes = '' }: Details): string[] {
  const called = kind === 'step' || kind === 'stage' || calls < 2 ? [] : [`called ${calls} times`];
  const shape = shapes.length > MOST_SHAPE ? `${shapes.slice(0, MOST_SHAPE)}…` : shapes;
  return [[...(type === undefined ? [] : [type]), ...called].join(' · '), timesWords(times), shape].filter((each) => each !== '');
}

function adviceFor({ way, before, open, kind }: Seen): string {
  if (way !== undefined) return before === undefined ? 'double click goes there' : '';
  if (open) return 'double click opens it';
  return isMadeWide(kind) ? 'double click zooms in' : '';
}

// `step`: ns of its wall time. `details`: of this block, once they are known. `side`: "before" or "after", where there are two.
export function tipLines(seen: Seen, step: number | undefined, details: Details | undefined, side = ''): HTMLElement[] {
  const share = step === undefined || step === 0 ? '' : ` · ${ofStep(seen.busy / step)}`;
  const what = [side, seen.kind, seen.kind === 'idle' ? '' : spoken(seen.stage), ['', 'backward', 'recomputed'][seen.direction] ?? ''];
  const advice = adviceFor(seen);
  return [
    element('b', { text: blockWords(seen) }),
    element('div', { text: [...new Set(what.filter((each) => each !== ''))].join(' · ') }),
    element('div', { text: `${busyWords(seen.busy, seen.whole)}${share}` }),
    ...[waitingWords(seen.kind, seen.stage, seen.waiting, seen.busy), gapWords(seen)]
      .filter((text) => text !== '')
      .map((text) => element('div', { text })),
    ...(details === undefined ? [] : detailsWords(details).map((text) => element('div', { class: 'more', text }))),
    element('div', { class: 'dim', text: `${exact(seen.busy)}, from ${time(seen.start)}` }),
    element('div', { class: 'dim', text: advice }),
  ];
}

// Beside the pointer, within the pane.
export function placeTip(tip: HTMLElement, pane: HTMLElement, event: MouseEvent): void {
  const box = pane.getBoundingClientRect();
  const x = Math.max(4, Math.min(event.clientX - box.left + TIP_DISTANCE, pane.clientWidth - tip.offsetWidth - 8));
  const below = event.clientY - box.top + TIP_DISTANCE;
  const y = below + tip.offsetHeight > pane.clientHeight ? event.clientY - box.top - tip.offsetHeight - 8 : below;
  tip.style.setProperty('transform', `translate(${x}px, ${Math.max(0, y) + pane.scrollTop}px)`);
}
