// The panel beside the levels: what the selected block is, where its time goes, why, and in which lines.
import { isRecording } from './address';
import { collectivesPart } from './collectives';
import type { Commands } from './commands';
import { differencePart } from './difference';
import { busyWords, shortName } from './columns';
import { button, element } from './dom';
import { bytes, exact, fileName, ofStep, percent, placeName, spoken, time } from './format';
import { helpsPart } from './helps';
import { costsPart, shortensPart } from './costs';
import { idlePart } from './idle';
import type { Details, Evidence, Kernel, Others, Place, Times, Verdict } from './messages';
import { isBeside, sideOf } from './beside';
import { isAbout } from './need';
import { blockWords, gapWords, inOwnTime, seenUnderCursor, type Seen } from './shown';
import { idleUnder, selectedPath, type State } from './state';
import type { Store } from './store';

const MOST_KERNELS = 8;
const NAMES_IN_TIP = 4;

export type Row = readonly [name: string, value: string, tip: string];

const timeRow = (name: string, ns: number | undefined): Row[] => (ns === undefined || ns === 0 ? [] : [[name, time(ns), exact(ns)]]);

function timesRows(prefix: string, times: Times | undefined, device = 'device busy'): Row[] {
  if (times === undefined) return [];
  const named = (text: string): string => (prefix === '' ? text : `${prefix}, ${text}`);
  return [
    ...timeRow(named('CPU total'), times.cpuTotal),
    ...timeRow(named('CPU self'), times.cpuSelf === times.cpuTotal ? undefined : times.cpuSelf),
    ...timeRow(named(device), times.device),
    ...timeRow(named('waiting'), times.waiting),
    ...timeRow(named('device idle before'), times.idleBefore),
    ...timeRow(named('device idle inside'), times.idleInside),
    ...timeRow(named('communication not hidden'), times.exposedCommunication),
  ];
}

const MEMORY_ROWS = [
  ['parameters', 'parameters', ''],
  ['gradients', 'gradients', ', the most of any moment'],
  ['optimizer', 'optimizer state', ''],
  ['activations', 'activations', ', what its forward leaves behind'],
  ['temporary', 'temporary', ', the most that its forward held at once'],
  ['atPeak', "at the step's peak", ', of all kinds, when the step held most'],
] as const;

// The directions of a module's calls; of several the block is one, and its own times stand first.
function directionRows({ calls, times, forward, backward }: Details): Row[] {
  const all = (way: string): string => (calls > 1 ? `${way} ×${calls}` : way);
  return [...(calls > 1 ? timesRows('', times) : []), ...timesRows(all('forward'), forward), ...timesRows(all('backward'), backward)];
}

// Forward and backward apart where both exist; else the block's own times.
export function rowsOf(details: Details): Row[] {
  const apart = details.forward !== undefined && details.backward !== undefined;
  const rows = apart
    ? directionRows(details)
    : timesRows('', details.times, details.kind === 'step' ? 'device busy with its work' : 'device busy');
  const { fold, spread, memory } = details;
  return [
    ...(details.plain === undefined
      ? []
      : [
          [
            'without the profiler',
            time(details.plain),
            `${exact(details.plain)}: a mean update, by the clocks of its lines; the hints there say it`,
          ] as const,
        ]),
    ['span', time(details.duration), `${exact(details.duration)}, from ${exact(details.start)}`],
    ...rows,
    ...(fold === undefined
      ? []
      : [
          [`each of ${fold.count}`, `${time(fold.min)} to ${time(fold.max)}`, 'shortest and longest'] as const,
          ['median of them', time(fold.median), exact(fold.median)] as const,
        ]),
    ...(spread === undefined || spread.steps < 2
      ? []
      : [
          [
            `${spread.of}, ${spread.steps} steps`,
            `${time(spread.p10)} to ${time(spread.p90)}`,
            '10th and 90th percentile over the measured steps',
          ] as const,
        ]),
    ...MEMORY_ROWS.flatMap(([what, words, tip]): Row[] => {
      const size = memory?.[what];
      return size === undefined || size === 0 ? [] : [[words, bytes(size), `${size} bytes${tip}`]];
    }),
    ...(details.shapes === undefined || details.shapes === '' ? [] : [['shapes', details.shapes, details.shapes] as const]),
    ...(details.withoutModule === undefined ? [] : [['no module', details.withoutModule, details.withoutModule] as const]),
  ];
}

