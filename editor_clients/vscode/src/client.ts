// The one language client of the window: started on the program that was found, started again on request.
//
// What leaves for the server passes through here, from whichever place it came (command, lens, light bulb).
import * as vscode from 'vscode';
import {
  LanguageClient,
  TransportKind,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { placeAsked, selectionOf, type Position } from './asked';
import { copyDescribed, peekPlaces } from './calls';
import { isExecutable, profilesOnSave, pythonSources, serverPathSetting, workspaceFolders } from './config';
import { askForChoice, askForLine, chooseInterpreter, explainTrust, openSettings } from './dialogs';
import { Heat } from './heat';
import { ASKS_FOR_HINTS_AGAIN } from './hint_refresh';
import { HotTree } from './hot_tree';
import { readHighlighted } from './lines';
import type { Surroundings } from './mcp';
import type { Shown } from './outputs';
import { isNotebookPlace, isOurs, lookedAt, lookedAtParams, SELECTOR, showPlace } from './places';
import { ProfileRequests, RUNNING } from './profile_request';
import { RunProgress } from './progress';
import { findPython, foundPythons, type Found } from './python';
import { findServer, isServer, probeByVersion, type NoServer, type Server } from './server';
import { ScriptTerminal } from './script_terminal';
import { SERVER_CALLS, SERVER_DESCRIBE, SERVER_PROFILE, SERVER_TIMELINE } from './server_commands';
import { StatusItem, type ProfileState } from './status';
import { NOTIFICATIONS, Timeline, type TimelineServer } from './timeline';

const SHOW_LOG = (): string => vscode.l10n.t('Show Log');
const CHOOSE_INTERPRETER = (): string => vscode.l10n.t('Choose Interpreter…');
const OPEN_SETTINGS = (): string => vscode.l10n.t('Open Settings');

// The commands that links in hovers may start: the first takes nothing from the link, the others only a place or block.
const LINKED = ['hotlens.profile', 'hotlens.showTimeline', 'hotlens.compareWithBaseline', 'hotlens.showCalls', 'hotlens.copyLine'];

// What this client understands beside LSP, see protocol/MESSAGES.md.
const OWN_MESSAGES: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = {
      ...(capabilities.experimental as object),
      hotlens: {
        protocolVersion: 1,
        images: true,
        dialogs: true,
        heat: true,
        calls: true,
        clipboard: true,
        output: true,
        showTimeline: { commandLinks: true, compare: true },
      },
    };
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};

