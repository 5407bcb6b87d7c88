// Puts the page beside its script and its style sheet.
import { copyFileSync } from 'node:fs';

copyFileSync(new URL('page/index.html', import.meta.url), new URL('dist/index.html', import.meta.url));
