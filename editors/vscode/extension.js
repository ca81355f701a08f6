// Starts `planproof lsp` for each dbt project of the workspace, over standard input and output.
"use strict";

const path = require("path");
const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let clients = [];

function commandOf(folder, settings) {
  const given = settings.get("command");
  return given.includes("/") && !path.isAbsolute(given) ? path.join(folder, given) : given;
}

// One server that cannot start keeps no other from it.
async function begun({ command, client }) {
  try {
    await client.start();
    return true;
  } catch (error) {
    const way = "Install planproof[lsp] where dbt is, and name it in the setting planproof.command, such as .venv/bin/planproof.";
    void vscode.window.showErrorMessage(`${command} could not be started: ${error.message} ${way}`);
    return false;
  }
}

async function start() {
  const found = await vscode.workspace.findFiles("**/dbt_project.yml", "**/{dbt_packages,node_modules,.venv}/**");
  const all = found.map((file) => {
    const folder = path.dirname(file.fsPath);
    const settings = vscode.workspace.getConfiguration("planproof", file);
    const server = {
      command: commandOf(folder, settings),
      args: ["lsp", "--stdio", "--project-dir", folder, ...settings.get("arguments")],
      options: { cwd: folder },
      transport: TransportKind.stdio,
    };
    const pattern = new vscode.RelativePattern(folder, "**/*.sql").pattern;
    const options = { documentSelector: [{ scheme: "file", pattern: `${folder}/${pattern}` }] };
    return { command: server.command, client: new LanguageClient("planproof", "planproof", server, options) };
  });
  const running = await Promise.all(all.map(async (one) => ((await begun(one)) ? [one.client] : [])));
  clients = running.flat();
}

async function stop() {
  const running = clients;
  clients = [];
  await Promise.all(running.map((client) => client.stop()));
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand("planproof.restart", restart));
  await start();
}

module.exports = { activate, deactivate: stop };
