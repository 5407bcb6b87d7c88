// What the timeline beside the shown one needs: its overview, its levels, what the open and the selected blocks are there.
import type { Details, RangeSums } from '../server/details_messages';
import type { Level } from '../server/level_messages';
import type { Overview, Path } from '../server/messages';
import type { Counterpart } from '../server/table_messages';
import { besidePath, besideSide, counterpartKey, counterpartOf, isBeside, movedSpan, shiftAt, sideOf } from '../state/beside';
import { samePath, selectedPath, type Action, type State } from '../state/state';
import { isAbout, missing, need, type Need } from './need';

function besideLevelNeed(state: State, depth: number, width: number): Need[] {
  const [side, path] = [besideSide(state), besidePath(state, depth)];
  const zoom = state.view.zooms[depth];
  if (side === undefined || !path) return [];
  const part = missing(state.beside.levels[depth] ?? {}, zoom === undefined ? zoom : movedSpan(zoom, -shiftAt(state, depth)), width);
  if (part === undefined) return [];
  const { unfold } = state.view;
  const done = (level: Level): Action => ({
    type: 'beside level',
    depth,
    whole: part.whole,
    loaded: { level, width: part.window.width, unfold },
  });
  const params = { profile: side.profile, step: side.step, path, ...(unfold ? { unfold } : {}), ...part.window };
  return [need({ slot: `beside level ${depth}`, told: true, method: 'hotlens/timeline/level', params, done })];
}

function counterpartNeed(state: State, path: Path, before: boolean): Need[] {
  const [of, other] = [sideOf(state, before), sideOf(state, !before)];
  if (of === undefined || other === undefined || counterpartOf(state, path, before) !== undefined) return [];
  const key = counterpartKey(path, before);
  const params = {
    profile: of.profile,
    step: of.step,
    path,
    other: other.profile,
    otherStep: other.step,
    side: before ? ('before' as const) : ('after' as const),
  };
  const done = (counterpart: Counterpart): Action => ({ type: 'counterpart', key, counterpart });
  return [need({ slot: `beside counterpart ${key}`, method: 'hotlens/timeline/counterpart', params, done })];
}

// What the selected block is on the other side.
function besideDetailsNeed(state: State, path: Path, before: boolean): Need[] {
  const other = sideOf(state, !before);
  const wanted = counterpartOf(state, path, before)?.path;
  if (other === undefined || wanted === undefined || isAbout(state.beside.details, other, wanted)) return [];
  const done = (details: Details): Action => ({ type: 'beside details', details: { ...details, path: wanted } });
  const params = { profile: other.profile, step: other.step, path: wanted };
  return [need({ slot: 'beside details', method: 'hotlens/timeline/details', params, done })];
}

// What ran meanwhile there.
function besideRangeNeed(state: State): Need[] {
  const { range } = state;
  const [side, path] = [besideSide(state), range === undefined ? undefined : besidePath(state, range.depth)];
  if (range === undefined || range.before !== undefined || side === undefined || !path) return [];
  if (state.beside.levels[range.depth]?.whole === undefined) return []; // it is not known yet where its time begins
  const [from, to] = movedSpan(range.span, -shiftAt(state, range.depth)).map(Math.round) as [number, number];
  const done = (sums: RangeSums): Action => ({ type: 'sums', sums, before: true });
  const params = { profile: side.profile, step: side.step, path, from, to };
  return [need({ slot: 'beside range', method: 'hotlens/timeline/range', params, done })];
}

// The timeline that the shown one is compared with.
export function besideNeeds(state: State, width: number): Need[] {
  const { view } = state;
  if (!isBeside(view) || view.profile === undefined || view.step === undefined) return [];
  if (view.before !== undefined && state.beside.overview === undefined) {
    const done = (overview: Overview): Action => ({ type: 'beside overview', overview });
    return [need({ slot: 'beside overview', told: true, method: 'hotlens/timeline/overview', params: { profile: view.before }, done })];
  }
  const before = view.cursor?.before !== undefined;
  const selected = view.cursor === undefined ? [] : selectedPath(view);
  const depths = Array.from({ length: view.path.length + 1 }, (_, depth) => depth);
  const open = depths.slice(1).map((depth) => view.path.slice(0, depth));
  const isOpen = !before && open.some((path) => selected !== undefined && samePath(path, selected));
  return [
    ...depths.flatMap((depth) => besideLevelNeed(state, depth, width)),
    ...besideRangeNeed(state),
    ...open.flatMap((path) => counterpartNeed(state, path, false)),
    ...(selected === undefined || isOpen ? [] : counterpartNeed(state, selected, before)),
    ...(selected === undefined ? [] : besideDetailsNeed(state, selected, before)),
  ];
}
