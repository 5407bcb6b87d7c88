// Hotlens for VS Code: finds the hotlens program and the user's Python, starts the language server, offers its commands.
import * as vscode from 'vscode';
import { Client } from './client';
import { registerCommands } from './commands';
import { RESTARTING_SETTINGS } from './config';
import { offerAgents, type AgentHost } from './mcp';
import { HOT_VIEW } from './hot_tree';
import { Reports } from './outputs';
import { VIEW_TYPE } from './timeline';

let client: Client | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('Hotlens', { log: true });
  const part = (...names: string[]): vscode.Uri => vscode.Uri.joinPath(context.extensionUri, 'dist', ...names);
  const started = new Client(log, part('timeline'), part('server', 'bin', 'hotlens').fsPath);
  client = started;
  const reports = new Reports();
  context.subscriptions.push(
    log,
    started,
    reports,
    ...registerCommands(started, reports, log),
    vscode.window.registerTreeDataProvider(HOT_VIEW, started.hotTree),
    ...offerAgents(vscode as unknown as AgentHost, () => started.surroundings()), // newer than the types
    vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, started.timeline),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => started.timeline.cursorMoved(textEditor)),
    vscode.workspace.onDidSaveTextDocument((document) => started.saved(document)),
    // Trust changes which programs may be started and what the server may offer.
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (RESTARTING_SETTINGS.some((name) => event.affectsConfiguration(name))) void started.restart();
    }),
  );
  await started.start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
