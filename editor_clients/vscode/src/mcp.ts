// Coding agents in VS Code get the tools of `hotlens mcp`, one server for each folder. Nothing here imports vscode: the unit tests run it
// in plain Node.
//
// VS Code asks before it starts a server, and before a tool is called. In a workspace that is not trusted there is none: its tools run what
// profiles name, and may run its scripts.
import * as path from 'node:path';

export const PROVIDER = 'hotlens'; // as package.json names it

// The part of VS Code's interface that is used; it came with 1.101.
export interface Definition {
  readonly label: string;
}
export interface AgentHost {
  readonly lm?: {
    registerMcpServerDefinitionProvider?(
      id: string,
      provider: { provideMcpServerDefinitions(): Promise<Definition[]> },
    ): { dispose(): unknown };
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: string[],
    env: Record<string, string>,
    version: string,
  ) => Definition;
}

export interface Surroundings {
  readonly trusted: boolean;
  readonly folders: readonly string[];
  readonly program: { readonly path: string; readonly version: string } | undefined;
  readonly python: string | undefined;
}

// Nothing where this VS Code knows no such servers. One that is still trying the interface out (1.100) has it and refuses whoever calls it:
// that must not keep the rest of the extension from starting.
export function offerAgents(host: AgentHost, look: () => Promise<Surroundings>): { dispose(): unknown }[] {
  const Server = host.McpStdioServerDefinition;
  if (Server === undefined || host.lm?.registerMcpServerDefinitionProvider === undefined) return [];
  const provideMcpServerDefinitions = async (): Promise<Definition[]> => {
    const { trusted, folders, program, python } = await look();
    if (!trusted || program === undefined) return [];
    const label = (folder: string): string => (folders.length === 1 ? 'Hotlens' : `Hotlens (${path.basename(folder)})`);
    const args = (folder: string): string[] => ['mcp', '--folder', folder, ...(python === undefined ? [] : ['--python', python])];
    return folders.map((folder) => new Server(label(folder), program.path, args(folder), {}, program.version));
  };
  try {
    return [host.lm.registerMcpServerDefinitionProvider(PROVIDER, { provideMcpServerDefinitions })];
  } catch {
    return [];
  }
}
