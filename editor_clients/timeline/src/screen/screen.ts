// The parts of the screen, and which of them a change of the state concerns.
import { button, element, refill, tableRow } from '../base/dom';
import { createBatchBars } from '../batch/bars';
import { createBatchCommands } from '../batch/commands';
import { createCommands, type Commands } from '../commands/commands';
import { commandFor, COMMANDS, keyNames, type Command } from '../commands/keys';
import { createHighlight, createRest, restOnElements } from '../commands/point';
import type { Ways } from '../commands/ways';
import { renderCompare } from '../compare/compare';
import type { Save } from '../drawing/export_picture';
import { createLevels } from '../levels/levels';
import { renderDetails } from '../panel/details';
import { createPinList } from '../panel/pin_list';
import { renderRange } from '../panel/range';
import { createPlanCommands } from '../plan/commands';
import { createPlanPanel } from '../plan/panel';
import { shortName } from '../server/columns';
import type { Transport } from '../server/transport';
import { isRecording } from '../state/address';
import { isBeside, isComparing } from '../state/beside';
import type { InState, InView } from '../state/in_state';
import type { Dispatch } from '../state/state';
import type { Store } from '../store/store';
import { cursorAfter } from '../view/cursor';
import { seenUnderCursor } from '../view/shown';
import { renderBreakdown } from './breakdown';
import { renderHeader, renderStory } from './header';
import { part, type Part } from './parts';
import { createSearch } from './search';
import { markSteps, renderLegend, renderSteps, stagesShown } from './steps';
import { sentence, spokenSelection } from './words';

// Commands that also have a button above the levels: nobody has to know a key or a double click.
const BUTTONS: readonly (readonly [command: Command, text: string])[] = [
  ['open', 'open'],
  ['close', 'up'],
  ['zoom in', '+'],
  ['zoom out', '−'],
  ['fit', 'fit'],
  ['sum', 'sum'],
  ['compare steps', 'against usual'],
  ['unfold', 'unfold'],
  ['code', 'code'],
  ['export picture', 'SVG'],
  ['export pixels', 'PNG'],
  ['export window', 'Perfetto'],
  ['help', '?'],
];

const wordsOf = (command: Command): string => {
  const { keys, words } = COMMANDS.find((each) => each.command === command)!;
  return `${words} (${keyNames(keys)})`;
};

