// An editor behind the page: the language server over its standard streams, and the page that it serves.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from './page.mjs';

const CAPABILITIES = {
  workspace: { workspaceEdit: { documentChanges: true }, applyEdit: true },
  window: { showDocument: { support: true } },
  experimental: { hotlens: {} },
};

export class Editor {
  constructor(hotlens, folder) {
    this.child = spawn(hotlens, ['lsp', '--stdio'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
    this.gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.answers = new Map();
    this.asked = []; // of the server: {method, params}
    this.applied = true; // what it answers to an edit
    this.last = 0;
    let text = Buffer.alloc(0);
    this.child.stdout.on('data', (piece) => {
      text = Buffer.concat([text, piece]);
      for (let body = this.body(text); body !== undefined; body = this.body(text)) {
        text = text.subarray(body.end);
        this.hear(JSON.parse(body.text));
      }
    });
  }

  // The first whole message of `bytes`.
  body(bytes) {
    const head = bytes.indexOf('\r\n\r\n');
    if (head < 0) return undefined;
    const length = Number(/Content-Length: (\d+)/.exec(bytes.subarray(0, head).toString())[1]);
    const end = head + 4 + length;
    return bytes.length < end ? undefined : { text: bytes.subarray(head + 4, end).toString(), end };
  }

  hear(message) {
    if (message.method === undefined) return void this.answers.get(message.id)?.(message);
    this.asked.push(message);
    if (message.id === undefined) return;
    this.send({ id: message.id, result: message.method === 'workspace/applyEdit' ? { applied: this.applied } : null });
  }

  send(message) {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  request(method, params) {
    const id = ++this.last;
    this.send({ id, method, params });
    return new Promise((resolve, reject) =>
      this.answers.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error.message)))),
    );
  }

  edits = () => this.asked.filter(({ method }) => method === 'workspace/applyEdit').map(({ params }) => params);

  async stop() {
    this.child.stdin.end();
    await this.gone;
  }
}

// With `name` open; `address` is that of the page.
export async function openInEditor(world, folder, name) {
  const editor = new Editor(world.hotlens, folder);
  world.closing(() => editor.stop());
  const workspaceFolders = [{ uri: pathToFileURL(folder).href, name: 'w' }];
  await editor.request('initialize', { processId: null, rootUri: null, workspaceFolders, capabilities: CAPABILITIES });
  editor.send({ method: 'initialized', params: {} });
  const file = path.join(folder, name);
  const uri = pathToFileURL(file).href;
  const textDocument = { uri, languageId: 'python', version: 1, text: fs.readFileSync(file, 'utf8') };
  editor.send({ method: 'textDocument/didOpen', params: { textDocument } });
  const open = { command: 'hotlens.server.openTimeline', arguments: [{ browser: true }] };
  const shown = await eventually('there is no profile to show', () =>
    editor.request('workspace/executeCommand', open).catch(() => undefined),
  );
  return { editor, uri, address: shown.url };
}
