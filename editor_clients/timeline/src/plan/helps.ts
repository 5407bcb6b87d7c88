// What could make the step shorter, a row for each change: by how much at most, as a rule tells it, or as it was predicted and verified. A row
// opens to its evidence and conditions.
import { button, element } from '../base/dom';
import { exact, fileName } from '../base/format';
import type { Reveal } from '../commands/reveal';
import type { CommunicationSensitivity, Overview, Sensitivity } from '../server/messages';
import type { Outcome } from '../server/what_if_messages';
import { changeOf, helpsOf, type Gain, type Help } from './gains';

export const sensitivityWords = ({ kernels, host }: Sensitivity): string =>
  `if kernels took half their time ${changeOf(kernels)}, if the host did ${changeOf(host)}`;

export const communicationWords = ({ hidden, without }: CommunicationSensitivity): string =>
  `if communication were hidden behind computing ${changeOf(hidden)}, without communication ${changeOf(without)}`;

const unfolded = new Set<string>(); // rows that somebody opened: they stay open when the panel is drawn anew

const place = (share: number): string => `${(share * 100).toFixed(2)}%`;

function bar({ certainty, share, interval }: Gain): HTMLElement {
  const spread =
    interval === undefined ? [] : [element('i', { class: 'spread', style: { left: place(interval[0]), right: place(1 - interval[1]) } })];
  return element('i', { class: `share ${certainty}`, style: { '--share': place(share) } }, ...spread);
}

const label = ({ words }: Gain): HTMLElement => element('span', { class: 'number', text: words });

function folding(key: string, ...children: readonly HTMLElement[]): HTMLDetailsElement {
  const made = element(
    'details',
    {
      on: {
        toggle: () => {
          if (made.open) unfolded.add(key);
          else unfolded.delete(key);
        },
      },
    },
    ...children,
  );
  made.open = unfolded.has(key);
  return made;
}

function row({ key, title, gains, why, conditions, place: at }: Help, profile: string, tip: string, reveal: Reveal): HTMLElement {
  const summary = element(
    'summary',
    { title: tip },
    element('span', { class: 'what', text: title }),
    ...gains.map((gain) => element('span', { class: 'gain' }, label(gain), bar(gain))),
  );
  const reasons = element(
    'ul',
    { class: 'evidence' },
    ...why.map(([words, value]) => element('li', {}, element('span', { text: words }), element('span', { class: 'number', text: value }))),
    ...conditions.map((condition) => element('li', { class: 'dim', text: condition })),
  );
  const folded = folding(`${profile} ${key}`, summary, reasons);
  if (at === undefined) return element('li', {}, folded);
  const { file, line } = at;
  const name = `${fileName(file)}:${line + 1}`;
  const link = button(name, `show ${file}:${line + 1} in the editor`, () => reveal(at), 'link', `${name}, ${title}`);
  return element('li', {}, folded, link);
}

// What was replayed and promises nothing, in one row.
function othersRow(others: readonly Help[], profile: string): HTMLElement[] {
  if (others.length === 0) return [];
  const words = others.length === 1 ? '1 more was replayed: no certain gain' : `${others.length} more were replayed: no certain gain`;
  const list = others.map(({ title, gains }) => element('li', {}, element('span', { text: title }), ...gains.map((gain) => label(gain))));
  const summary = element('summary', {}, element('span', { class: 'what dim', text: words }));
  return [element('li', { class: 'others' }, folding(`${profile} others`, summary, element('ul', { class: 'evidence' }, ...list)))];
}

export function helpsPart(overview: Overview, outcomes: readonly Outcome[], reveal: Reveal): HTMLElement[] {
  const { profile, findings, sensitivity, communicationSensitivity } = overview;
  const { rows, others } = helpsOf(findings, outcomes);
  const depends = [
    ...(sensitivity === undefined ? [] : [sensitivityWords(sensitivity)]),
    ...(communicationSensitivity === undefined ? [] : [communicationWords(communicationSensitivity)]),
  ];
  if (rows.length === 0 && others.length === 0 && depends.length === 0) return [];
  const tipOf = ({ title, gains }: Help): string => {
    const bound = gains[0]?.certainty === 'most' ? findings.find((finding) => finding.title === title) : undefined;
    return bound === undefined || bound.onlyMeasured === true ? title : `${title}: saves at most ${exact(bound.savedAtMost)}`;
  };
  const items = [...rows.map((help) => row(help, profile.id, tipOf(help), reveal)), ...othersRow(others, profile.id)];
  return [
    element('h2', { text: 'What could help' }),
    ...(items.length === 0 ? [] : [element('ul', { class: 'helps' }, ...items)]),
    ...depends.map((text) => element('p', { class: 'dim sensitivity', text })),
  ];
}
