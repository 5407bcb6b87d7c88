// JSON-RPC 2.0 to the server, over whichever wire the page has: messages of a webview, or a WebSocket that comes back when it was lost.
//
// A request is answered, fails with a sentence, or is sent again once the wire is back: what changes something (`predict`, `setBatchSize`,
// `planCheckpoints`, `setCheckpoints`) is refused a second time.
import type { Failure, Method, Notification, Params, Result } from './requests';

export type Connection = 'connecting' | 'open' | 'lost' | 'refused';

// One way to carry texts. `open` is called whenever texts can be sent, from then on until `lost`.
export interface Wire {
  send(text: string): void;
  readonly events: WireEvents;
}

export interface WireEvents {
  open: () => void;
  message: (text: string) => void;
  lost: (final: boolean) => void;
}

export interface Transport {
  request<M extends Method>(method: M, params: Params<M>): Promise<Result<M>>;
  onNotification: (notification: Notification) => void;
  onConnection: (connection: Connection) => void;
}

export class RequestFailed extends Error {
  readonly gone: boolean;
  constructor(failure: Failure) {
    super(failure.message);
    this.gone = failure.gone;
  }
}

interface Pending {
  readonly text: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function failureOf(error: unknown): Failure {
  if (!isObject(error)) return { message: 'The server answered with an error it did not explain. Reload the page.', gone: false };
  const data = error['data'];
  return { message: String(error['message'] ?? ''), gone: isObject(data) && data['gone'] === true };
}

function notificationOf(message: Record<string, unknown>): Notification | undefined {
  const { method, params } = message;
  if (!isObject(params)) return undefined;
  if (method === 'hotlens/timeline/changed') {
    return { method, params: typeof params['current'] === 'string' ? { current: params['current'] } : {} };
  }
  if (method === 'hotlens/timeline/batchSizesChanged' || method === 'hotlens/timeline/whatIfsChanged') return { method, params: {} };
  const { profile, step, path, before } = params;
  const isPath = Array.isArray(path) && path.every((segment) => typeof segment === 'string');
  if (method === 'hotlens/timeline/select' && typeof profile === 'string' && typeof step === 'number' && isPath) {
    return { method, params: { profile, step, path: path as string[], ...(typeof before === 'string' ? { before } : {}) } };
  }
  return undefined;
}

export function connect(wire: Wire): Transport {
  const pending = new Map<number, Pending>();
  let last = 0;
  let open = false;

  function answer(message: Record<string, unknown>): void {
    const asked = pending.get(message['id'] as number);
    if (asked === undefined) return;
    pending.delete(message['id'] as number);
    if ('error' in message) asked.reject(new RequestFailed(failureOf(message['error'])));
    else asked.resolve(message['result']);
  }

  const transport: Transport = {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
        pending.set(id, { text, resolve: resolve as (result: unknown) => void, reject });
        if (open) wire.send(text);
      }),
    onNotification: () => undefined,
    onConnection: () => undefined,
  };

  wire.events.open = () => {
    open = true;
    transport.onConnection('open');
    for (const each of pending.values()) wire.send(each.text);
  };
  wire.events.message = (text) => {
    const message = parse(text);
    if (message === undefined) return;
    if ('id' in message) return answer(message);
    const notification = notificationOf(message);
    if (notification !== undefined) transport.onNotification(notification);
  };
  wire.events.lost = (final) => {
    open = false;
    transport.onConnection(final ? 'refused' : 'lost');
  };
  return transport;
}

const noEvents = (): WireEvents => ({ open: () => undefined, message: () => undefined, lost: () => undefined });

// What VS Code gives a page in a webview.
export interface WebviewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

export function webviewWire(api: WebviewApi): Wire {
  const wire: Wire = { send: (text) => api.postMessage({ rpc: text }), events: noEvents() };
  window.addEventListener('message', (event: MessageEvent<unknown>) => {
    if (!isObject(event.data)) return;
    if (typeof event.data['rpc'] === 'string') wire.events.message(event.data['rpc']);
    if (event.data['server'] === 'open') wire.events.open();
    if (event.data['server'] === 'lost') wire.events.lost(false);
  });
  api.postMessage({ ready: true });
  return wire;
}

// Waits between two attempts: at once for a hiccup, seldom for a server that stays away.
export const retryDelay = (attempt: number): number => Math.min(200 * 2 ** attempt, 5000);

// A server that never let this page in says why over HTTP: an old token is final, no server is not.
async function isRefused(page: string): Promise<boolean> {
  try {
    return (await fetch(page, { cache: 'no-store' })).status === 403;
  } catch {
    return false;
  }
}

// `begin`: when to dial first.
export function socketWire(address: string, page: string, begin: Promise<void>): Wire {
  let socket: WebSocket | undefined;
  let attempt = 0;
  const wire: Wire = { send: (text) => socket?.send(text), events: noEvents() };
  const dial = (): void => {
    const dialled = new WebSocket(address);
    dialled.onopen = () => {
      attempt = 0;
      socket = dialled;
      wire.events.open();
    };
    dialled.onmessage = (event: MessageEvent<unknown>) => {
      if (typeof event.data === 'string') wire.events.message(event.data);
    };
    dialled.onclose = () => {
      socket = undefined;
      void isRefused(page).then((refused) => {
        wire.events.lost(refused);
        if (!refused) setTimeout(dial, retryDelay(attempt++));
      });
    };
  };
  void begin.then(dial);
  return wire;
}
