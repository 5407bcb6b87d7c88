// The timeline's page inside a webview: its HTML, and what it may say to the extension. Nothing here imports vscode: tested in plain Node.

// What comes from the page: it is ready for answers; a JSON-RPC request for the server; a file to save.
export type FromPage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'request'; readonly id: number; readonly method: string; readonly params: object }
  | { readonly kind: 'save'; readonly name: string; readonly data: Uint8Array };

const PREFIX = 'hotlens/timeline/'; // a page asks for nothing but the timeline

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function requestOf(text: string): FromPage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) return undefined;
    const { id, method, params } = message;
    if (typeof id !== 'number' || typeof method !== 'string' || !method.startsWith(PREFIX)) return undefined;
    return { kind: 'request', id, method, params: isObject(params) ? params : {} };
  } catch {
    return undefined;
  }
}

// Undefined for anything else: the page shows names out of traces and is not trusted further than needed.
export function readFromPage(message: unknown): FromPage | undefined {
  if (!isObject(message)) return undefined;
  if (message['ready'] === true) return { kind: 'ready' };
  if (typeof message['rpc'] === 'string') return requestOf(message['rpc']);
  const save = message['save'];
  if (isObject(save) && typeof save['name'] === 'string' && save['data'] instanceof Uint8Array) {
    return { kind: 'save', name: save['name'].replace(/[^\w.-]+/g, '_'), data: save['data'] };
  }
  return undefined;
}

export const answerTo = (id: number, result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result });

// As the server said it, so that the page shows its sentence and knows what is gone.
export function errorTo(id: number, error: unknown): string {
  const { code, message, data } = isObject(error) ? error : { code: -32603, message: String(error), data: undefined };
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });
}

export const notificationTo = (method: string, params: unknown): string => JSON.stringify({ jsonrpc: '2.0', method, params });

export interface PageFiles {
  readonly script: string; // addresses inside the webview
  readonly style: string;
  readonly source: string; // what the webview calls its own origin
  readonly nonce: string;
}

export function pageHtml({ script, style, source, nonce }: PageFiles): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${source}; img-src ${source} data: blob:`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Hotlens timeline</title>
    <link rel="stylesheet" href="${style}" />
  </head>
  <body>
    <script nonce="${nonce}" src="${script}"></script>
  </body>
</html>
`;
}
