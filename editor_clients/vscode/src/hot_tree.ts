// The hot lines as a view of the explorer: a bar for each, the costliest first; a click goes to the line.
import * as vscode from 'vscode';
import { readHotLines, rows, type Row } from './hot_lines';
import { showPlace } from './places';

export const HOT_VIEW = 'hotlens.hotLines';
const HAS_PROFILE = 'hotlens.hasProfile'; // package.json: what the empty view says

const BAR_CELLS = 4; // the view is narrow

export type Ask = () => Promise<unknown>;

export class HotTree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;

  // `ask`: the server's answer to hotlens/hotLines; it may fail where there is no server.
  constructor(private readonly ask: Ask) {}

  // `known`: whether there is a profile at all.
  refresh(known: boolean): void {
    void vscode.commands.executeCommand('setContext', HAS_PROFILE, known);
    this.changed.fire();
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const item = new vscode.TreeItem(row.label);
    item.description = row.description;
    item.tooltip = row.detail;
    item.accessibilityInformation = { label: `${row.line.label}, ${row.description}, ${row.detail}` };
    item.command = { command: 'hotlens.showHotLine', title: vscode.l10n.t('Show Line'), arguments: [row] };
    return item;
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row !== undefined) return [];
    try {
      return rows(readHotLines(await this.ask()), BAR_CELLS);
    } catch {
      return []; // no server: the view says what to do
    }
  }

  dispose(): void {
    this.changed.dispose();
  }
}

export async function showHotLine(row: Row, preserveFocus: boolean): Promise<void> {
  const at = new vscode.Position(row.line.position.line, row.line.position.character);
  await showPlace(vscode.Uri.parse(row.line.uri), { selection: new vscode.Range(at, at), preserveFocus, preview: preserveFocus });
}
