// The parts of the screen, and which of them a change of the state concerns.
import { isRecording } from './address';
import { createBatchBars } from './batch_bars';
import { createBatchCommands } from './batch_commands';
import { isBeside, isComparing } from './beside';
import { renderBreakdown } from './breakdown';
import { shortName } from './columns';
import { createCommands, type Commands } from './commands';
import { renderCompare } from './compare';
import { renderDetails } from './details';
import { button, element, refill } from './dom';
import { savePicture, type Save } from './export_picture';
import { renderHeader, renderStory } from './header';
import { commandFor, COMMANDS, keyNames, type Command } from './keys';
import { createLevels } from './levels';
import { createPinList } from './pin_list';
import { createPlanPanel } from './plan_panel';
import { createRest, highlightLines, restOnElements } from './point';
import { renderRange } from './range';
import { createSearch } from './search';
import { sentence, spokenSelection } from './screen_words';
import type { State } from './state';
import { markSteps, renderLegend, renderSteps, stagesShown } from './steps';
import type { Store } from './store';
import type { Transport } from './transport';
import { createPlanCommands } from './what_if_commands';

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
  const rows = COMMANDS.map(({ keys, words }) =>
    element('tr', {}, element('td', {}, element('kbd', { text: keyNames(keys) })), element('td', { text: words })),
  );
  return element('table', {}, ...rows);
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLInputElement || target instanceof HTMLSelectElement;

// A part of the screen, and what of the state it is drawn from.
interface Part {
  readonly of: readonly (keyof State)[];
  readonly inView?: readonly (keyof State['view'])[];
  readonly draw: (state: State, before: State | undefined) => void;
}

// Draws the parts whose state has changed; all where there was none before.
const partsDrawn =
  (parts: readonly Part[]) =>
  (state: State, before: State | undefined): void => {
    for (const { of, inView = [], draw } of parts) {
      const changed =
        before === undefined || of.some((key) => state[key] !== before[key]) || inView.some((key) => state.view[key] !== before.view[key]);
      if (changed) draw(state, before);
    }
  };

function renderCrumbs(state: State, store: Store): HTMLElement[] {
  const labels = state.view.path.map((segment, depth) => state.levels[depth + 1]?.whole?.level.crumbs.at(-1)?.label ?? segment);
  const names = [isRecording(state.view) ? 'recording' : `step ${state.overview?.steps[state.view.step ?? 0]?.index ?? ''}`, ...labels];
  return names.map((name, depth) =>
    button(
      shortName(name),
      `${name}\nclose the levels below this one`,
      () => depth < state.view.path.length && store.dispatch({ type: 'close', depth }),
    ),
  );
}

export function createScreen(store: Store, transport: Transport, save: Save): void {
  const rest = createRest(store);
  const levels = createLevels(store, rest);
  const header = element('header');
  const steps = element('div', { class: 'steps' });
  const legend = element('div', { class: 'legend', attributes: { 'aria-label': 'colours' } });
  const story = element('p', { class: 'story', attributes: { 'aria-label': 'what limits the step' } });
  const crumbs = element('nav', { class: 'crumbs', attributes: { 'aria-label': 'open levels' } });
  const said = element('span', { class: 'said', attributes: { role: 'status', 'aria-live': 'polite' } });
  const spokenLine = element('div', { class: 'spoken', attributes: { 'aria-live': 'polite' } });
  const details = element('div');
  const pins = createPinList(store, () => levels.pane.focus());
  const breakdown = element('section', { class: 'breakdown', attributes: { 'aria-label': 'breakdown' } });
  const batch = createBatchBars(createBatchCommands(store, transport));
  const plan = createPlanPanel(createPlanCommands(store, transport));
  const help = element('div', { class: 'help', attributes: { role: 'dialog', 'aria-label': 'keys' } });
  let commands: Commands;
  const search = createSearch(
    store,
    () => commands,
    () => levels.pane.focus(),
  );

  commands = createCommands(store, transport, {
    width: levels.trackWidth,
    focusSearch: search.focus,
    save,
    editNote: () => pins.editNote(),
    savePicture: (kind) => savePicture(save, kind, levels.picture(), levels.marks(), levels.colours(), 'hotlens-timeline'),
  });
  levels.bindCommands(commands);
  restOnElements(breakdown, rest);
  highlightLines(store, transport);

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

  const drawParts = partsDrawn([
    {
      of: ['overview', 'profiles'],
      inView: ['profile', 'before', 'beforeStep'],
      draw: (state) => refill(header, ...renderHeader(state, store)),
    },
    { of: ['overview'], draw: (state) => refill(story, ...renderStory(state, store)) },
    {
      of: ['overview'],
      inView: ['step', 'beforeStep'],
      draw(state, before) {
        if (before === undefined || state.overview !== before.overview) steps.replaceChildren(...renderSteps(state, store));
        else markSteps(steps, state, before);
        setTimeout(() => steps.querySelector('.step.shown')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })); // after the picture
      },
    },
    {
      of: ['overview', 'levels', 'beside'],
      draw: (state) => legend.replaceChildren(...renderLegend(stagesShown(state), levels.colours().theme)),
    },
    { of: ['overview', 'levels'], inView: ['path', 'step'], draw: (state) => refill(crumbs, ...renderCrumbs(state, store)) },
    {
      of: ['connection', 'failures', 'profiles', 'overview', 'note'],
      draw(state) {
        const { text, error } = sentence(state);
        said.textContent = text;
        said.title = text;
        said.classList.toggle('error', error);
      },
    },
    {
      of: ['overview', 'details', 'idle', 'failures', 'levels', 'range', 'beside', 'whatIfs'],
      inView: ['cursor', 'alone'],
      draw(state) {
        const width = levels.trackWidth();
        const { range } = state;
        const chosen = range !== undefined && renderRange(range, state.failures['range'], isBeside(state.view));
        refill(details, ...(chosen || renderDetails(state, store, commands, width)));
        const words = spokenSelection(state, width);
        if (spokenLine.textContent !== words) spokenLine.textContent = words;
      },
    },
    {
      of: ['overview', 'breakdowns', 'drill', 'comparisons', 'expanded', 'failures'],
      inView: ['step', 'before', 'beforeStep', 'alone'],
      draw(state) {
        breakdown.classList.toggle('low', isBeside(state.view));
        const rows = isComparing(state.view) ? renderCompare(state, store) : renderBreakdown(state, store, commands, levels.colours());
        refill(breakdown, ...rows);
      },
    },
    { of: ['pinned', 'overview'], inView: ['pins', 'cursor', 'step'], draw: (state) => pins.render(state) },
    { of: ['batch', 'failures'], draw: (state) => batch.render(state.batch, state.failures['batch sizes']) },
    { of: ['whatIfs', 'failures'], draw: (state) => plan.render(state.whatIfs, state.failures['what-ifs']) },
    { of: ['search'], draw: (state) => search.render(state) },
    {
      of: ['help'],
      draw({ help: open }) {
        if (open && help.childElementCount === 0) help.append(element('h2', { text: 'Keys' }), helpTable());
        help.classList.toggle('open', open);
      },
    },
  ]);

  store.subscribe(drawParts);
  drawParts(store.get(), undefined);

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
    drawParts(store.get(), undefined);
  };
  new MutationObserver(recolour).observe(document.body, { attributeFilter: ['class'] });
  for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'])
    matchMedia(query).addEventListener('change', recolour);
}
