// Puts the timeline's page beside the extension's script.
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';

const from = new URL('../timeline/dist/', import.meta.url);
const to = new URL('dist/timeline/', import.meta.url);
if (!existsSync(new URL('timeline.js', from)))
  throw new Error('The timeline is not built: npm ci && npm run build in editor_clients/timeline.');
mkdirSync(to, { recursive: true });
for (const name of ['timeline.js', 'timeline.css']) copyFileSync(new URL(name, from), new URL(name, to));
