// The commands a person can run. Each is one sentence to the client.
import * as vscode from "vscode";
import { placeOf, selectionOf, SERVER_ARGUMENTS, SERVER_CANCEL, SERVER_PROFILE, SERVER_TIMELINE, type Client } from "./client";

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
    vscode.commands.registerCommand("hotlens.restart", () => client.restart()),
    vscode.commands.registerCommand("hotlens.showLog", () => log.show()),
  ];
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