export const table = (rows: readonly Row[]): HTMLElement =>
  element(
    'table',
    { class: 'times' },
    ...rows.map(([name, value, tip]) => element('tr', { title: tip }, element('td', { text: name }), element('td', { text: value }))),
  );

const heading = (text: string): HTMLElement => element('h2', { text });

function evidence(each: Evidence, store: Store): HTMLElement {
  const { path } = each;
  const words = each.where === '' ? each.what : `${each.what}: ${placeName(each.where)}`;
  const what =
    path === undefined ? element('span', { text: words }) : button(words, 'show this block', () => store.dispatch({ type: 'go', path }));
  return element('li', {}, what, element('span', { class: 'number', text: each.time > 0 ? time(each.time) : '' }));
}

function verdictPart(verdict: Verdict | undefined, store: Store): HTMLElement[] {
  if (verdict === undefined) return [];
  return [
    heading('Why'),
    element('p', { class: 'verdict', text: spoken(verdict.kind) }),
    element('ul', { class: 'evidence' }, ...verdict.evidence.map((each) => evidence(each, store))),
  ];
}

interface KernelKind {
  readonly label: string;
  readonly type: string;
  readonly calls: number;
  readonly time: number;
  readonly names: readonly string[];
}

// What the panel shows of a kernel; kernels that it cannot tell apart are one row.
function kernelKinds(kernels: readonly Kernel[], device: boolean): KernelKind[] {
  const kinds = new Map<string, KernelKind>();
  for (const kernel of kernels) {
    const told = kernel.short.split(' ');
    const special = [kernel.type, kernel.tile].filter((each) => each !== undefined && each !== '' && !told.includes(each)).join(' ');
    const type = !device ? '' : special !== '' ? special : told.includes(kernel.family) ? '' : kernel.family;
    const label = shortName(kernel.short || kernel.name);
    const key = JSON.stringify([label, type]);
    const before = kinds.get(key);
    const calls = kernel.calls + (before?.calls ?? 0);
    kinds.set(key, { label, type, calls, time: kernel.time + (before?.time ?? 0), names: [...(before?.names ?? []), kernel.name] });
  }
  return [...kinds.values()].sort((a, b) => b.time - a.time);
}

const kernelRow = ({ label, type, calls, time: ns, names }: KernelKind): HTMLElement =>
  element(
    'tr',
    { title: [...names.slice(0, NAMES_IN_TIP), exact(ns)].join('\n') },
    element('td', { text: `${label}${calls > 1 ? ` ×${calls}` : ''}`, attributes: type === '' ? { colspan: '2' } : {} }),
    ...(type === '' ? [] : [element('td', { class: 'dim', text: type })]),
    element('td', { text: time(ns) }),
  );

// What the panel has no row for, and what the server left out.
export const othersOf = (kinds: readonly Pick<Others, 'time'>[], others: Others | undefined): Others => ({
  count: kinds.length + (others?.count ?? 0),
  time: kinds.reduce((sum, each) => sum + each.time, others?.time ?? 0),
});

// Without a device it is the operators that do the work.
export function kernelsPart(kernels: readonly Kernel[], others: Others | undefined, device: boolean): HTMLElement[] {
  if (kernels.length === 0) return [];
  const kinds = kernelKinds(kernels, device);
  const rest = othersOf(kinds.slice(MOST_KERNELS), others);
  const more =
    rest.count === 0
      ? []
      : [
          element(
            'tr',
            { class: 'dim' },
            element('td', { text: `${rest.count} more` }),
            element('td'),
            element('td', { text: time(rest.time) }),
          ),
        ];
  return [
    heading(device ? 'Kernels' : 'Operators'),
    element('table', { class: 'kernels' }, ...kinds.slice(0, MOST_KERNELS).map(kernelRow), ...more),
  ];
}

