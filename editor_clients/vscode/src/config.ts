// The extension's settings and what it knows of its surroundings, read from VS Code.
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { PythonSources } from './python';

// Settings that decide which program is started; a change restarts the server. All others are pulled by the server itself.
export const RESTARTING_SETTINGS = ['hotlens.server.path', 'hotlens.python'];

export function serverPathSetting(): string {
  return vscode.workspace.getConfiguration('hotlens').get<string>('server.path', '').trim();
}

export function profilesOnSave(resource: vscode.Uri): boolean {
  return vscode.workspace.getConfiguration('hotlens', resource).get<boolean>('profile.onSave', false);
}

export async function pythonSources(resource: vscode.Uri | undefined): Promise<PythonSources> {
  const environments = await environmentsOfPythonExtension();
  return {
    setting: vscode.workspace.getConfiguration('hotlens', resource).get<string>('python', '').trim(),
    chosen: await interpreterOfPythonExtension(environments, resource),
    known: (environments?.known ?? []).flatMap(({ executable }) => executable.uri?.fsPath ?? []),
    environment: process.env,
    folders: workspaceFolders(),
    trusted: vscode.workspace.isTrusted,
    windows: process.platform === 'win32',
  };
}

export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
}

export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// The part of the Python extension's public interface that is used.
interface PythonExtension {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    readonly known?: readonly { executable: { uri?: vscode.Uri } }[];
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

type Environments = PythonExtension['environments'];

async function environmentsOfPythonExtension(): Promise<Environments | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>('ms-python.python');
  if (extension === undefined) return undefined;
  try {
    return (extension.isActive ? extension.exports : await extension.activate()).environments;
  } catch {
    return undefined; // a broken Python extension: the next source decides
  }
}

async function interpreterOfPythonExtension(
  environments: Environments | undefined,
  resource: vscode.Uri | undefined,
): Promise<string | undefined> {
  try {
    const environment = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(resource));
    return environment?.executable.uri?.fsPath;
  } catch {
    return undefined; // an older one
  }
}
