// What each command does: on the state (changes.ts), or by asking the server once (a line to show, a window to save).
import type { Save } from '../drawing/export_picture';
import type { Match } from '../server/table_messages';
import { isRecording } from '../state/address';
import { note } from '../state/state';
import { move, underNow } from '../view/cursor';
import { isMadeWide, type Seen } from '../view/shown';
import { zoomToBlock } from '../view/zooms';
import { CHANGES, pinSelected, type Asking } from './changes';
import { openCounterpart } from './comparing';
import { exportWindow } from './export_window';
import { createFollow } from './follow';
import type { Command } from './keys';
import { createReveal, placeOf, type Reveal } from './reveal';
import type { Ways } from './ways';

export interface Commands {
  readonly run: (command: Command) => void;
  readonly openBlock: (depth: number, seen: Seen) => void; // the cursor stays on it
  readonly reveal: Reveal;
  readonly follow: (match: Match, position: number) => void;
}

export interface Environment {
  readonly width: () => number; // of a track, pixels
  readonly focusSearch: () => void;
  readonly editNote: () => void; // of the selected block's pin
  readonly savePicture: (kind: 'svg' | 'png') => void;
  readonly save: Save;
}

export function createCommands(ways: Ways, { width, ...environment }: Environment): Commands {
  const { read, dispatch } = ways;
  const reveal = createReveal(ways);
  const { follow, nextMatch } = createFollow(ways, reveal);

  function revealSelected(): void {
    const { details } = read();
    const place = placeOf(details);
    if (place === undefined) dispatch(note('No line is known for this block.'));
    else reveal({ ...place, profile: details?.profile });
  }

  function openBlock(depth: number, seen: Seen, enter: boolean): void {
    const state = read();
    const { segment } = seen;
    if (seen.before !== undefined && seen.open && segment !== '') openCounterpart([...seen.before, segment], ways);
    else if (seen.way !== undefined && seen.before === undefined) dispatch({ type: 'go', path: seen.way });
    else if (isRecording(state.view) && segment !== '') dispatch({ type: 'show step', step: Number(segment) });
    else if (seen.open && segment !== '') dispatch({ type: 'open', path: [...state.view.path.slice(0, depth), segment], enter });
    else if (isMadeWide(seen.kind)) dispatch(...zoomToBlock(state, depth, seen));
    else revealSelected();
  }

  function open(): void {
    const now = underNow(read(), width());
    if (now === undefined) dispatch(...move(read(), width(), 'home'));
    else openBlock(now.depth, now.seen, true);
  }

  function pin(): void {
    const pinned = pinSelected(read().view);
    if (pinned !== undefined) dispatch(pinned);
    if (pinned?.type !== 'note') environment.editNote();
  }

  const asks: Readonly<Record<Asking, () => void>> = {
    open,
    code: revealSelected,
    pin,
    search: environment.focusSearch,
    'next match': () => nextMatch(1),
    'previous match': () => nextMatch(-1),
    'export picture': () => environment.savePicture('svg'),
    'export pixels': () => environment.savePicture('png'),
    'export window': () => exportWindow(ways, environment.save),
  };
  const isAsking = (command: Command): command is Asking => command in asks;
  return {
    run: (command) => (isAsking(command) ? asks[command]() : dispatch(...CHANGES[command](read(), width()))),
    openBlock: (depth, seen) => openBlock(depth, seen, false),
    reveal,
    follow,
  };
}
