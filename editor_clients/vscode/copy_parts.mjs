// Puts the timeline's page beside the extension's script, and the project's licence and changelog where a package has them.
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';

const page = new URL('../timeline/dist/', import.meta.url);
const to = new URL('dist/timeline/', import.meta.url);
if (!existsSync(new URL('timeline.js', page)))
  throw new Error('The timeline is not built: npm ci && npm run build in editor_clients/timeline.');
mkdirSync(to, { recursive: true });
for (const name of ['timeline.js', 'timeline.css']) copyFileSync(new URL(name, page), new URL(name, to));
for (const name of ['LICENSE', 'CHANGELOG.md']) copyFileSync(new URL(`../../${name}`, import.meta.url), new URL(name, import.meta.url));