function helpTable(): HTMLElement {
  const rows = COMMANDS.map(({ keys, words }) => tableRow({}, element('kbd', { text: keyNames(keys) }), words));
  return element('table', {}, ...rows);
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLInputElement || target instanceof HTMLSelectElement;

type Opened = InState<'overview' | 'levels'> & InView<'path' | 'step'>;

function renderCrumbs({ overview, levels, view }: Opened, dispatch: Dispatch): HTMLElement[] {
  const labels = view.path.map((segment, depth) => levels[depth + 1]?.whole?.level.crumbs.at(-1)?.label ?? segment);
  const names = [isRecording(view) ? 'recording' : `step ${overview?.steps[view.step ?? 0]?.index ?? ''}`, ...labels];
  return names.map((name, depth) =>
    button(
      shortName(name),
      `${name}\nclose the levels below this one`,
      () => depth < view.path.length && dispatch({ type: 'close', depth }),
    ),
  );
}

export function createScreen(store: Store, transport: Transport, save: Save): void {
  const { dispatch } = store;
  const ways: Ways = { read: store.get, dispatch, request: transport.request };
  const rest = createRest(dispatch);
  const levels = createLevels(store.get(), { dispatch, measured: store.setWidth, rest, save, commands: () => commands });
  const leave = (): void => levels.pane.focus();
  const header = element('header');
  const steps = element('div', { class: 'steps' });
  const legend = element('div', { class: 'legend', attributes: { 'aria-label': 'colours' } });
  const story = element('p', { class: 'story', attributes: { 'aria-label': 'what limits the step' } });
  const crumbs = element('nav', { class: 'crumbs', attributes: { 'aria-label': 'open levels' } });
  const said = element('span', { class: 'said', attributes: { role: 'status', 'aria-live': 'polite' } });
  const spokenLine = element('div', { class: 'spoken', attributes: { 'aria-live': 'polite' } });
  const details = element('div');
  const pins = createPinList(dispatch, leave);
  const breakdown = element('section', { class: 'breakdown', attributes: { 'aria-label': 'breakdown' } });
  const batch = createBatchBars(createBatchCommands(ways));
  const plan = createPlanPanel(createPlanCommands(ways));
  const help = element('div', { class: 'help', attributes: { role: 'dialog', 'aria-label': 'keys' } });
  const search = createSearch(dispatch, () => commands, leave);
  const highlight = createHighlight(ways);
  const commands: Commands = createCommands(ways, {
    width: levels.trackWidth,
    focusSearch: search.focus,
    save,
    editNote: pins.editNote,
    savePicture: levels.savePicture,
  });
  restOnElements(breakdown, rest);

  const tools = element(
    'div',
    { class: 'tools' },
    ...BUTTONS.map(([command, text]) => button(text, wordsOf(command), () => commands.run(command), 'tool', wordsOf(command))),
  );
  document.body.append(
    element('div', { class: 'top' }, header, search.root),
    element('div', { class: 'strip' }, steps, legend),
    element('main', {}, story, element('div', { class: 'bar' }, crumbs, said, tools), levels.pane),
    element('aside', { attributes: { 'aria-label': 'selected block' } }, pins.root, details),
    breakdown,
    element('div', { class: 'costs' }, batch.root, plan.root),
    help,
    spokenLine,
  );

  const parts: readonly Part[] = [
    part({
      of: ['overview', 'levels', 'lanes', 'beside', 'failures', 'details', 'arrows', 'range', 'pointed', 'leading'],
      inView: ['profile', 'step', 'before', 'beforeStep', 'alone', 'path', 'zooms', 'lanes', 'cursor', 'pins'],
      draw: levels.render,
    }),
    part({ of: ['pointed'], draw: ({ pointed }) => highlight(pointed) }),
    part({ of: ['overview', 'profiles'], inView: ['before'], draw: (state) => refill(header, ...renderHeader(state, dispatch)) }),
    part({ of: ['overview'], draw: ({ overview }) => refill(story, ...renderStory(overview, dispatch)) }),
    part({
      of: ['overview'],
      inView: ['step', 'beforeStep'],
      draw(state, before) {
        if (before === undefined || state.overview !== before.overview) steps.replaceChildren(...renderSteps(state, dispatch));
        else markSteps(steps, state, before);
        setTimeout(() => steps.querySelector('.step.shown')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })); // after the picture
      },
    }),
    part({
      of: ['overview', 'levels', 'beside'],
      draw({ overview, levels: own, beside }) {
        const known = [...own, ...beside.levels].map((data) => data?.whole?.level);
        legend.replaceChildren(...renderLegend(stagesShown(overview, known), levels.colours().theme));
      },
    }),
    part({ of: ['overview', 'levels'], inView: ['path', 'step'], draw: (state) => refill(crumbs, ...renderCrumbs(state, dispatch)) }),
    part({
      of: ['connection', 'failures', 'profiles', 'overview', 'note'],
      draw(state) {
        const { text, error } = sentence(state);
        said.textContent = text;
        said.title = text;
        said.classList.toggle('error', error);
      },
    }),
    part({
      of: ['overview', 'details', 'idle', 'failures', 'levels', 'range', 'beside', 'whatIfs'],
      inView: ['cursor', 'alone'],
      quiet: ['profile', 'step', 'before', 'beforeStep', 'path', 'zooms'],
      draw(state) {
        const seen = seenUnderCursor(state, levels.trackWidth());
        const { range } = state;
        const chosen = range !== undefined && renderRange(range, state.failures['range'], isBeside(state.view));
        refill(details, ...(chosen || renderDetails(state, seen, dispatch, commands)));
        const words = spokenSelection(state, seen);
        if (spokenLine.textContent !== words) spokenLine.textContent = words;
      },
    }),
    part({
      of: ['overview', 'breakdowns', 'drill', 'comparisons', 'expanded', 'failures'],
      inView: ['step', 'before', 'beforeStep', 'alone'],
      draw(state) {
        breakdown.classList.toggle('low', isBeside(state.view));
        const comparing = isComparing(state.view);
        const charts = (): HTMLElement[] => renderBreakdown(state, levels.colours(), dispatch, commands.reveal);
        refill(breakdown, ...(comparing ? renderCompare(state, dispatch) : charts()));
      },
    }),
    part({ of: ['pinned', 'overview'], inView: ['pins', 'cursor', 'step'], quiet: ['path'], draw: pins.render }),
    part({ of: ['batch', 'failures'], draw: (state) => batch.render(state.batch, state.failures['batch sizes']) }),
    part({ of: ['whatIfs', 'failures'], draw: (state) => plan.render(state.whatIfs, state.failures['what-ifs']) }),
    part({ of: ['search', 'overview'], draw: search.render }),
    part({
      of: ['help'],
      draw({ help: open }) {
        if (open && help.childElementCount === 0) help.append(element('h2', { text: 'Keys' }), helpTable());
        help.classList.toggle('open', open);
      },
    }),
  ];

  const draw: Part = (state, before) => parts.forEach((drawn) => drawn(state, before));
  store.subscribe((state, before) => {
    draw(state, before);
    dispatch(...cursorAfter(state, before, levels.trackWidth()));
  });
  draw(store.get(), undefined);

  document.addEventListener('keydown', (event) => {
    if (isTyping(event.target)) return;
    const command = commandFor(event);
    const pressed =
      event.target instanceof HTMLElement && event.target.matches('button, summary') && (event.key === 'Enter' || event.key === ' ');
    if (command === undefined || pressed) return;
    event.preventDefault();
    commands.run(command);
  });

  // VS Code changes the classes of the body when its theme changes; a browser its preference.
  const recolour = (): void => {
    levels.recolour();
    draw(store.get(), undefined);
  };
  new MutationObserver(recolour).observe(document.body, { attributeFilter: ['class'] });
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'])
    matchMedia(query).addEventListener('change', recolour);
}
