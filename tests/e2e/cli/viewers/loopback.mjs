// Debian's Chromium to look at what is served on loopback. What a page asks of any other host is refused.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

export async function launch(base) {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  const gl = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']; // the viewers draw with WebGL
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...gl] });
  const context = await browser.newContext({ serviceWorkers: 'block' });
  await context.route(
    (url) => /^https?:$/.test(url.protocol) && url.origin !== base,
    (route) => route.abort(),
  );
  return { newPage: () => context.newPage(), close: () => browser.close() };
}
