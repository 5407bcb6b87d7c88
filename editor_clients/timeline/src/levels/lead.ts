// The first picture: the path of most time is open, from the step down to what explains it, as far as the pane is high. Pure.
import { layoutPicture, levelHeight, TRACK_GAP, TRACK_HEIGHT } from '../layout/layout';
import type { Level } from '../server/level_messages';
import type { Path } from '../server/messages';
import { isBeside } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import { leadingStage, widestOf } from '../view/navigate';
import { shownLevels, type Drawn } from '../view/shown';

const MOST_LEVELS = 5;
const USUAL_TRACKS = 2; // of a level that is not known yet
const USUAL_LANES = 112; // pixels below the step's tracks, while it is not known what stands there
const LEAST_SHARE = 0.1; // of its level's time: a block with less explains little

// Of the stage that takes most time, where that does not come in many small blocks; else of this step's other work.
function heaviest(level: Level): string | undefined {
  const leading = leadingStage(level);
  const least = LEAST_SHARE * (level.extent[1] - level.extent[0]);
  const found = [widestOf(level, (stage) => stage === leading), widestOf(level, (stage) => stage !== 'earlier_step')];
  const best = found.find((each) => each !== undefined && each.busy >= least);
  return best?.track.blocks.segment[best.index];
}

// What to open next; nothing where the way ends, or while a level is on its way.
export function leadFurther(state: Drawn & InState<'leading'> & InView<'cursor'>, width: number, height: number): Path | undefined {
  const { path, cursor } = state.view;
  if (!state.leading || cursor !== undefined || path.length + 1 >= MOST_LEVELS) return undefined;
  const level = state.levels[path.length]?.whole?.level;
  if (level === undefined || level.step < 0) return undefined;
  // Below the step a level opens where it has room beside the tracks: it explains more than what stands below them.
  const first = path.length === 0;
  const shown = shownLevels(state, width).map((each) => (first ? { ...each, lanes: undefined } : each));
  const unknown = first || state.lanes !== undefined ? 0 : USUAL_LANES;
  // A row of the critical path says where to look, but is no reason to open nothing.
  const rows = first ? level.tracks.filter(({ kind }) => kind === 'path').length : 0;
  const without = layoutPicture(shown, width).height - rows * (TRACK_HEIGHT + TRACK_GAP);
  if (without + unknown + levelHeight(USUAL_TRACKS, isBeside(state.view)) > height) return undefined;
  const segment = heaviest(level);
  return segment === undefined || segment === '' ? undefined : [...path, segment];
}
