// Marks by share beside the lines of visible files: a bar in the gutter, for what is warm a piece of the overview ruler, and for what is
// hot a tint behind the line and its hint, which has no style of its own. VS Code moves them with the text until the server's answer for
// the new text is there.
import * as vscode from 'vscode';
import { bar, LEVELS, readMarks, type Level } from './marks';
import { isOurs } from './places';

const AFTER_EDITS_MS = 300;
const DARK: Readonly<Record<Level, string>> = { 1: '#9aa4ae', 2: '#e0a638', 3: '#ff8a70' };
const LIGHT: Readonly<Record<Level, string>> = { 1: '#6b7280', 2: '#8a5a00', 3: '#b3261e' };

export type Ask = (uri: string) => Promise<unknown>;

export class Heat implements vscode.Disposable {
  private readonly looks = LEVELS.map((level) => ({ level, look: vscode.window.createTextEditorDecorationType(lookOf(level)) }));
  private readonly parts: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  // `ask`: the server's answer to hotlens/heat; it may fail where there is no server.
  constructor(private readonly ask: Ask) {
    this.parts = [
      vscode.window.onDidChangeVisibleTextEditors(() => this.refresh()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.languageId === 'python') this.refreshLater();
      }),
    ];
  }

  refresh(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (isOurs(editor.document)) void this.draw(editor);
    }
  }

  clear(): void {
    for (const editor of vscode.window.visibleTextEditors) for (const { look } of this.looks) editor.setDecorations(look, []);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const part of [...this.parts, ...this.looks.map(({ look }) => look)]) part.dispose();
  }

  private refreshLater(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), AFTER_EDITS_MS);
  }

  private async draw(editor: vscode.TextEditor): Promise<void> {
    const answer = readMarks(await this.ask(editor.document.uri.toString()).catch(() => undefined));
    if (answer === undefined || answer.version !== editor.document.version) return; // edited since: asked again by then
    for (const { level, look } of this.looks) {
      const here = answer.marks.filter((mark) => mark.level === level);
      editor.setDecorations(
        look,
        here.map(({ line }) => new vscode.Range(line, 0, line, 0)),
      );
    }
  }
}

function lookOf(level: Level): vscode.DecorationRenderOptions {
  const icon = (colours: Readonly<Record<Level, string>>): { gutterIconPath: vscode.Uri } => ({
    gutterIconPath: vscode.Uri.parse(bar(level, colours[level])),
  });
  const ruler =
    level === 1
      ? {}
      : {
          overviewRulerColor: new vscode.ThemeColor('hotlens.heat'),
          overviewRulerLane: level === 3 ? vscode.OverviewRulerLane.Full : vscode.OverviewRulerLane.Center,
        };
  const tint = level === 3 ? { isWholeLine: true, backgroundColor: new vscode.ThemeColor('hotlens.strongLine') } : {};
  return { light: icon(LIGHT), dark: icon(DARK), gutterIconSize: 'contain', ...ruler, ...tint };
}
