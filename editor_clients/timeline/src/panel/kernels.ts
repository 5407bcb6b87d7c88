// The panel's table of kernels, longest first; without a device, of the operators that do the work.
import { element, tableRow } from '../base/dom';
import { exact, time } from '../base/format';
import { shortName } from '../server/columns';
import type { Kernel, Others } from '../server/details_messages';
import { heading } from './pieces';

const MOST_KERNELS = 8;
const NAMES_IN_TIP = 4;

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
  tableRow(
    { title: [...names.slice(0, NAMES_IN_TIP), exact(ns)].join('\n') },
    element('td', { text: `${label}${calls > 1 ? ` ×${calls}` : ''}`, attributes: type === '' ? { colspan: '2' } : {} }),
    ...(type === '' ? [] : [element('td', { class: 'dim', text: type })]),
    time(ns),
  );

// What the panel has no row for, and what the server left out.
export const othersOf = (kinds: readonly Pick<Others, 'time'>[], others: Others | undefined): Others => ({
  count: kinds.length + (others?.count ?? 0),
  time: kinds.reduce((sum, each) => sum + each.time, others?.time ?? 0),
});

export function kernelsPart(kernels: readonly Kernel[], others: Others | undefined, device: boolean): HTMLElement[] {
  if (kernels.length === 0) return [];
  const kinds = kernelKinds(kernels, device);
  const rest = othersOf(kinds.slice(MOST_KERNELS), others);
  const more = rest.count === 0 ? [] : [tableRow({ class: 'dim' }, `${rest.count} more`, '', time(rest.time))];
  return [
    heading(device ? 'Kernels' : 'Operators'),
    element('table', { class: 'kernels' }, ...kinds.slice(0, MOST_KERNELS).map(kernelRow), ...more),
  ];
}
