// The one language client of the window: started on the program that was found, started again on request.
//
// What leaves for the server as a profile request passes through here, from whichever place it came (command, lens, light bulb): only in a
// trusted workspace, with changed files saved, because the script runs from disk, and with the Python that the user chose here.
import * as vscode from 'vscode';
import {
  LanguageClient,
  TransportKind,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { copyDescribed, peekPlaces } from './calls';
import { isExecutable, pythonSources, serverPathSetting, workspaceFolders } from './config';
import { Heat } from './heat';
import { readHighlighted } from './lines';
import { addressed } from './link';
import type { Surroundings } from './mcp';
import { isNotebookPlace, lookedAt, saveNotebooks, SELECTOR, showPlace } from './places';
import { RunProgress } from './progress';
import { findPython, type Found } from './python';
import { findServer, isServer, probeByVersion, type NoServer, type Server } from './server';
import { StatusItem, type ProfileState } from './status';
import { NOTIFICATIONS, Timeline, type TimelineServer } from './timeline';

export const SERVER_PROFILE = 'hotlens.server.profile';
export const SERVER_ARGUMENTS = 'hotlens.server.setArguments';
export const SERVER_CHOOSE_RUN = 'hotlens.server.chooseRun';
export const SERVER_VERIFY = 'hotlens.server.verify';
export const SERVER_TELL_AGAIN = 'hotlens.server.tellAgain';
export const SERVER_HINT_UNIT = 'hotlens.server.hintUnit';
export const SERVER_CANCEL = 'hotlens.server.cancel';
export const SERVER_HOT_LINE = 'hotlens.server.hotLine';
export const SERVER_SHOW_PROFILE = 'hotlens.server.showProfile';
export const SERVER_BASELINE = 'hotlens.server.setBaseline';
export const SERVER_CALLS = 'hotlens.server.calls';
export const SERVER_DESCRIBE = 'hotlens.server.describe';
export const SERVER_TIMELINE = 'hotlens.server.openTimeline';

// The commands that run the script; the argument of each is a ProfileRequest.
const RUNNING: readonly string[] = [SERVER_PROFILE, SERVER_ARGUMENTS, SERVER_CHOOSE_RUN, SERVER_VERIFY];

export interface ProfileRequest {
  readonly uri?: string;
  readonly script?: string;
  readonly args?: readonly string[];
  readonly python?: string;
}

interface Position {
  readonly line: number;
  readonly character: number;
}

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
        showTimeline: { commandLinks: true },
      },
    };
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};

