// The timeline in a panel beside the code: a webview whose questions go to the language server, and the way between its blocks and the lines.
//
// One panel a window. A click in the page makes the server show a line; a move of the cursor in a Python file tells the server, which selects
// the block. The page keeps its own state, so that a reload of the window brings the panel back as it was.
import * as crypto from 'node:crypto';
import * as vscode from 'vscode';
import { Highlight } from './highlight';
import { answerTo, errorTo, notificationTo, pageHtml, readFromPage, type FromPage } from './page';
import { isOurs } from './places';

export const VIEW_TYPE = 'hotlens.timeline';
export const NOTIFICATIONS = [
  'hotlens/timeline/changed',
  'hotlens/timeline/select',
  'hotlens/timeline/batchSizesChanged',
  'hotlens/timeline/whatIfsChanged',
] as const;

const CURSOR_REST_MS = 150; // a cursor that rests this long is meant

// The part of the language client that the panel needs.
export interface TimelineServer {
  request(method: string, params: object): Promise<unknown>;
  notify(method: string, params: object): void;
}

export class Timeline implements vscode.WebviewPanelSerializer {
  readonly highlight = new Highlight();
  private panel: vscode.WebviewPanel | undefined;
  private resting: NodeJS.Timeout | undefined;
  private selectWhenReady: object | undefined;
  private ready = false;

  constructor(
    private readonly folder: vscode.Uri,
    private readonly server: TimelineServer,
  ) {}

  // `select`: the params of hotlens/timeline/select, when the block to show is known.
  show(select?: object): void {
    if (this.panel === undefined) {
      const options = { enableScripts: true, localResourceRoots: [this.folder] };
      this.adopt(
        vscode.window.createWebviewPanel(
          VIEW_TYPE,
          vscode.l10n.t('Hotlens timeline'),
          { viewColumn: vscode.ViewColumn.Beside, preserveFocus: false },
          options,
        ),
      );
    } else {
      this.panel.reveal(undefined, false);
    }
    if (select !== undefined) this.select(select);
  }

  // A panel of an earlier window; what it showed is in the page's own state.
  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    panel.webview.options = { enableScripts: true, localResourceRoots: [this.folder] };
    this.adopt(panel);
    return Promise.resolve();
  }

  // A notification of the server, for the page.
  forward(method: string, params: unknown): void {
    this.post({ rpc: notificationTo(method, params) });
  }

  // The server came or went.
  serverIs(state: 'open' | 'lost'): void {
    if (this.ready) this.post({ server: state });
  }

  cursorMoved(editor: vscode.TextEditor): void {
    if (this.panel?.visible !== true) return;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.tellCursor(editor), CURSOR_REST_MS);
  }

  // Where a line that the page asked for is shown: beside the page, not over it.
  column(): vscode.ViewColumn | undefined {
    if (this.panel?.active !== true) return undefined;
    const other = vscode.window.visibleTextEditors.find((editor) => editor.viewColumn !== this.panel?.viewColumn);
    return other?.viewColumn ?? (this.panel.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Two : vscode.ViewColumn.One);
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    this.ready = false;
    panel.onDidDispose(() => {
      if (this.panel === panel) this.panel = undefined;
      clearTimeout(this.resting);
      this.highlight.show([]);
    });
    // A page that is not seen is gone, and says no more that the pointer has left.
    panel.onDidChangeViewState(() => {
      if (!panel.visible) this.highlight.show([]);
    });
    panel.webview.onDidReceiveMessage((message: unknown) => {
      const read = readFromPage(message);
      if (read !== undefined) void this.handle(read);
    });
    const at = (name: string): string => panel.webview.asWebviewUri(vscode.Uri.joinPath(this.folder, name)).toString();
    panel.webview.html = pageHtml({
      script: at('timeline.js'),
      style: at('timeline.css'),
      source: panel.webview.cspSource,
      nonce: crypto.randomBytes(16).toString('hex'),
    });
  }

  private async handle(message: FromPage): Promise<void> {
    switch (message.kind) {
      case 'ready':
        this.ready = true;
        this.post({ server: 'open' });
        if (this.selectWhenReady !== undefined) this.select(this.selectWhenReady);
        return;
      case 'request':
        return this.answer(message.id, message.method, message.params);
      case 'save':
        return save(message.name, message.data);
    }
  }

  private async answer(id: number, method: string, params: object): Promise<void> {
    try {
      this.post({ rpc: answerTo(id, await this.server.request(method, params)) });
    } catch (error) {
      this.post({ rpc: errorTo(id, error) });
    }
  }

  private select(params: object): void {
    this.selectWhenReady = this.ready ? undefined : params;
    if (this.ready) this.forward('hotlens/timeline/select', params);
  }

  private tellCursor(editor: vscode.TextEditor): void {
    if (this.panel === undefined || !isOurs(editor.document)) return;
    const { line, character } = editor.selection.active;
    this.server.notify('hotlens/timeline/cursor', { textDocument: { uri: editor.document.uri.toString() }, position: { line, character } });
  }

  private post(message: object): void {
    void this.panel?.webview.postMessage(message);
  }
}

async function save(name: string, data: Uint8Array): Promise<void> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  const target = await vscode.window.showSaveDialog(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder.uri, name) });
  if (target !== undefined) await vscode.workspace.fs.writeFile(target, data);
}
