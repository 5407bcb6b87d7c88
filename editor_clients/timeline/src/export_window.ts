// What is seen of the level under the cursor, as a file that Perfetto opens.
import { isRecording } from './address';
import type { Axes } from './beside';
import type { Save } from './export_picture';
import { exact, time } from './format';
import type { InView } from './in_state';
import { note } from './state';
import { sayWhy, type Ways } from './ways';
import { depthOf, viewAt } from './zooms';

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
