// The commands a person can run. Each is one sentence to the client.
import * as vscode from 'vscode';
import { placeOf, selectionOf } from './asked';
import type { Client } from './client';
import { pastRows, readHistory } from './history';
import { readHotLines, rows, type Row } from './hot_lines';
import { showHotLine } from './hot_tree';
import { exportProfile, type Reports, type Shown } from './outputs';
import { isOurs, lookedAt, lookedAtParams, notebookOf } from './places';
import {
  SERVER_ARGUMENTS,
  SERVER_BASELINE,
  SERVER_CALLS,
  SERVER_CANCEL,
  SERVER_CHOOSE_INTERPRETER,
  SERVER_CHOOSE_RUN,
  SERVER_DESCRIBE,
  SERVER_HINT_UNIT,
  SERVER_HOT_LINE,
  SERVER_PROFILE,
  SERVER_SHOW_PROFILE,
  SERVER_TELL_AGAIN,
  SERVER_TIMELINE,
  SERVER_WHAT_IF,
} from './server_commands';

export function registerCommands(client: Client, reports: Reports, log: vscode.LogOutputChannel): vscode.Disposable[] {
  return [
    // The file's menu passes its uri. Whatever else calls this (a link, a key binding) profiles the file in the editor.
    vscode.commands.registerCommand('hotlens.profile', (target: unknown) => client.execute(SERVER_PROFILE, scriptAt(target))),
    vscode.commands.registerCommand('hotlens.setArguments', (target: unknown) => client.execute(SERVER_ARGUMENTS, scriptAt(target))),
    vscode.commands.registerCommand('hotlens.chooseRun', (target: unknown) => client.execute(SERVER_CHOOSE_RUN, scriptAt(target))),
    vscode.commands.registerCommand('hotlens.chooseInterpreter', (target: unknown) =>
      client.execute(SERVER_CHOOSE_INTERPRETER, scriptAt(target)),
    ),
    vscode.commands.registerCommand('hotlens.cancel', () => client.execute(SERVER_CANCEL)),
    // A link names the block or its place; otherwise the server finds the one of the line in the editor.
    vscode.commands.registerCommand('hotlens.showTimeline', (asked: unknown) =>
      client.execute(SERVER_TIMELINE, selectionOf(asked) ?? placeOf(asked) ?? cursorPlace()),
    ),
    vscode.commands.registerCommand('hotlens.compareWithBaseline', (asked: unknown) =>
      client.execute(SERVER_TIMELINE, { ...(placeOf(asked) ?? cursorPlace()), compare: true }),
    ),
    vscode.commands.registerCommand('hotlens.showCalls', (asked: unknown) => client.execute(SERVER_CALLS, placeOf(asked) ?? cursorPlace())),
    vscode.commands.registerCommand('hotlens.copyLine', (asked: unknown) =>
      client.execute(SERVER_DESCRIBE, placeOf(asked) ?? cursorPlace()),
    ),
    vscode.commands.registerCommand('hotlens.hotLines', () => chooseHotLine(client)),
    vscode.commands.registerCommand('hotlens.showHotLine', (row: Row) => showHotLine(row, false)),
    vscode.commands.registerCommand('hotlens.nextHotLine', () => client.execute(SERVER_HOT_LINE, { ...cursorPlace(), back: false })),
    vscode.commands.registerCommand('hotlens.previousHotLine', () => client.execute(SERVER_HOT_LINE, { ...cursorPlace(), back: true })),
    vscode.commands.registerCommand('hotlens.history', () => chooseProfile(client)),
    vscode.commands.registerCommand('hotlens.setBaseline', () => client.execute(SERVER_BASELINE, cursorPlace())),
    vscode.commands.registerCommand('hotlens.clearBaseline', () => client.execute(SERVER_BASELINE, { ...cursorPlace(), clear: true })),
    vscode.commands.registerCommand('hotlens.hintUnit', () => nextUnit(client)),
    vscode.commands.registerCommand('hotlens.whatIf', () => client.execute(SERVER_WHAT_IF, cursorPlace())),
    vscode.commands.registerCommand('hotlens.silenced', () => client.execute(SERVER_TELL_AGAIN)),
    vscode.commands.registerCommand('hotlens.report', () => withProfile(client, (shown) => reports.show(shown))),
    vscode.commands.registerCommand('hotlens.export', () => withProfile(client, exportProfile)),
    vscode.commands.registerCommand('hotlens.restart', () => client.restart()),
    vscode.commands.registerCommand('hotlens.showOutput', () => client.showOutput()),
    vscode.commands.registerCommand('hotlens.showLog', () => log.show()),
  ];
}

