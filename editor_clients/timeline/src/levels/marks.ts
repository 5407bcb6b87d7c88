// What is marked in the picture: the selected block and what it is on the other side, what the pointer is on, arrows, a range.
import { differenceOf, differenceWords, shortDifference, type Selected } from '../compare/difference';
import type { Marks } from '../drawing/draw';
import type { Path } from '../server/messages';
import { besidePath, counterpartOf, isBeside, sideOf, type Sides } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { pinMarks } from '../state/pins';
import { samePath, selectedPath } from '../state/state';
import type { Seen } from '../view/shown';
import { arrowNote } from './arrow_note';
import type { Hit } from './pointer';

export type Marked = Selected & InState<'arrows' | 'range'> & InView<'pins'>;

// ns; the device may work on a step for longer than the host takes for it
export function stepWall(state: Sides, before: boolean): number | undefined {
  const side = sideOf(state, before);
  return side?.overview.steps[side.step]?.wall;
}

// Where the selected block stands on the other side, if that level is open there.
function partnerOf(state: Selected): Marks['partner'] {
  const { cursor, path } = state.view;
  const selected = selectedPath(state.view);
  if (!isBeside(state.view) || cursor === undefined || selected === undefined) return undefined;
  const upper = cursor.before !== undefined;
  const there = counterpartOf(state, selected, upper)?.path;
  const level = upper ? path.slice(0, cursor.depth) : besidePath(state, cursor.depth);
  if (there === undefined || !level || !samePath(there.slice(0, -1), level)) return undefined;
  return { depth: cursor.depth, before: !upper, segment: there.at(-1)! };
}

export function marksOf(state: Marked, pointed: Pick<Hit, 'depth' | 'seen' | 'lane'> | undefined): Marks {
  const { cursor, path } = state.view;
  const wall = stepWall(state, false);
  const partner = partnerOf(state);
  const onBlock = cursor !== undefined && cursor.segment !== '';
  const lower = onBlock && cursor.before === undefined; // arrows are known of it
  const difference = differenceOf(state);
  const notes = [differenceWords(difference), lower ? arrowNote(state) : ''].filter((text) => text !== '');
  return {
    path,
    arrows: lower ? (state.arrows?.arrows ?? []) : [],
    note: onBlock ? notes.join(' · ') : '',
    ...(difference === undefined || !onBlock ? {} : { shorter: [differenceWords(difference), shortDifference(difference)] }),
    ...(state.view.pins === undefined ? {} : { pins: (level: Path) => pinMarks(state.view.pins, state.view.step, level) }),
    ...(wall === undefined ? {} : { stepEnd: wall }),
    ...(cursor === undefined ? {} : { cursor }),
    ...(partner === undefined ? {} : { partner }),
    ...(state.range === undefined ? {} : { range: state.range }),
    ...(pointed?.lane?.kind === 'counter' ? { counted: { counter: pointed.lane.counter.id, at: pointed.lane.at } } : {}),
    ...(pointed?.seen === undefined ? {} : { hover: hoverOf(pointed.depth, pointed.seen) }),
  };
}

const hoverOf = (depth: number, { track, index, before }: Seen): NonNullable<Marks['hover']> => ({
  depth,
  before: before !== undefined,
  track,
  index,
});
