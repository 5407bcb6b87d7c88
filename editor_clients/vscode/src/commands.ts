// The commands a person can run. Each is one sentence to the client.
import * as vscode from "vscode";
import { placeOf, selectionOf, SERVER_ARGUMENTS, SERVER_CANCEL, SERVER_HOT_LINE, SERVER_PROFILE, SERVER_TIMELINE, type Client } from "./client";
import { readHotLines, rows, type Row } from "./hot_lines";

export function registerCommands(client: Client, log: vscode.LogOutputChannel): vscode.Disposable[] {
  return [
    // The file's menu passes its uri. Whatever else calls this (a link, a key binding) profiles the file in the editor.
    vscode.commands.registerCommand("hotlens.profile", (target: unknown) => client.execute(SERVER_PROFILE, scriptAt(target))),
    vscode.commands.registerCommand("hotlens.setArguments", (target: unknown) => client.execute(SERVER_ARGUMENTS, scriptAt(target))),
    vscode.commands.registerCommand("hotlens.cancel", () => client.execute(SERVER_CANCEL)),
    // A link names the block or its place; otherwise the server finds the one of the line in the editor.
    vscode.commands.registerCommand("hotlens.showTimeline", (asked: unknown) =>
      client.execute(SERVER_TIMELINE, selectionOf(asked) ?? placeOf(asked) ?? cursorPlace()),
    ),
    vscode.commands.registerCommand("hotlens.hotLines", () => chooseHotLine(client)),
    vscode.commands.registerCommand("hotlens.nextHotLine", () => client.execute(SERVER_HOT_LINE, { ...cursorPlace(), back: false })),
    vscode.commands.registerCommand("hotlens.previousHotLine", () => client.execute(SERVER_HOT_LINE, { ...cursorPlace(), back: true })),
    vscode.commands.registerCommand("hotlens.restart", () => client.restart()),
    vscode.commands.registerCommand("hotlens.showLog", () => log.show()),
  ];
}

// The list to choose from; the line under the selection shows behind it.
async function chooseHotLine(client: Client): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const choices = rows(readHotLines(await client.request("hotlens/hotLines", uri?.scheme === "file" ? { textDocument: { uri: uri.toString() } } : {})));
  if (choices.length === 0) return void vscode.window.showInformationMessage("Hotlens: no hot lines yet. Profile the script first.");
  const show = async (row: Row, preserveFocus: boolean): Promise<void> => {
    const at = new vscode.Position(row.line.position.line, row.line.position.character);
    await vscode.window.showTextDocument(vscode.Uri.parse(row.line.uri), { selection: new vscode.Range(at, at), preserveFocus, preview: preserveFocus });
  };
  const chosen = await vscode.window.showQuickPick(choices, {
    title: "Hot lines",
    placeHolder: "The lines that cost most in a training step",
    matchOnDescription: true,
    matchOnDetail: true,
    onDidSelectItem: (row: Row) => void show(row, true),
  });
  if (chosen !== undefined) await show(chosen, false);
}

function scriptAt(target: unknown): object {
  const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
  return uri === undefined ? {} : { uri: uri.toString() };
}

// Where the cursor stands in a Python file, as the server's commands take it.
function cursorPlace(): object {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== "python") return {};
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}