export class Client implements vscode.Disposable, TimelineServer {
  readonly timeline: Timeline;
  private running: LanguageClient | undefined;
  private readonly heat = new Heat(async (uri) => this.running?.sendRequest('hotlens/heat', { textDocument: { uri } }));
  private readonly status = new StatusItem();
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
    this.status.dispose();
    this.heat.dispose();
    this.timeline.highlight.dispose();
    void this.stop();
  }

  // Runs a server command. False when there is no server; the user was told why.
  async execute(command: string, ...args: unknown[]): Promise<boolean> {
    if (this.running === undefined && !(await this.start())) return false;
    await vscode.commands.executeCommand(command, ...args);
    return true;
  }

  async request(method: string, params: object): Promise<unknown> {
    await this.start();
    if (this.running === undefined) throw new Error('The hotlens program is not running. The log says why: Hotlens: Show Log.');
    return this.running.sendRequest(method, params);
  }

  notify(method: string, params: object): void {
    void this.running?.sendNotification(method, params);
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
    client.onNotification('hotlens/profileChanged', (state: ProfileState) => this.status.show(state));
    client.onNotification('hotlens/heatChanged', () => this.heat.refresh());
    client.onRequest('hotlens/prompt', askForLine);
    client.onRequest('hotlens/choose', askForChoice);
    client.onNotification('hotlens/showLog', () => this.log.show());
    client.onNotification('hotlens/showHotLines', () => void vscode.commands.executeCommand('hotlens.hotLines'));
    try {
      await client.start();
    } catch (error) {
      this.log.error(`the server did not start: ${String(error)}`);
      void this.offer(`Hotlens: ${server.path} did not start. The log says why.`, 'Show Log');
      return false;
    }
    client.onNotification('hotlens/timeline/highlight', (params) => this.timeline.highlight.show(readHighlighted(params)));
    for (const method of NOTIFICATIONS) client.onNotification(method, (params) => this.timeline.forward(method, params));
    this.running = client;
    this.heat.refresh();
    this.timeline.serverIs('open');
    return true;
  }

  private async stopNow(): Promise<void> {
    const client = this.running;
    this.running = undefined;
    this.timeline.highlight.show([]);
    this.heat.clear();
    this.timeline.serverIs('lost');
    await client?.dispose();
  }

  private explain(missing: NoServer): void {
    this.log.error(missing.message);
    for (const place of missing.tried) this.log.error(`  tried ${place}`);
    void this.offer(missing.message, 'Open Settings', 'Show Log');
  }

  private async offer(message: string, ...choices: string[]): Promise<void> {
    const choice = await vscode.window.showErrorMessage(message, ...choices);
    if (choice === 'Show Log') this.log.show();
    if (choice === 'Open Settings') await vscode.commands.executeCommand('workbench.action.openSettings', 'hotlens.server.path');
  }

  private clientOptions(): LanguageClientOptions {
    const progress = new RunProgress((token) => this.cancelRun(token));
    return {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      initializationOptions: () => ({ trusted: vscode.workspace.isTrusted }),
      // Links in hovers may start these commands: the first takes nothing from the link, the others only a place or block.
      markdown: { isTrusted: { enabledCommands: ['hotlens.profile', 'hotlens.showTimeline', 'hotlens.showCalls', 'hotlens.copyLine'] } },
      middleware: {
        executeCommand: async (command: string, args: unknown[], next: (command: string, args: unknown[]) => unknown) => {
          if (command === SERVER_TIMELINE) return this.timeline.show(selectionOf(await blockToShow(() => next(command, args))));
          if (command === SERVER_CALLS) return peekPlaces(await next(command, args), placeAsked(args[0]));
          if (command === SERVER_DESCRIBE) return copyDescribed(await next(command, args));
          if (!RUNNING.includes(command)) return next(command, args);
          const request = await prepareProfile(args[0]);
          return request === undefined ? undefined : next(command, [request]);
        },
        // Asked for by a person only: an action that is there for every line would light the bulb on every line.
        provideCodeActions: (document, range, context, token, next) =>
          context.triggerKind === vscode.CodeActionTriggerKind.Automatic ? [] : next(document, range, context, token),
        window: {
          // A line that the timeline asked for opens beside it, not over it.
          showDocument: async (params, token, next) => {
            const viewColumn = this.timeline.column();
            const inNotebook = isNotebookPlace(params.uri);
            if ((viewColumn === undefined && !inNotebook) || params.external === true) return next(params, token);
            return { success: await show(params.uri, params.selection, viewColumn) };
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

// hotlens/prompt: one line of the person, null where they closed it.
async function askForLine(asked: {
  readonly title: string;
  readonly value: string;
  readonly message?: string;
}): Promise<{ value: string } | null> {
  const { title, value: before, message } = asked;
  const prompt = message === undefined ? 'One line, as in a terminal. It is kept in .hotlens/runs.json.' : `Not kept: ${message}.`;
  const value = await vscode.window.showInputBox({
    title,
    prompt,
    value: before,
    placeHolder: '--data data --epochs 1',
    ignoreFocusOut: true,
  });
  return value === undefined ? null : { value };
}

// hotlens/choose: the place in the list of what the person took, null where they closed it.
async function askForChoice(asked: {
  readonly title: string;
  readonly message?: string;
  readonly choices: readonly { readonly label: string; readonly detail: string; readonly file: string; readonly chosen: boolean }[];
}): Promise<{ index: number } | null> {
  const rows = asked.choices.map(({ label, detail, file, chosen }, index) => ({
    label,
    detail,
    description: [file, chosen ? 'chosen' : ''].filter((part) => part !== '').join(' · '),
    index,
  }));
  const taken = await vscode.window.showQuickPick(rows, {
    title: asked.title,
    placeHolder: asked.message ?? '',
    matchOnDetail: true,
    ignoreFocusOut: true,
  });
  return taken === undefined ? null : { index: taken.index };
}

// Beside the timeline where a column is given: it keeps the focus.
async function show(
  uri: string,
  selection: { start: Position; end: Position } | undefined,
  viewColumn: vscode.ViewColumn | undefined,
): Promise<boolean> {
  const at = ({ line, character }: Position): vscode.Position => new vscode.Position(line, character);
  const range = selection === undefined ? {} : { selection: new vscode.Range(at(selection.start), at(selection.end)) };
  try {
    const column = viewColumn === undefined ? {} : { viewColumn, preserveFocus: true };
    await showPlace(vscode.Uri.parse(uri), { ...column, ...range });
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

// The address as the server knows it. A link is followed in the document that is looked at.
function spelled(uri: string): string {
  const seen = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors].flatMap((editor) =>
    editor === undefined ? [] : [editor.document],
  );
  return (
    addressed(
      uri,
      [...seen, ...vscode.workspace.textDocuments].map((document) => document.uri.toString()),
    ) ?? vscode.Uri.parse(uri).toString()
  );
}

// What a link says about the place whose block shall be shown.
export function placeOf(asked: unknown): object | undefined {
  if (typeof asked !== 'object' || asked === null || !('uri' in asked) || !('position' in asked)) return undefined;
  const { uri, position } = asked;
  if (typeof uri !== 'string' || typeof position !== 'object' || position === null) return undefined;
  const { line, character } = position as { line?: unknown; character?: unknown };
  return typeof line === 'number' && typeof character === 'number' ? { uri: spelled(uri), position: { line, character } } : undefined;
}

function placeAsked(argument: unknown): { uri: string; position: vscode.Position } | undefined {
  const place = placeOf(argument) as { uri: string; position: Position } | undefined;
  return place && { uri: place.uri, position: new vscode.Position(place.position.line, place.position.character) };
}

// What the server answers, or a link says, about the block to show, if it names one.
export function selectionOf(asked: unknown): object | undefined {
  if (typeof asked !== 'object' || asked === null || !('path' in asked) || !Array.isArray(asked.path)) return undefined;
  const { profile, step } = asked as { profile?: unknown; step?: unknown };
  return { path: asked.path, ...(typeof profile === 'string' ? { profile } : {}), ...(typeof step === 'number' ? { step } : {}) };
}

// The request with what this editor knows, or undefined when nothing may run.
async function prepareProfile(asked: unknown): Promise<ProfileRequest | undefined> {
  if (!vscode.workspace.isTrusted) {
    await explainTrust();
    return undefined;
  }
  const request: ProfileRequest = typeof asked === 'object' && asked !== null ? asked : {};
  const uri = request.uri ?? lookedAt()?.toString();
  await saveScripts();
  await saveNotebooks();
  const resource = uri === undefined ? undefined : vscode.Uri.parse(uri);
  const python = findPython(await pythonSources(resource), isExecutable);
  return { ...request, ...(uri === undefined ? {} : { uri }), ...(python === undefined ? {} : { python: python.path }) };
}

async function saveScripts(): Promise<void> {
  const changed = vscode.workspace.textDocuments.filter((doc) => doc.isDirty && doc.languageId === 'python' && doc.uri.scheme === 'file');
  await Promise.all(changed.map((doc) => doc.save()));
}

async function explainTrust(): Promise<void> {
  const manage = 'Manage Trust';
  const message = "Hotlens: this runs the workspace's code. Trust the workspace first.";
  const choice = await vscode.window.showWarningMessage(message, manage);
  if (choice === manage) await vscode.commands.executeCommand('workbench.trust.manage');
}