async function withProfile(client: Client, act: (shown: Shown) => Promise<void>): Promise<void> {
  const shown = await client.shown();
  if (shown !== undefined) await act(shown);
}

// The list to choose from; the line under the selection shows behind it.
async function chooseHotLine(client: Client): Promise<void> {
  const choices = rows(readHotLines(await client.hotLines()));
  if (choices.length === 0)
    return void vscode.window.showInformationMessage(vscode.l10n.t('Hotlens: no hot lines yet. Profile the script first.'));
  const chosen = await vscode.window.showQuickPick(choices, {
    title: vscode.l10n.t('Hot lines'),
    placeHolder: vscode.l10n.t('The lines that cost most in a training step'),
    matchOnDescription: true,
    matchOnDetail: true,
    onDidSelectItem: (row: Row) => void showHotLine(row, true),
  });
  if (chosen !== undefined) await showHotLine(chosen, false);
}

// Enter shows the profile everywhere; the button of a row makes it the baseline.
async function chooseProfile(client: Client): Promise<void> {
  const file = lookedAtParams(); // of whose folder the choice is
  const choices = pastRows(readHistory(await client.request('hotlens/history', file)));
  if (choices.length === 0)
    return void vscode.window.showInformationMessage(vscode.l10n.t('Hotlens: no profile yet. Profile the script first.'));
  const picker = vscode.window.createQuickPick<(typeof choices)[number] & vscode.QuickPickItem>();
  const buttons = [{ iconPath: new vscode.ThemeIcon('pin'), tooltip: vscode.l10n.t('Set as Baseline') }];
  picker.title = vscode.l10n.t('Profiles');
  picker.placeholder = vscode.l10n.t('The profile to show in hints, status and timeline');
  picker.matchOnDescription = picker.matchOnDetail = true;
  picker.items = choices.map((row) => ({ ...row, buttons }));
  picker.onDidTriggerItemButton(({ item }) => {
    picker.hide();
    void client.execute(SERVER_BASELINE, { profile: item.past.id, uri: file.textDocument?.uri });
  });
  picker.onDidAccept(() => {
    const [chosen] = picker.selectedItems;
    picker.hide();
    if (chosen !== undefined) void client.execute(SERVER_SHOW_PROFILE, { profile: chosen.past.id, uri: file.textDocument?.uri });
  });
  picker.onDidHide(() => picker.dispose());
  picker.show();
}

const UNIT_SHOWN_MS = 4000;

async function nextUnit(client: Client): Promise<void> {
  const answer = await client.request('workspace/executeCommand', { command: SERVER_HINT_UNIT });
  if (typeof answer !== 'object' || answer === null || !('unit' in answer) || typeof answer.unit !== 'string') return;
  vscode.window.setStatusBarMessage(vscode.l10n.t('Hotlens: hints show {0}', answer.unit), UNIT_SHOWN_MS);
}

function scriptAt(target: unknown): object {
  const uri = target instanceof vscode.Uri ? target : (notebookOf(target) ?? lookedAt());
  return uri === undefined ? {} : { uri: uri.toString() };
}

// Where the cursor stands in a Python file, as the server's commands take it.
function cursorPlace(): object {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isOurs(editor.document)) return {};
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}