function code(place: Place): HTMLElement {
  const lines = place.text.map((text, offset) => {
    const line = place.firstLine + offset;
    const here = line >= place.line && line <= Math.max(place.line, place.endLine);
    return element(
      'div',
      { class: here ? 'line here' : 'line' },
      element('span', { class: 'number', text: String(line + 1) }),
      element('code', { text }),
    );
  });
  return element('div', { class: 'code' }, ...lines);
}

const PLACE_WORDS: Readonly<Record<Place['what'], string>> = { definition: 'defined', call: 'called', class: 'class', stage: 'stage' };

function placePart(place: Place, profile: string | undefined, commands: Commands): HTMLElement {
  const name = `${fileName(place.file)}:${place.line + 1}`;
  const words = `${PLACE_WORDS[place.what] ?? place.what}${place.function === '' ? '' : ` in ${place.function}`}${place.guessed ? ' (guessed from the source)' : ''}`;
  return element(
    'div',
    { class: 'place' },
    button(name, `show ${place.file}:${place.line + 1} in the editor`, () => commands.reveal({ ...place, profile })),
    element('span', { class: 'dim', text: ` ${words}` }),
    ...(place.text.length > 0 ? [code(place)] : []),
  );
}

function placesPart({ places, profile }: Details, commands: Commands): HTMLElement[] {
  return places.length === 0 ? [] : [heading('Code'), ...places.map((each) => placePart(each, profile, commands))];
}

export function title(label: string, kind: string | undefined, dim: string, full = label): HTMLElement[] {
  return [
    element(
      'div',
      { class: 'title', title: full },
      element('b', { text: shortName(label) }),
      element('span', { class: 'dim', text: kind === undefined || kind === '' ? '' : ` ${kind}` }),
    ),
    element('div', { class: 'dim', text: dim }),
  ];
}

