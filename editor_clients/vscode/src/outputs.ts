// What the hotlens program prints or writes about the shown profile: its report as a text, its exports as files.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as vscode from 'vscode';

const SCHEME = 'hotlens-report';
const TIMEOUT_MS = 120_000;
const MOST_BYTES = 64 * 1024 * 1024;

// The program, and the bundle or trace that hints are shown from.
export interface Shown {
  readonly program: string;
  readonly profile: string;
}

async function run({ program, profile }: Shown, verb: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [verb, profile, ...args], { timeout: TIMEOUT_MS, maxBuffer: MOST_BYTES });
  return stdout;
}

// What the program itself said, without the call around it.
function reason(error: unknown): string {
  const said = (error as { stderr?: unknown }).stderr;
  return (typeof said === 'string' && said.trim() !== '' ? said.trim() : String(error)).split('\n').slice(-1)[0]!;
}

export class Reports implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? vscode.l10n.t('This report is gone. Hotlens: Show Report makes it again.');
  }

  async show(shown: Shown): Promise<void> {
    const name = shown.profile.split(/[\\/]/).at(-1) ?? '';
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name} report.txt` });
    try {
      this.texts.set(uri.path, await run(shown, 'report'));
    } catch (error) {
      return void vscode.window.showErrorMessage(`Hotlens: ${reason(error)}`);
    }
    this.changed.fire(uri);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  dispose(): void {
    this.registered.dispose();
    this.changed.dispose();
  }
}

const FORMATS = [
  { to: 'perfetto', ending: 'json', what: vscode.l10n.t('the timeline, for ui.perfetto.dev') },
  { to: 'speedscope', ending: 'speedscope.json', what: vscode.l10n.t('flame graphs, for speedscope.app') },
  { to: 'csv', ending: 'csv', what: vscode.l10n.t('layers and times, for a spreadsheet') },
  { to: 'json', ending: 'json', what: vscode.l10n.t('everything, for scripts') },
  { to: 'parquet', ending: 'parquet', what: vscode.l10n.t('steps, stages, layers and kernels, for DuckDB or Spark') },
] as const;

export async function exportProfile(shown: Shown): Promise<void> {
  const choices = FORMATS.map((format) => ({ label: format.to, description: format.what, ...format }));
  const format = await vscode.window.showQuickPick(choices, { title: vscode.l10n.t('Export the profile'), matchOnDescription: true });
  if (format === undefined) return;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const file = await vscode.window.showSaveDialog({
    title: vscode.l10n.t('Export the profile'),
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, `hotlens.${format.ending}`) }),
  });
  if (file === undefined) return;
  try {
    await run(shown, 'export', '--to', format.to, '--output', file.fsPath);
  } catch (error) {
    return void vscode.window.showErrorMessage(`Hotlens: ${reason(error)}`);
  }
  const reveal = vscode.l10n.t('Show in Folder');
  const chosen = await vscode.window.showInformationMessage(vscode.l10n.t('Hotlens: {0} is written.', file.fsPath), reveal);
  if (chosen === reveal) await vscode.commands.executeCommand('revealFileInOS', file);
}
