// Documents that the server knows, and places in them: Python files, and the Python cells of a notebook.
import * as vscode from 'vscode';

const NOTEBOOK = 'jupyter-notebook';
const CELL_SCHEME = 'vscode-notebook-cell';

// As vscode-languageclient selects: files, and cells of whatever notebook.
export const SELECTOR = [
  { scheme: 'file', language: 'python' },
  { notebook: NOTEBOOK, language: 'python' },
];

export function isOurs(document: vscode.TextDocument): boolean {
  return document.languageId === 'python' && ['file', CELL_SCHEME].includes(document.uri.scheme);
}

// Of a cell, or of a notebook that is not open.
export function isNotebookPlace(uri: string): boolean {
  return uri.startsWith(`${CELL_SCHEME}:`) || uri.endsWith('.ipynb');
}

// What the toolbar of a notebook passes to a command names it so.
export function notebookOf(target: unknown): vscode.Uri | undefined {
  const named = (target as { notebookEditor?: { notebookUri?: unknown } } | undefined)?.notebookEditor?.notebookUri;
  return named instanceof vscode.Uri ? named : undefined;
}

// The file, cell or notebook that somebody looks at.
export function lookedAt(): vscode.Uri | undefined {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  return notebook?.notebookType === NOTEBOOK ? notebook.uri : vscode.window.activeTextEditor?.document.uri;
}

// As the server's requests about a profile take it.
export function lookedAtParams(): { readonly textDocument?: { readonly uri: string } } {
  const uri = lookedAt();
  return uri?.scheme === 'file' ? { textDocument: { uri: uri.toString() } } : {};
}

// Notebooks that differ from the disk; one that has no file yet stays as it is.
export async function saveNotebooks(): Promise<void> {
  const changed = vscode.workspace.notebookDocuments.filter((each) => each.isDirty && !each.isUntitled && each.notebookType === NOTEBOOK);
  await Promise.all(changed.map((each) => each.save()));
}

// A file opens as text, a cell in its notebook.
export async function showPlace(uri: vscode.Uri, options: vscode.TextDocumentShowOptions): Promise<void> {
  const found = uri.scheme === CELL_SCHEME ? cellOf(uri) : undefined;
  if (found === undefined && uri.path.endsWith('.ipynb')) {
    // It was not open: its lines are those of a script.
    return void (await vscode.window.showNotebookDocument(await vscode.workspace.openNotebookDocument(uri), rest(options)));
  }
  if (found === undefined) return void (await vscode.window.showTextDocument(uri, options));
  const { selection } = options;
  const range = new vscode.NotebookRange(found.index, found.index + 1);
  const editor = await vscode.window.showNotebookDocument(found.notebook, { ...rest(options), selections: [range] });
  editor.revealRange(range, vscode.NotebookEditorRevealType.InCenterIfOutsideViewport);
  if (options.preserveFocus !== true) await vscode.commands.executeCommand('notebook.cell.edit');
  const text = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri.toString());
  if (text !== undefined && selection !== undefined) text.selection = new vscode.Selection(selection.start, selection.end);
}

function rest({ viewColumn, preserveFocus }: vscode.TextDocumentShowOptions): vscode.NotebookDocumentShowOptions {
  return { ...(viewColumn === undefined ? {} : { viewColumn }), ...(preserveFocus === undefined ? {} : { preserveFocus }) };
}

function cellOf(uri: vscode.Uri): vscode.NotebookCell | undefined {
  const cells = vscode.workspace.notebookDocuments.flatMap((each) => each.getCells());
  return cells.find(({ document }) => document.uri.toString() === uri.toString());
}
