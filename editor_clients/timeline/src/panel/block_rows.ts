// The rows of the panel about a block: its times, what its calls vary, its memory.
import { bytes, exact, time } from '../base/format';
import type { Details, Times } from '../server/details_messages';
import type { Row } from './pieces';

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
