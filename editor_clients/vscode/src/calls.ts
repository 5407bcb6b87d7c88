// What the server answers about one place: where its layer is made and called, as a list to peek at; its numbers, for the clipboard.
import * as vscode from 'vscode';
import { readDescribed, readPlaces } from './place_answers';

const SHOWN_MS = 4000;

// `asked`: the place that the answer is about.
export async function peekPlaces(answer: unknown, asked: { uri: string; position: vscode.Position } | undefined): Promise<void> {
  const { places, message } = readPlaces(answer);
  if (asked === undefined || places.length === 0) {
    return void vscode.window.showInformationMessage(
      message ? `Hotlens: ${message}` : vscode.l10n.t('Hotlens: no layer was measured here.'),
    );
  }
  const at = places.map(
    ({ uri, range: { start, end } }) =>
      new vscode.Location(vscode.Uri.parse(uri), new vscode.Range(start.line, start.character, end.line, end.character)),
  );
  await vscode.commands.executeCommand('editor.action.peekLocations', vscode.Uri.parse(asked.uri), asked.position, at, 'peek');
}

export async function copyDescribed(answer: unknown): Promise<void> {
  const { markdown, message } = readDescribed(answer);
  if (markdown === undefined)
    return void vscode.window.showInformationMessage(
      message ? `Hotlens: ${message}` : vscode.l10n.t('Hotlens: nothing was measured here.'),
    );
  await vscode.env.clipboard.writeText(markdown);
  vscode.window.setStatusBarMessage(vscode.l10n.t('Hotlens: copied as Markdown'), SHOWN_MS);
}
