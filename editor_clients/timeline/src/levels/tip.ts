// What stands beside the pointer: the lines of the block or lane under it.
import { element } from '../base/dom';
import type { Details } from '../server/details_messages';
import type { Path } from '../server/messages';
import { isBeside, type Axes, type Sides } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { pinMarks, pinWords } from '../state/pins';
import { samePath } from '../state/state';
import { inOwnTime, type Seen } from '../view/shown';
import { placeTip, tipLines } from './block_tip';
import { laneLines } from './lane_words';
import { stepWall } from './marks';
import type { Hit, PointerState } from './pointer';

export type Told = Sides & Axes & InState<'pointed'> & InView<'path' | 'pins'>;

export interface LevelTip {
  readonly root: HTMLElement;
  readonly show: (state: Told, pointer: PointerState, pane: HTMLElement, event: MouseEvent) => void;
  readonly hide: () => void;
}

// Of what the pointer is over; none for idle time and merged blocks.
export const pathOf = (state: InView<'path'>, hit: Hit | undefined): Path | undefined =>
  hit?.seen === undefined || hit.seen.segment === ''
    ? undefined
    : [...(hit.seen.before ?? state.view.path.slice(0, hit.depth)), hit.seen.segment];

function detailsOf({ pointed }: InState<'pointed'>, path: Path | undefined, upper: boolean): Details | undefined {
  const same = pointed?.path !== undefined && path !== undefined && samePath(pointed.path, path) && (pointed.before === true) === upper;
  return same ? pointed.details : undefined;
}

function blockLines(state: Told, hit: Hit, seen: Seen): HTMLElement[] {
  const { depth } = hit;
  const upper = seen.before !== undefined;
  const side = !isBeside(state.view) ? '' : upper ? 'before' : 'after';
  const pins = upper ? [] : pinMarks(state.view.pins, state.view.step, state.view.path.slice(0, depth));
  const mark = pins.find(({ segment }) => segment === seen.segment);
  const pinned = mark === undefined ? [] : [element('div', { class: 'pinned', text: pinWords(mark) })];
  const details = detailsOf(state, pathOf(state, hit), upper);
  return [...tipLines(inOwnTime(state, depth, seen), stepWall(state, upper), details, side), ...pinned];
}

export function createLevelTip(): LevelTip {
  const root = element('div', { class: 'tip', attributes: { role: 'tooltip' } });
  return {
    root,
    show(state, { hover, press }, pane, event) {
      const { seen, lane } = hover ?? {};
      root.classList.toggle('shown', (seen !== undefined || lane !== undefined) && press?.moved !== true);
      if (lane !== undefined) root.replaceChildren(...laneLines(lane, state));
      else if (seen !== undefined) root.replaceChildren(...blockLines(state, hover!, seen));
      else return;
      placeTip(root, pane, event);
    },
    hide: () => root.classList.remove('shown'),
  };
}
