// One thing to ask the server for, and how fine a level has to be for what is seen of it. Pure.
import { finePixels, scaleOf } from '../layout/scale';
import type { Details } from '../server/details_messages';
import type { Level } from '../server/level_messages';
import type { Path, Span } from '../server/messages';
import type { Method, Params, Result } from '../server/requests';
import { samePath, type Action, type LevelData, type LoadedLevel } from '../state/state';

export interface Need<M extends Method = Method> {
  readonly slot: string; // one request at a time and slot
  readonly method: M;
  readonly params: Params<M>;
  readonly depth?: number; // of a level
  readonly told?: boolean; // the answer tells what it is about: the state knows by itself whether it still fits
  readonly done: (result: Result<M>) => Action;
  readonly gone?: () => Action; // where it is an answer as well that there is no such thing
}

export const need = <M extends Method>(each: Need<M>): Need => each as unknown as Need;

const OVERSCAN = 0.5; // of the span, on either side: a short pan shows nothing empty
export const MOST_WIDTH = 8192; // pixels, of the protocol
export const COARSER = 0.99; // a level this much coarser than the screen still counts as fine

export const viewOf = (level: Level, zoom: Span | undefined): Span => zoom ?? level.extent;

export const covers = (outer: Span, inner: Span): boolean => outer[0] <= inner[0] && outer[1] >= inner[1];

const hasMerged = (level: Level): boolean => level.tracks.some(({ blocks }) => blocks.spans.some((spans) => spans > 1));

// Whether `loaded` shows `view` on `width` pixels as finely as a new answer would.
export function isFine(loaded: LoadedLevel | undefined, view: Span, width: number): boolean {
  if (loaded === undefined) return false;
  const { extent, window } = loaded.level;
  const seen: Span = [Math.max(view[0], extent[0]), Math.min(view[1], extent[1])];
  if (seen[0] >= seen[1]) return true;
  if (!covers(window, seen)) return false;
  const density = loaded.width / (window[1] - window[0]);
  return density >= (COARSER * width) / (view[1] - view[0]) || !hasMerged(loaded.level);
}

// The window to ask for: the view with some more on either side, within the extent.
export function windowFor(view: Span, extent: Span, width: number): { from: number; to: number; width: number } {
  const span = view[1] - view[0];
  const from = Math.floor(Math.max(extent[0], view[0] - OVERSCAN * span));
  const to = Math.ceil(Math.min(extent[1], view[1] + OVERSCAN * span));
  return { from, to, width: Math.max(1, Math.min(MOST_WIDTH, Math.ceil((width * (to - from)) / span))) };
}

export interface LevelWindow {
  readonly from?: number;
  readonly to?: number;
  readonly width: number;
}

// What of a level is still missing: all of it, or the part that is looked at as fine as the screen. Nothing once both are there.
export function missing(
  { whole, part, gap }: LevelData,
  zoom: Span | undefined,
  width: number,
): { readonly window: LevelWindow; readonly whole: boolean } | undefined {
  const pixels = whole === undefined ? width : Math.min(MOST_WIDTH, finePixels(scaleOf(zoom ?? whole.level.extent, 0, width, gap)));
  if (whole === undefined || (zoom === undefined && !isFine(whole, whole.level.extent, pixels)))
    return { window: { width: pixels }, whole: true };
  if (zoom === undefined || isFine(whole, zoom, pixels) || isFine(part, zoom, pixels)) return undefined;
  return { window: windowFor(zoom, whole.level.extent, pixels), whole: false };
}

// Whether details are those of a block in a step; what is not told fits.
export const isAbout = (
  details: Details | undefined,
  { profile, step }: { readonly profile: string; readonly step: number },
  path: Path,
): boolean =>
  details !== undefined && samePath(details.path, path) && (details.profile ?? profile) === profile && (details.step ?? step) === step;
