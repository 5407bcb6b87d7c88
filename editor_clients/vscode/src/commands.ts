// The commands a person can run. Each is one sentence to the client.
import * as vscode from "vscode";
import { placeOf, selectionOf, SERVER_CANCEL, SERVER_PROFILE, SERVER_TIMELINE, type Client } from "./client";

export function registerCommands(client: Client, log: vscode.LogOutputChannel): vscode.Disposable[] {
  return [
    // The file's menu passes its uri. Whatever else calls this (a link, a key binding) profiles the file in the editor.
    vscode.commands.registerCommand("hotlens.profile", async (target: unknown) => {
      const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
      await client.execute(SERVER_PROFILE, uri === undefined ? {} : { uri: uri.toString() });
    }),
    vscode.commands.registerCommand("hotlens.cancel", () => client.execute(SERVER_CANCEL)),
    // A link names the block or its place; otherwise the server finds the one of the line in the editor.
    vscode.commands.registerCommand("hotlens.showTimeline", (asked: unknown) =>
      client.execute(SERVER_TIMELINE, selectionOf(asked) ?? placeOf(asked) ?? cursorPlace()),
    ),
    vscode.commands.registerCommand("hotlens.restart", () => client.restart()),
    vscode.commands.registerCommand("hotlens.showLog", () => log.show()),
  ];
}

// Where the cursor stands in a Python file, as the server's commands take it.
function cursorPlace(): object {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.document.languageId !== "python") return {};
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}
