-- What somebody does in Neovim with a model, by the functions behind the keys; what is seen goes as JSON into $SEEN.
local seen = {}

local function wait(what, test)
  if not vim.wait(60000, test, 20) then
    error("Neovim waited in vain for " .. what)
  end
end

local function findings()
  return vim.tbl_map(function(found)
    return {
      code = found.code,
      severity = vim.diagnostic.severity[found.severity],
      line = found.lnum,
      text = vim.api.nvim_buf_get_text(found.bufnr, found.lnum, found.col, found.end_lnum, found.end_col, {})[1],
    }
  end, vim.diagnostic.get(0))
end

local function go_to(pattern)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  if vim.fn.search(pattern, "cW") == 0 then
    error("no " .. pattern)
  end
end

local function hover()
  vim.lsp.buf.hover()
  local window
  wait("a hover", function()
    window = vim.b[0].lsp_floating_preview
    return window and vim.api.nvim_win_is_valid(window)
  end)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
  vim.api.nvim_win_close(window, true)
  return lines
end

local function definition()
  local place = vim.api.nvim_win_get_cursor(0)
  local file = vim.api.nvim_buf_get_name(0)
  vim.lsp.buf.definition()
  wait("a jump", function()
    return vim.api.nvim_buf_get_name(0) ~= file or not vim.deep_equal(vim.api.nvim_win_get_cursor(0), place)
  end)
  local found = { file = vim.fs.basename(vim.api.nvim_buf_get_name(0)), line = vim.api.nvim_get_current_line() }
  found.from = found.line:sub(vim.api.nvim_win_get_cursor(0)[2] + 1)
  vim.cmd.edit(file)
  return found
end

local function hints()
  return vim.tbl_map(function(hint)
    return { line = hint.inlay_hint.position.line, label = hint.inlay_hint.label }
  end, vim.lsp.inlay_hint.get({ bufnr = 0 }))
end

local function main()
  wait("findings", function() return #vim.diagnostic.get(0) > 0 end)
  seen.findings = findings()
  seen.root = vim.lsp.get_clients({ name = "planproof" })[1].root_dir
  go_to("amount")
  seen.hover = hover()
  seen.stored = definition()
  go_to("twice$")
  seen.made = definition()
  go_to("ref(")
  seen.ref = definition()
  wait("inlay hints", function() return #hints() > 0 end)
  seen.hints = hints()
  go_to("order_id, twice$")
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action) return vim.startswith(action.title, "coalesce") end,
  })
  wait("the action's edit", function() return vim.bo.modified end)
  seen.edited = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  wait("no findings", function() return #vim.diagnostic.get(0) == 0 end)
  -- Somebody mistypes a column, and is told before anything is saved.
  vim.cmd("%s/order_id, amount/order_id, amuont/")
  wait("a finding on what is typed", function() return #vim.diagnostic.get(0) > 0 end)
  seen.mistyped = findings()
end

local good, reason = xpcall(main, debug.traceback)
seen.error = not good and reason or nil
vim.fn.writefile({ vim.json.encode(seen) }, vim.env.SEEN)
vim.lsp.stop_client(vim.lsp.get_clients())
vim.cmd("qa!")
