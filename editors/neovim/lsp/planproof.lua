-- planproof's language server, for Neovim 0.11 and later. Copy this file to ~/.config/nvim/lsp/; init.lua beside shows how to enable it.
-- `planproof` is the one on the path: start Neovim in the environment that dbt runs in, or name the program here.
-- Never one from the project's own folder: whoever opens a stranger's project would run the stranger's program.
return {
  cmd = { "planproof", "lsp", "--stdio" },
  filetypes = { "sql", "jinja", "htmldjango", "dbt" },
  root_markers = { "dbt_project.yml" },
  workspace_required = true,
}
