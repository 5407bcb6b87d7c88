// The panel beside the levels: what the selected block is, where its time goes, why, and in which lines.
import { button, element } from '../base/dom';
import { fileName, ofStep, placeName, spoken, time } from '../base/format';
import type { Commands } from '../commands/commands';
import type { Reveal } from '../commands/reveal';
import { differencePart, type Selected } from '../compare/difference';
import { helpsPart } from '../plan/helps';
import type { Details, Place } from '../server/details_messages';
import type { Evidence, Verdict } from '../server/messages';
import { isRecording } from '../state/address';
import { isBeside, sideOf } from '../state/beside';
import type { InState } from '../state/in_state';
import { selectedPath, type Dispatch } from '../state/state';
import { isAbout } from '../store/need';
import { inOwnTime, type Seen } from '../view/shown';
import { rowsOf } from './block_rows';
import { collectivesPart } from './collectives';
import { costsPart, shortensPart } from './costs';
import { kernelsPart } from './kernels';
import { heading, table, title } from './pieces';
import { recordingPart, seenPart, seenRows } from './seen_part';

type Used = Pick<Commands, 'reveal' | 'run'>;

function evidence(each: Evidence, dispatch: Dispatch): HTMLElement {
  const { path } = each;
  const words = each.where === '' ? each.what : `${each.what}: ${placeName(each.where)}`;
  const what =
    path === undefined ? element('span', { text: words }) : button(words, 'show this block', () => dispatch({ type: 'go', path }));
  return element('li', {}, what, element('span', { class: 'number', text: each.time > 0 ? time(each.time) : '' }));
}

function verdictPart(verdict: Verdict | undefined, dispatch: Dispatch): HTMLElement[] {
  if (verdict === undefined) return [];
  return [
    heading('Why'),
    element('p', { class: 'verdict', text: spoken(verdict.kind) }),
    element('ul', { class: 'evidence' }, ...verdict.evidence.map((each) => evidence(each, dispatch))),
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

function placePart(place: Place, profile: string | undefined, reveal: Reveal): HTMLElement {
  const name = `${fileName(place.file)}:${place.line + 1}`;
  const words = `${PLACE_WORDS[place.what] ?? place.what}${place.function === '' ? '' : ` in ${place.function}`}${place.guessed ? ' (guessed from the source)' : ''}`;
  return element(
    'div',
    { class: 'place' },
    button(name, `show ${place.file}:${place.line + 1} in the editor`, () => reveal({ ...place, profile })),
    element('span', { class: 'dim', text: ` ${words}` }),
    ...(place.text.length > 0 ? [code(place)] : []),
  );
}

function placesPart({ places, profile }: Details, reveal: Reveal): HTMLElement[] {
  return places.length === 0 ? [] : [heading('Code'), ...places.map((each) => placePart(each, profile, reveal))];
}

const times = (count: number): string => (count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`);

// Findings are of the step that the verdict of the whole is of.
function stepHelps({ kind, step }: Details, { overview, whatIfs }: InState<'overview' | 'whatIfs'>, reveal: Reveal): HTMLElement[] {
  if (kind !== 'step' || overview === undefined || step !== overview.representative) return [];
  return helpsPart(overview, whatIfs.answer?.outcomes ?? [], reveal);
}

// Communication that no device does is what the main thread waits for.
const waitsForOthers = ({ kind, name, times: { device } }: Details): HTMLElement[] =>
  kind === 'communication' && (device ?? 0) === 0
    ? [element('p', { text: `The main thread waits for the other ranks in ${name ?? 'an exchange'}.` })]
    : [];

const pinButton = ({ run }: Used): HTMLElement =>
  button('pin', 'pin this block with a note (m)', () => run('pin'), 'tool pin', 'pin this block');

type Described = Selected & InState<'whatIfs'>;

function detailsPart(details: Details, state: Described, seen: Seen | undefined, dispatch: Dispatch, commands: Used): HTMLElement[] {
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
    ...verdictPart(details.verdict, dispatch),
    ...shortensPart(details.shortens),
    ...stepHelps(details, state, commands.reveal),
    ...kernelsPart(details.kernels, details.moreKernels, (details.times.device ?? 0) > 0),
    ...costsPart(details),
    ...collectivesPart(details.collectives),
    ...placesPart(details, commands.reveal),
  ];
}

// "Selected, before" where there are two timelines.
function headingOf(view: Selected['view']): string {
  const what = view.cursor === undefined ? 'Step' : 'Selected';
  if (!isBeside(view)) return what;
  return `${what}, ${view.cursor?.before === undefined ? 'after' : 'before'}`;
}

type Panel = Described & InState<'levels' | 'idle' | 'failures'>;

// `drawn`: what stands under the cursor in the picture.
export function renderDetails(state: Panel, drawn: Seen | undefined, dispatch: Dispatch, commands: Used): HTMLElement[] {
  const { details, failures, view } = state;
  const path = selectedPath(view);
  const seen = drawn === undefined ? undefined : inOwnTime(state, view.cursor!.depth, drawn);
  const top = heading(headingOf(view));
  if (isRecording(view) && seen === undefined) return recordingPart(state);
  if (isRecording(view) || (view.cursor !== undefined && path === undefined))
    return [top, ...(seen === undefined ? [] : seenPart(seen, state, dispatch, commands.reveal))];
  if (failures['details'] !== undefined) return [top, element('p', { class: 'error', text: failures['details'] })];
  const side = sideOf(state, view.cursor?.before !== undefined);
  const known = side !== undefined && isAbout(details, side, path ?? []) ? details : undefined;
  if (known === undefined) return [top, element('div', { class: 'skeleton' })];
  return [top, ...detailsPart(known, state, seen, dispatch, commands)];
}
