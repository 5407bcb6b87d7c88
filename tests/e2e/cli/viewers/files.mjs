// A folder and files served on loopback.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};

// `folder` under "/", and `files[i]` as "/profile/i".
export async function serve(folder, files) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://loopback');
    const profile = /^\/profile\/(\d+)$/.exec(pathname);
    const file = profile ? files[Number(profile[1])] : join(folder, pathname);
    if (!file || !existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
