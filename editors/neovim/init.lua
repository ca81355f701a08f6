-- A whole init.lua with planproof; what you need of it goes into your own. `nvim --clean -u editors/neovim/init.lua` tries it.

-- Not needed where lsp/planproof.lua was copied to ~/.config/nvim/lsp/.
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
vim.opt.runtimepath:prepend(here)

vim.lsp.enable("planproof")

-- Each finding at the end of its line; the whole message below the line where the cursor is.
vim.diagnostic.config({ virtual_text = { source = true }, severity_sort = true })

vim.api.nvim_create_autocmd("LspAttach", {
  callback = function(attached)
    -- The type of each column that a SELECT makes.
    vim.lsp.inlay_hint.enable(true, { bufnr = attached.buf })
    vim.keymap.set("n", "gd", vim.lsp.buf.definition, { buffer = attached.buf, desc = "Where a column is made" })
  end,
})
-- Neovim's own keys do the rest: K what a column is, gra what can be done (coalesce, a contract), ]d the next finding, CTRL-O back.
