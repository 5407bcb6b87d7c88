// What a person is asked: one line of text, one of a list, to trust the workspace.
import * as vscode from 'vscode';
import type { Found } from './python';

// hotlens/prompt: one line of the person, null where they closed it.
export async function askForLine(asked: {
  readonly title: string;
  readonly value: string;
  readonly message?: string;
}): Promise<{ value: string } | null> {
  const { title, value: before, message } = asked;
  const prompt =
    message === undefined
      ? vscode.l10n.t('One line, as in a terminal. It is kept in .hotlens/runs.json.')
      : vscode.l10n.t('Not kept: {0}.', message);
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
export async function askForChoice(asked: {
  readonly title: string;
  readonly message?: string;
  readonly choices: readonly { readonly label: string; readonly detail: string; readonly file: string; readonly chosen: boolean }[];
}): Promise<{ index: number } | null> {
  const rows = asked.choices.map(({ label, detail, file, chosen }, index) => ({
    label,
    detail,
    description: [file, chosen ? vscode.l10n.t('chosen') : ''].filter((part) => part !== '').join(' · '),
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

export async function explainTrust(): Promise<void> {
  const manage = vscode.l10n.t('Manage Trust');
  const message = vscode.l10n.t("Hotlens: this runs the workspace's code. Trust the workspace first.");
  const choice = await vscode.window.showWarningMessage(message, manage);
  if (choice === manage) await vscode.commands.executeCommand('workbench.trust.manage');
}

// For the program, which lies beside it: kept for the workspace where there is one. The setting starts the server again.
export async function chooseInterpreter(found: readonly Found[]): Promise<void> {
  const rows = found.map(({ path, origin }) => ({ label: path, description: origin }));
  const taken = await vscode.window.showQuickPick(rows, {
    title: vscode.l10n.t('Choose Interpreter'),
    placeHolder: vscode.l10n.t('The Python that has your torch, and Hotlens'),
    matchOnDescription: true,
  });
  if (taken === undefined) return;
  const target = inWorkspace() ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration('hotlens').update('python', taken.label, target);
}

const inWorkspace = (): boolean => (vscode.workspace.workspaceFolders ?? []).length > 0;

// In a remote window the user's own settings do not list those of the machine: the workspace's do, and the remote machine's.
export async function openSettings(query: string): Promise<void> {
  const elsewhere = vscode.env.remoteName === undefined ? 'openSettings' : 'openRemoteSettings';
  await vscode.commands.executeCommand(`workbench.action.${inWorkspace() ? 'openWorkspaceSettings' : elsewhere}`, { query });
}