function severalFolders(): boolean {
  return (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
}

export class Client implements vscode.Disposable, TimelineServer {
  readonly timeline: Timeline;
  private running: LanguageClient | undefined;
  private program = ''; // of the running one
  private readonly heat = new Heat(async (uri) => this.running?.sendRequest('hotlens/heat', { textDocument: { uri } }));
  private readonly status = new StatusItem();
  private readonly requests = new ProfileRequests();
  private readonly output = new ScriptTerminal();
  private state: ProfileState | undefined;
  private folder: vscode.WorkspaceFolder | undefined; // that somebody looked at last
  private readonly looks = vscode.window.onDidChangeActiveTextEditor(() => this.lookedAtChanged());
  readonly hotTree = new HotTree(() => this.hotLines());
  private work: Promise<unknown> = Promise.resolve(); // starts and stops follow one another

  // `page`: the folder of the timeline's page; `carried`: the program that came with the extension, if one did.
  constructor(
    private readonly log: vscode.LogOutputChannel,
    page: vscode.Uri,
    private readonly carried: string,
  ) {
    this.timeline = new Timeline(page, this);
  }

  start(): Promise<boolean> {
    return this.queue(() => this.startNow());
  }

  restart(): Promise<boolean> {
    return this.queue(async () => {
      await this.stopNow();
      return this.startNow();
    });
  }

  stop(): Promise<void> {
    return this.queue(() => this.stopNow());
  }

  dispose(): void {
    this.looks.dispose();
    this.status.dispose();
    this.heat.dispose();
    this.output.dispose();
    this.hotTree.dispose();
    this.timeline.highlight.dispose();
    void this.stop();
  }

  // Runs a server command. False when there is no server; the user was told why.
  async execute(command: string, ...args: unknown[]): Promise<boolean> {
    if (this.running === undefined && !vscode.workspace.isTrusted && !(await this.start())) {
      await explainTrust();
      return false;
    }
    if (this.running === undefined && !(await this.start())) return false;
    await vscode.commands.executeCommand(command, ...args);
    return true;
  }

  async request(method: string, params: object): Promise<unknown> {
    await this.start();
    if (this.running === undefined)
      throw new Error(vscode.l10n.t('The hotlens program is not running. The log says why: Hotlens: Show Log.'));
    return this.running.sendRequest(method, params);
  }

  notify(method: string, params: object): void {
    void this.running?.sendNotification(method, params);
  }

  // A document was saved: it is profiled again where the setting asks for it.
  saved(document: vscode.TextDocument): void {
    const wanted = isOurs(document) && vscode.workspace.isTrusted && profilesOnSave(document.uri) && !this.requests.isSaving();
    if (wanted && this.running !== undefined)
      void vscode.commands.executeCommand(SERVER_PROFILE, { uri: document.uri.toString(), saved: true });
  }

  // What the script printed; before it printed anything, what the server says.
  showOutput(): void {
    if (!this.output.show()) this.log.show();
  }

  // The answer to hotlens/hotLines for what somebody looks at.
  hotLines(): Promise<unknown> {
    return this.request('hotlens/hotLines', lookedAtParams());
  }

  // What a report or an export is made of; undefined where there is no profile, and that was said.
  async shown(): Promise<Shown | undefined> {
    const state = (await this.request('hotlens/profileState', lookedAtParams())) as ProfileState;
    const { folder, source } = state.profile ?? {};
    const profile = folder === undefined || folder === '' ? source : folder; // of a trace there is no folder
    if (profile !== undefined) return { program: this.program, profile };
    void vscode.window.showInformationMessage(vscode.l10n.t('Hotlens: no profile yet. Profile the script first.'));
    return undefined;
  }

  // What `hotlens mcp` is started with.
  async surroundings(): Promise<Surroundings> {
    const { python, server } = await this.find();
    return {
      trusted: vscode.workspace.isTrusted,
      folders: workspaceFolders(),
      program: isServer(server) ? server : undefined,
      python: python?.path,
    };
  }

  private async find(): Promise<{ python: Found | undefined; server: Server | NoServer }> {
    const sources = await pythonSources(vscode.window.activeTextEditor?.document.uri);
    const python = findPython(sources, isExecutable);
    const server = await findServer(
      { ...sources, setting: serverPathSetting(), python: python?.path, carried: this.carried },
      probeByVersion,
    );
    return { python, server };
  }

  private queue<T>(step: () => Promise<T>): Promise<T> {
    const next = this.work.then(step, step);
    this.work = next.catch(() => undefined);
    return next;
  }

  private async startNow(): Promise<boolean> {
    if (this.running !== undefined) return true;
    const { python, server } = await this.find();
    this.log.info(python === undefined ? 'no Python found' : `Python: ${python.path} (${python.origin})`);
    if (!isServer(server)) {
      this.explain(server);
      return false;
    }
    this.log.info(`server: ${server.path} (${server.origin}), version ${server.version}`);
    const client = new LanguageClient('hotlens', 'Hotlens', serverOptions(server.path), this.clientOptions());
    client.registerFeature(OWN_MESSAGES);
    client.onNotification('hotlens/profileChanged', (state: ProfileState) =>
      severalFolders() ? this.askProfile() : this.profileIs(state),
    );
    client.onNotification('hotlens/heatChanged', () => this.heat.refresh());
    client.onRequest('hotlens/prompt', askForLine);
    client.onRequest('hotlens/choose', askForChoice);
    client.onNotification('hotlens/showLog', () => this.showOutput());
    client.onNotification('hotlens/output', (params) => this.output.receive(params));
    client.onNotification('hotlens/showHotLines', () => void vscode.commands.executeCommand('hotlens.hotLines'));
    try {
      await client.start();
    } catch (error) {
      this.log.error(`the server did not start: ${String(error)}`);
      void this.offer(vscode.l10n.t('Hotlens: {0} did not start. The log says why.', server.path), SHOW_LOG());
      return false;
    }
    client.onNotification('hotlens/timeline/highlight', (params) => this.timeline.highlight.show(readHighlighted(params)));
    for (const method of NOTIFICATIONS) client.onNotification(method, (params) => this.timeline.forward(method, params));
    this.running = client;
    this.program = server.path;
    this.heat.refresh();
    this.timeline.serverIs('open');
    return true;
  }

  private profileIs(state: ProfileState | undefined): void {
    const before = this.state?.profile?.id;
    this.state = state;
    if (state !== undefined) this.status.show(state);
    if (state === undefined || state.profile?.id !== before || !state.loading) this.hotTree.refresh(state?.profile !== undefined);
  }

  // Each workspace folder shows its own profile. The server tells that of the first; asked is that of the file somebody looks at.
  private async askProfile(): Promise<void> {
    const state = await this.running?.sendRequest<ProfileState>('hotlens/profileState', lookedAtParams());
    if (this.running !== undefined) this.profileIs(state);
  }

  private lookedAtChanged(): void {
    const uri = lookedAt();
    const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
    if (folder === undefined || folder === this.folder) return;
    this.folder = folder;
    if (severalFolders()) void this.askProfile();
  }

  private async stopNow(): Promise<void> {
    const client = this.running;
    this.running = undefined;
    this.profileIs(undefined);
    this.timeline.highlight.show([]);
    this.heat.clear();
    this.timeline.serverIs('lost');
    await client?.dispose();
  }

  private explain(missing: NoServer): void {
    this.log.error(missing.message);
    for (const place of missing.tried) this.log.error(`  tried ${place}`);
    // What the workspace holds is not looked at before it is trusted: it may have the program, and the server starts again then.
    if (vscode.workspace.isTrusted) void this.offer(missing.message, CHOOSE_INTERPRETER(), OPEN_SETTINGS());
  }

  private async offer(message: string, ...choices: string[]): Promise<void> {
    const choice = await vscode.window.showErrorMessage(message, ...choices);
    if (choice === SHOW_LOG()) this.log.show();
    if (choice === CHOOSE_INTERPRETER()) await chooseInterpreter(foundPythons(await pythonSources(lookedAt()), isExecutable));
    if (choice === OPEN_SETTINGS()) await openSettings('hotlens.server.path');
  }

  private clientOptions(): LanguageClientOptions {
    const progress = new RunProgress((token) => this.cancelRun(token));
    return {
      documentSelector: SELECTOR,
      connectionOptions: { messageStrategy: ASKS_FOR_HINTS_AGAIN },
      outputChannel: this.log,
      initializationOptions: () => ({ trusted: vscode.workspace.isTrusted }),
      markdown: { isTrusted: { enabledCommands: LINKED } },
      middleware: {
        executeCommand: async (command: string, args: unknown[], next: (command: string, args: unknown[]) => unknown) => {
          if (command === SERVER_TIMELINE) return this.timeline.show(selectionOf(await blockToShow(() => next(command, args))));
          if (command === SERVER_CALLS) return peekPlaces(await next(command, args), placeAsked(args[0]));
          if (command === SERVER_DESCRIBE) return copyDescribed(await next(command, args));
          if (!RUNNING.includes(command)) return next(command, args);
          const request = await this.requests.prepare(args[0]);
          return request === undefined ? undefined : next(command, [request]);
        },
        // Asked for by a person only: an action that is there for every line would light the bulb on every line.
        provideCodeActions: (document, range, context, token, next) =>
          context.triggerKind === vscode.CodeActionTriggerKind.Automatic ? [] : next(document, range, context, token),
        window: {
          // A line that the timeline asked for opens beside it, not over it.
          showDocument: async (params, token, next) => {
            const viewColumn = this.timeline.column();
            const unasked = params.takeFocus === false;
            const ours = viewColumn !== undefined || unasked || isNotebookPlace(params.uri);
            if (!ours || params.external === true) return next(params, token);
            return { success: await show(params.uri, params.selection, viewColumn, unasked) };
          },
        },
        handleWorkDoneProgress: (token, value, next) => {
          if (!progress.handle(token, value)) next(token, value);
          else if (value.kind === 'end') next(token, value); // lets the client forget the token
        },
      },
    };
  }

  private cancelRun(token: string | number): void {
    void this.running?.sendNotification('window/workDoneProgress/cancel', { token });
  }
}

function serverOptions(program: string): ServerOptions {
  const [folder] = workspaceFolders();
  // The client appends --stdio.
  return { command: program, args: ['lsp'], transport: TransportKind.stdio, options: folder === undefined ? {} : { cwd: folder } };
}

// Beside the timeline where a column is given: it keeps the focus. What nobody asked for leaves the focus, too, and every tab.
async function show(
  uri: string,
  selection: { start: Position; end: Position } | undefined,
  viewColumn: vscode.ViewColumn | undefined,
  unasked: boolean,
): Promise<boolean> {
  const at = ({ line, character }: Position): vscode.Position => new vscode.Position(line, character);
  const range = selection === undefined ? {} : { selection: new vscode.Range(at(selection.start), at(selection.end)) };
  try {
    const column = viewColumn === undefined ? {} : { viewColumn, preserveFocus: true };
    const aside = unasked ? { preview: false, preserveFocus: true } : {};
    await showPlace(vscode.Uri.parse(uri), { ...column, ...aside, ...range });
    return true;
  } catch {
    return false;
  }
}

// Without a profile, or on an older server, the page itself says what is missing.
async function blockToShow(ask: () => unknown): Promise<unknown> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
