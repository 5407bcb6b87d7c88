// The page: connects to the server, keeps the address, and starts the screen.
//
// The folders, from the lowest to the highest: each imports only from those above it in this list.
//   base/      what all share: numbers as people read them, elements of the page, colours, handles that slide
//   server/    what the server is asked and tells: messages, requests, the wire; how a block is read from a message
//   layout/    where everything on the canvas stands: time to pixels, levels, tracks, lanes, runs of short spans
//   state/     the one state of the page, the address that keeps it, and how actions change it
//   store/     holds the state, and asks the server for what it needs
//   view/      what of the state is seen, the cursor in it, where the keys lead, zooms
//   drawing/   pens, the canvas, what is drawn with them; the picture as a file
//   commands/  what keys, buttons and the pointer ask for: on the state, of the server, of the editor
//   compare/   two profiles or steps side by side: modules, the selected block
//   batch/     bars of the batch size
//   plan/      changes that would make the step shorter, and the budget of checkpoints
//   panel/     the panel beside the levels: a block and its tables, a range, idle time, pins
//   levels/    the canvas at work: the first picture, what is marked, the pointer and what stands beside it
//   screen/    all parts of the page: header, steps, search, breakdown
import { download } from './drawing/export_picture';
import { createScreen } from './screen/screen';
import { connect, socketWire, webviewWire, type WebviewApi, type Wire } from './server/transport';
import { isOpenEnded, readAddress, readChosen, writeAddress, type View } from './state/address';
import { initialState, samePath, type State } from './state/state';
import { readFirst, withFirst } from './store/first';
import { createStore } from './store/store';

declare global {
  interface Window {
    acquireVsCodeApi?: () => WebviewApi;
  }
}

const FRAME_PATIENCE_MS = 200;
const ADDRESS_MS = 250; // browsers allow few changes of the address per second

const TOKEN = 'hotlens-token';

// The token leaves the address bar, where the history would keep it, and is remembered for this tab alone: a reload finds it there.
function takeToken(): string {
  const given = new URLSearchParams(location.search).get('token');
  if (given === null) return sessionStorage.getItem(TOKEN) ?? '';
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, '', `/${location.hash}`);
  return given;
}

function browserWire(begin: Promise<void>): Wire {
  const page = `${location.origin}/?token=${encodeURIComponent(takeToken())}`;
  return socketWire(page.replace(/^http/, 'ws').replace('/?', '/ws?'), page, begin);
}

// A page that has its first picture draws it before it does anything else. No frame comes in a hidden tab.
const drawn = (): Promise<void> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, FRAME_PATIENCE_MS);
  });

const webview = window.acquireVsCodeApi?.();

function storedState(): State {
  const stored = webview?.getState();
  const address = typeof stored === 'string' ? stored : location.hash;
  const view = readAddress(address);
  return initialState(view, readChosen(address, view), isOpenEnded(address));
}

function saveInEditor(name: string, file: Blob): void {
  void file.arrayBuffer().then((data) => webview?.postMessage({ save: { name, data: new Uint8Array(data) } }));
}

const first = readFirst(document.getElementById('first')?.textContent);
const begin = first === undefined ? Promise.resolve() : drawn();
const transport = connect(webview === undefined ? browserWire(begin) : webviewWire(webview));
const store = createStore(withFirst(storedState(), first), transport);
createScreen(store, transport, webview === undefined ? download : saveInEditor);

const addressNow = (): string => writeAddress(store.get().view, store.get().range);

// What Back and Forward walk through: not zooms and choices, and not what the page opens by itself.
const placeOf = ({ profile, step, path, before, beforeStep, alone }: View): string =>
  JSON.stringify([profile, step, path, before, beforeStep, alone]);
const isPlace = ({ profile, step }: View): boolean => profile !== undefined && step !== undefined;

function write(address: string, visited: boolean): void {
  if (webview !== undefined) webview.setState(address);
  else if (visited) history.pushState(null, '', `#${address}`);
  else history.replaceState(null, '', `#${address}`);
}

// A single change is written at once, so that a reload right after it shows the same. A place that was left before its address was written gets
// it first: Back leads there.
let waiting: number | undefined;
let writtenAt = -ADDRESS_MS;
let visited = false;
let walking = false;
function writeNow({ view, range }: State): void {
  clearTimeout(waiting);
  write(writeAddress(view, range), visited);
  [waiting, writtenAt, visited] = [undefined, performance.now(), false];
}
store.subscribe((state, before) => {
  if (state.view === before.view && state.range?.span === before.range?.span) return;
  if (!walking && !state.leading && isPlace(before.view) && placeOf(state.view) !== placeOf(before.view)) {
    if (waiting !== undefined) writeNow(before);
    visited = true;
  }
  clearTimeout(waiting);
  waiting = window.setTimeout(() => writeNow(store.get()), writtenAt + ADDRESS_MS - performance.now());
});

// An address that somebody went back to, typed or followed while the page is open. Another level of the same step needs no reload.
window.addEventListener('hashchange', () => {
  const address = location.hash.replace(/^#/, '');
  if (address === addressNow()) return;
  const [now, then] = [store.get().view, readAddress(address)];
  const sameStep = placeOf({ ...then, path: now.path }) === placeOf(now);
  const zoomed = then.zooms.some((zoom) => zoom !== undefined) || readChosen(address, then) !== undefined;
  if (!sameStep || zoomed || samePath(then.path, now.path)) return location.reload();
  walking = true;
  store.dispatch({ type: 'open', path: then.path });
  if (then.cursor !== undefined) store.dispatch({ type: 'move', cursor: then.cursor });
  walking = false;
});
