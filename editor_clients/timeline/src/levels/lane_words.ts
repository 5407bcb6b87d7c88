// What stands beside the pointer on what is below the tracks, and what a click there does.
import { element } from '../base/dom';
import { exact, fileName, spoken, time } from '../base/format';
import type { Reveal } from '../commands/reveal';
import { counted } from '../drawing/lanes';
import { frameName, toggledWith, valueAt, type BarHit, type LaneHit } from '../layout/lanes';
import type { Counter, RankLane } from '../server/lane_messages';
import type { PeakMoment } from '../server/messages';
import type { InState, InView } from '../state/in_state';
import type { Dispatch } from '../state/state';

const KINDS: Readonly<Record<string, string>> = {
  own: 'Python function of your code',
  python: 'Python function',
  module: 'call of a module',
  range: 'range that the code names',
  launch: "call of the device's runtime",
};

const lines = (head: string, ...rest: readonly string[]): HTMLElement[] => [
  element('b', { text: head }),
  ...rest.filter((each) => each !== '').map((text) => element('div', { text })),
];

const placeOf = ({ thread, row, index }: BarHit) => thread.flame?.places[row.place[index]!];

function barLines(bar: BarHit): HTMLElement[] {
  const flame = bar.thread.flame!;
  const { row, index } = bar;
  const label = flame.labels[row.label[index]!]!;
  const kind = flame.kinds[row.kind[index]!]!;
  const place = placeOf(bar);
  const what = kind === 'operator' ? `operator, ${spoken(flame.stages[row.stage[index]!]!)}` : (KINDS[kind] ?? kind);
  const count = row.count[index]!;
  const head = count > 1 ? `${count} calls, the longest ${frameName(label)}` : frameName(label);
  const advice = place === undefined ? '' : `click: go to ${fileName(place.file)}:${place.line + 1}`;
  return [
    ...lines(head, what, time(row.duration[index]!), label === head ? '' : label),
    element('div', { class: 'dim', text: `${exact(row.duration[index]!)}, from ${time(row.start[index]!)}` }),
    element('div', { class: 'dim', text: advice }),
  ];
}

function counterLines(counter: Counter, at: number, peak: boolean, moment: PeakMoment | undefined): HTMLElement[] {
  const value = valueAt(counter, at);
  if (value === undefined || at > counter.length) return lines(counter.name, 'nothing is known after the end of the step');
  const held = counter.unit === 'bytes' ? `${counted(counter, value)} held` : `${counted(counter, value)} wait for the device`;
  const about = counter.unit === 'bytes' ? '' : 'launched by the host, not yet begun by the device';
  const laid = counter.laid === true ? 'from the slower step that follows every line, laid on this one by its operators' : '';
  const most = peak && counter.unit === 'bytes' ? `the most that is held${moment === undefined ? '' : `: in ${spoken(moment.stage)}`}` : '';
  const advice = most !== '' && moment?.path !== undefined ? 'click: show what ran then' : '';
  return [
    ...lines(held, about, most, laid),
    element('div', { class: 'dim', text: `at ${time(at)}` }),
    element('div', { class: 'dim', text: advice }),
  ];
}

function rankLines(rank: RankLane): HTMLElement[] {
  const clock =
    rank.ahead === 0 ? '' : `its clock was ${time(Math.abs(rank.ahead))} ${rank.ahead > 0 ? 'ahead' : 'behind'}, corrected here`;
  return [
    ...lines(
      `rank ${rank.rank}`,
      `step of ${time(rank.wall)}`,
      `${time(rank.waits)} of it waits in collectives for the last to come`,
      `${time(rank.transfers)} transferring`,
      clock,
    ),
    element('div', {
      class: 'dim',
      text: rank.shown ? 'its tracks are shown above' : rank.profile === undefined ? '' : 'click: show its tracks',
    }),
  ];
}

type Peak = InState<'overview'> & InView<'step'>;

// The peak of the overview is that of its representative step.
const peakOf = ({ overview, view }: Peak): PeakMoment | undefined =>
  overview !== undefined && view.step === overview.representative ? overview.memoryPeakAt : undefined;

export function laneLines(hit: LaneHit, state: Peak): HTMLElement[] {
  if (hit.kind === 'head') return lines(hit.open ? 'click: close' : 'click: open');
  if (hit.kind === 'rank') return rankLines(hit.rank);
  return hit.kind === 'bar' ? barLines(hit.bar) : counterLines(hit.counter, hit.at, hit.peak, peakOf(state));
}

const otherProfile = ({ shown, profile }: RankLane): string | undefined => (shown ? undefined : profile);

export const isPressable = (hit: LaneHit): boolean =>
  hit.kind === 'head' ||
  (hit.kind === 'rank'
    ? otherProfile(hit.rank) !== undefined
    : hit.kind === 'bar'
      ? placeOf(hit.bar) !== undefined
      : hit.peak && hit.counter.unit === 'bytes');

export function pressLane(hit: LaneHit, state: Peak & InView<'lanes'>, dispatch: Dispatch, reveal: Reveal): void {
  if (hit.kind === 'head') return dispatch({ type: 'show lanes', toggled: toggledWith(state.view.lanes ?? [], hit.id) });
  if (hit.kind === 'rank') {
    const profile = otherProfile(hit.rank);
    if (profile !== undefined) dispatch({ type: 'show profile', profile });
    return;
  }
  if (hit.kind === 'bar') {
    const place = placeOf(hit.bar);
    if (place !== undefined) reveal(place);
    return;
  }
  const path = peakOf(state)?.path;
  if (hit.peak && hit.counter.unit === 'bytes' && path !== undefined) dispatch({ type: 'go', path });
}
