// What somebody does in VS Code with a model, by the commands behind the keys; what is seen goes as JSON into $SEEN.
"use strict";

const fs = require("fs");
const path = require("path");
const vscode = require("vscode");

const SEVERITIES = ["ERROR", "WARN", "INFO", "HINT"];

async function wait(what, test) {
  const end = Date.now() + 60000;
  while (Date.now() < end) {
    const found = await test();
    if (found) return found;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`VS Code waited in vain for ${what}`);
}

async function look() {
  const seen = {};
  const file = vscode.Uri.file(process.env.EDITED);
  const document = await vscode.workspace.openTextDocument(file);
  const editor = await vscode.window.showTextDocument(document);
  const findings = () => vscode.languages.getDiagnostics(file);
  const placed = (found) => ({
    code: String(found.code && found.code.value ? found.code.value : found.code),
    severity: SEVERITIES[found.severity],
    line: found.range.start.line,
    text: document.getText(found.range),
  });
  const at = (pattern) => document.positionAt(document.getText().search(pattern));
  const asked = (command, position) => vscode.commands.executeCommand(command, file, position);
  const line = async (found) => {
    const where = found.targetUri ? { uri: found.targetUri, range: found.targetSelectionRange } : found;
    const target = await vscode.workspace.openTextDocument(where.uri);
    return {
      file: path.basename(where.uri.fsPath),
      from: target.lineAt(where.range.start.line).text.slice(where.range.start.character),
    };
  };
  const definition = async (pattern) => line((await asked("vscode.executeDefinitionProvider", at(pattern)))[0]);

  await wait("findings", () => findings().length > 0);
  seen.findings = findings().map(placed);
  const hovers = await asked("vscode.executeHoverProvider", at(/amount/));
  seen.hover = hovers.flatMap((hover) => hover.contents.map((content) => content.value)).join("\n");
  seen.stored = await definition(/amount/);
  seen.made = await definition(/twice\nfrom priced/);
  seen.ref = await definition(/ref\(/);
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const hints = await wait("inlay hints", async () => {
    const found = await asked("vscode.executeInlayHintProvider", whole);
    return found && found.length > 0 && found;
  });
  const label = (hint) => (typeof hint.label === "string" ? hint.label : hint.label.map((part) => part.value).join(""));
  seen.hints = hints.map((hint) => [hint.position.line, label(hint)]);
  const [found] = findings();
  const actions = await asked("vscode.executeCodeActionProvider", found.range);
  const action = actions.find((one) => one.title.startsWith("coalesce"));
  await vscode.workspace.applyEdit(action.edit);
  seen.edited = document.getText().split("\n");
  await wait("no findings", () => findings().length === 0);
  // Somebody mistypes a column, and is told before anything is saved.
  const start = at(/amount \* 2/);
  await editor.edit((change) => change.replace(new vscode.Range(start, start.translate(0, 6)), "amuont"));
  await wait("a mistyped column", () => findings().length > 0);
  seen.mistyped = findings().map(placed);
  seen.saved = !document.isDirty;
  return seen;
}

async function activate() {
  let seen;
  try {
    seen = await look();
  } catch (error) {
    seen = { error: String(error && error.stack) };
  }
  fs.writeFileSync(`${process.env.SEEN}.new`, JSON.stringify(seen));
  fs.renameSync(`${process.env.SEEN}.new`, process.env.SEEN);
}

module.exports = { activate };