const times = (count: number): string => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`);

// Findings are of the step that the verdict of the whole is of.
function stepHelps({ kind, step }: Details, { overview, whatIfs }: State, commands: Commands): HTMLElement[] {
  if (kind !== 'step' || overview === undefined || step !== overview.representative) return [];
  return helpsPart(overview, whatIfs.answer?.outcomes ?? [], commands);
}

// Communication that no device does is what the main thread waits for.
const waitsForOthers = ({ kind, name, times: { device } }: Details): HTMLElement[] =>
  kind === 'communication' && (device ?? 0) === 0
    ? [element('p', { text: `The main thread waits for the other ranks in ${name ?? 'an exchange'}.` })]
    : [];

const pinButton = (commands: Commands): HTMLElement =>
  button('pin', 'pin this block with a note (m)', () => commands.run('pin'), 'tool pin', 'pin this block');

function detailsPart(details: Details, state: State, seen: Seen | undefined, store: Store, commands: Commands): HTMLElement[] {
  const calls = details.kind === 'step' || details.kind === 'stage' ? [] : [`called ${times(details.calls)}`];
  const saysClass = details.label.split(' ').at(-1) === details.class;
  const direction = ['', 'backward', 'recomputed in the backward'][details.direction] ?? '';
  const dim = [
    details.class === undefined ? details.kind : '',
    direction,
    ...calls,
    ...(details.kind === 'step' ? [] : [ofStep(details.share)]),
  ];
  const canPin = details.path.length > 0 && state.view.cursor?.before === undefined;
  return [
    ...(canPin ? [pinButton(commands)] : []),
    ...title(
      details.label,
      saysClass ? undefined : details.class,
      dim.filter((each) => each !== '').join(' · '),
      details.module ?? details.name,
    ),
    ...differencePart(state),
    table([...(seen === undefined ? [] : seenRows(seen)), ...rowsOf(details)]),
    ...waitsForOthers(details),
    ...verdictPart(details.verdict, store),
    ...shortensPart(details.shortens),
    ...stepHelps(details, state, commands),
    ...kernelsPart(details.kernels, details.moreKernels, (details.times.device ?? 0) > 0),
    ...costsPart(details),
    ...collectivesPart(details.collectives),
    ...placesPart(details, commands),
  ];
}

// What is drawn under the cursor, beside what is known of the whole block.
function seenRows(seen: Seen): Row[] {
  const gaps = gapWords(seen);
  const whole = seen.whole > seen.busy ? `, of ${exact(seen.whole)} of this block on tracks of this kind` : '';
  return [
    [
      seen.kind === 'idle' || seen.kind === 'gap' ? 'span' : `busy on ${seen.trackName}`,
      busyWords(seen.busy, seen.whole),
      `${exact(seen.busy)}, from ${exact(seen.start)}${whole}`,
    ],
    ...(gaps === '' ? [] : [['', gaps, 'its work on this track has gaps: nothing of it runs there'] as const]),
  ];
}

// Idle time and merged blocks have no path: the level's own columns say what there is to say.
function seenPart(seen: Seen, state: State, store: Store, commands: Commands): HTMLElement[] {
  const advice: Readonly<Record<string, string>> = {
    idle: 'No work of this step runs here.',
    wait: 'The host waits for the device here.',
    gap: 'No step holds this time.',
    step: 'Enter or a double click opens it.',
    stage: seen.segment === '' ? 'No step holds this work.' : 'Enter or a double click opens its step.',
    communication: 'Enter or a double click opens its step.',
    exposed: 'Nothing else runs meanwhile: the step is longer by this communication.',
    hidden: 'Other work runs at the same time, so this communication costs nothing by itself.',
    path: 'On the critical path: had it been shorter, the run would have ended sooner.',
    merged: 'These blocks share a pixel. Zoom in (z) to see each of them.',
  };
  return [
    ...title(blockWords(seen), undefined, `${seen.trackName} · ${spoken(seen.kind)}`),
    table(seenRows(seen)),
    element('p', { text: advice[seen.kind] ?? '' }),
    ...(seen.kind === 'idle' ? idlePart(idleUnder(state), state.failures['idle'], store, commands) : []),
  ];
}

// How the time of the recording divides: its steps, and what no step holds.
function recordingPart({ overview, levels }: State): HTMLElement[] {
  const level = levels[0]?.whole?.level;
  if (overview === undefined || level === undefined) return [element('h2', { text: 'Recording' }), element('div', { class: 'skeleton' })];
  const whole = level.extent[1] - level.extent[0];
  const inSteps = overview.steps.reduce((sum, { wall }) => sum + wall, 0);
  const row = (name: string, ns: number): Row => [name, `${time(ns)} (${percent(ns / whole)} of the recording)`, exact(ns)];
  const outside = Math.max(0, whole - inSteps);
  return [
    element('h2', { text: 'Recording' }),
    ...title(
      overview.steps.length === 1 ? '1 step' : `${overview.steps.length} steps`,
      undefined,
      `${time(whole)} from the first event to the last`,
    ),
    table([row('in steps', inSteps), row('outside of them', outside)]),
    element('p', { text: 'Enter or a double click on a block opens its step.' }),
  ];
}

// "Selected, before" where there are two timelines.
function headingOf({ view }: State): string {
  const what = view.cursor === undefined ? 'Step' : 'Selected';
  if (!isBeside(view)) return what;
  return `${what}, ${view.cursor?.before === undefined ? 'after' : 'before'}`;
}

export function renderDetails(state: State, store: Store, commands: Commands, width: number): HTMLElement[] {
  const { details, failures, view } = state;
  const path = selectedPath(view);
  const found = seenUnderCursor(state, width);
  const seen = found === undefined ? undefined : inOwnTime(state, view.cursor!.depth, found);
  const top = heading(headingOf(state));
  if (isRecording(view)) return seen === undefined ? recordingPart(state) : [top, ...seenPart(seen, state, store, commands)];
  if (view.cursor !== undefined && path === undefined) return seen === undefined ? [top] : [top, ...seenPart(seen, state, store, commands)];
  if (failures['details'] !== undefined) return [top, element('p', { class: 'error', text: failures['details'] })];
  const side = sideOf(state, view.cursor?.before !== undefined);
  const known = side !== undefined && isAbout(details, side, path ?? []) ? details : undefined;
  if (known === undefined) return [top, element('div', { class: 'skeleton' })];
  return [top, ...detailsPart(known, state, seen, store, commands)];
}
