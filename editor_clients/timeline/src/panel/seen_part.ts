// The panel about what is drawn under the cursor, and about the recording as a whole: what the levels tell by themselves.
import { element } from '../base/dom';
import { exact, percent, spoken, time } from '../base/format';
import type { Reveal } from '../commands/reveal';
import { busyWords } from '../server/columns';
import type { InState, InView } from '../state/in_state';
import { idleUnder, type Dispatch } from '../state/state';
import { blockWords, gapWords, type Seen } from '../view/shown';
import { idlePart } from './idle';
import { heading, table, title, type Row } from './pieces';

// What is drawn under the cursor, beside what is known of the whole block.
export function seenRows(seen: Seen): Row[] {
  const gaps = gapWords(seen);
  const whole = seen.whole > seen.busy ? `, of ${exact(seen.whole)} of this block on tracks of this kind` : '';
  return [
    [
      seen.kind === 'idle' || seen.kind === 'gap' ? 'span' : `busy on ${seen.trackName}`,
      busyWords(seen.busy, seen.whole),
      `${exact(seen.busy)}, from ${exact(seen.start)}${whole}`,
    ],
    ...(gaps === '' ? [] : [['', gaps, 'its work on this track has gaps: nothing of it runs there'] as const]),
  ];
}

type Idling = InState<'idle' | 'failures'> & InView<'cursor'>;

// Idle time and merged blocks have no path: the level's own columns say what there is to say.
export function seenPart(seen: Seen, state: Idling, dispatch: Dispatch, reveal: Reveal): HTMLElement[] {
  const advice: Readonly<Record<string, string>> = {
    idle: 'No work of this step runs here.',
    wait: 'The host waits for the device here.',
    gap: 'No step holds this time.',
    step: 'Enter or a double click opens it.',
    stage: seen.segment === '' ? 'No step holds this work.' : 'Enter or a double click opens its step.',
    communication: 'Enter or a double click opens its step.',
    exposed: 'Nothing else runs meanwhile: the step is longer by this communication.',
    hidden: 'Other work runs at the same time, so this communication costs nothing by itself.',
    path: 'On the critical path: had it been shorter, the run would have ended sooner.',
    merged: 'These blocks share a pixel. Zoom in (z) to see each of them.',
  };
  return [
    ...title(blockWords(seen), undefined, `${seen.trackName} · ${spoken(seen.kind)}`),
    table(seenRows(seen)),
    element('p', { text: advice[seen.kind] ?? '' }),
    ...(seen.kind === 'idle' ? idlePart(idleUnder(state), state.failures['idle'], dispatch, reveal) : []),
  ];
}

// How the time of the recording divides: its steps, and what no step holds.
export function recordingPart({ overview, levels }: InState<'overview' | 'levels'>): HTMLElement[] {
  const level = levels[0]?.whole?.level;
  if (overview === undefined || level === undefined) return [heading('Recording'), element('div', { class: 'skeleton' })];
  const whole = level.extent[1] - level.extent[0];
  const inSteps = overview.steps.reduce((sum, { wall }) => sum + wall, 0);
  const row = (name: string, ns: number): Row => [name, `${time(ns)} (${percent(ns / whole)} of the recording)`, exact(ns)];
  const outside = Math.max(0, whole - inSteps);
  return [
    heading('Recording'),
    ...title(
      overview.steps.length === 1 ? '1 step' : `${overview.steps.length} steps`,
      undefined,
      `${time(whole)} from the first event to the last`,
    ),
    table([row('in steps', inSteps), row('outside of them', outside)]),
    element('p', { text: 'Enter or a double click on a block opens its step.' }),
  ];
}
