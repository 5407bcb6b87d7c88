// What is seen of the level under the cursor, as a file that Perfetto opens.
import { exact, time } from '../base/format';
import type { Save } from '../drawing/export_picture';
import { isRecording } from '../state/address';
import type { Axes } from '../state/beside';
import type { InView } from '../state/in_state';
import { note } from '../state/state';
import { depthOf, viewAt } from '../view/zooms';
import { sayWhy, type Ways } from './ways';

export function exportWindow(ways: Ways<Axes & InView<'profile' | 'path' | 'cursor' | 'zooms'>>, save: Save): void {
  const state = ways.read();
  const { profile, step } = state.view;
  const view = viewAt(state, depthOf(state));
  if (view === undefined || profile === undefined || step === undefined) return;
  const [from, to] = view.map(Math.round) as [number, number];
  ways
    .request('hotlens/timeline/export', { profile, ...(isRecording(state.view) ? { recording: true as const } : { step }), from, to })
    .then(({ name, text }) => {
      save(name, new Blob([text], { type: 'application/json' }));
      ways.dispatch(note(`${name} holds ${time(to - from)} (${exact(to - from)}); open it at ui.perfetto.dev.`));
    })
    .catch(sayWhy(ways));
}
