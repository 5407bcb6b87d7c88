-- The language server's configuration. vim.lsp.config('hotlens', {…}) changes any of it; vim.g.hotlens is enough for most.
---@type vim.lsp.Config
return {
  cmd = function(dispatchers, config) return require('hotlens.server').start(dispatchers, config) end,
  filetypes = { 'python' },
  -- A folder that holds profiles is a root even inside a repository.
  root_markers = { '.hotlens', '.git', 'pyproject.toml', 'setup.py', 'requirements.txt' },
  root_dir = function(bufnr, on_dir) require('hotlens.server').root(bufnr, on_dir) end,
  before_init = function(_, config) require('hotlens.config').apply(config) end,
  on_attach = function(client, bufnr) require('hotlens.client').attach(client, bufnr) end,
  capabilities = {
    -- Neovim 0.11 does not handle this refresh itself; the handler below does.
    workspace = { codeLens = { refreshSupport = true } },
    experimental = {
      hotlens = {
        protocolVersion = 1,
        dialogs = true,
        heat = true,
        calls = true,
        clipboard = true,
        output = true,
        showTimeline = { words = ':Hotlens timeline', compare = true },
      },
    },
  },
  handlers = {
    ['workspace/inlayHint/refresh'] = function(_, _, ctx) return require('hotlens.hints').on_refresh(ctx) end,
    ['workspace/codeLens/refresh'] = function(_, _, ctx) return require('hotlens.client').on_lens_refresh(ctx) end,
    ['hotlens/timeline/select'] = function(_, block) require('hotlens.timeline').on_select(block) end,
    ['hotlens/timeline/highlight'] = function(_, params) require('hotlens.timeline_highlight').show(params.lines) end,
    ['hotlens/timeline/changed'] = function() require('hotlens.timeline').on_changed() end,
    ['hotlens/heatChanged'] = function(_, _, ctx) require('hotlens.heat').on_changed(ctx) end,
    ['hotlens/profileChanged'] = function(_, state, ctx) require('hotlens.status').changed(state, ctx.client_id) end,
    ['window/showMessage'] = function(_, message) require('hotlens.messages').show(message) end,
    ['window/showMessageRequest'] = function(_, question) return require('hotlens.messages').ask(question) end,
    ['hotlens/prompt'] = function(_, question) return require('hotlens.messages').prompt(question) end,
    ['hotlens/choose'] = function(_, question) return require('hotlens.messages').choose(question) end,
    ['hotlens/showLog'] = function() require('hotlens.printed').open() end,
    ['hotlens/output'] = function(_, params) require('hotlens.printed').receive(params) end,
    ['hotlens/showHotLines'] = function(_, _, ctx) require('hotlens.hot_lines').list(assert(vim.lsp.get_client_by_id(ctx.client_id))) end,
    ['window/logMessage'] = function(_, message) require('hotlens.messages').record(message) end,
  },
  commands = {
    ['hotlens.server.openTimeline'] = function(command, ctx)
      require('hotlens.timeline').open(assert(vim.lsp.get_client_by_id(ctx.client_id)), nil, command.arguments and command.arguments[1])
    end,
    ['hotlens.server.calls'] = function(command, ctx)
      require('hotlens.calls').list(assert(vim.lsp.get_client_by_id(ctx.client_id)), command.arguments[1])
    end,
    ['hotlens.server.describe'] = function(command, ctx)
      require('hotlens.calls').copy(assert(vim.lsp.get_client_by_id(ctx.client_id)), command.arguments[1])
    end,
    ['hotlens.server.profile'] = function(command, ctx) require('hotlens.client').profile(command, ctx) end,
    ['hotlens.server.setArguments'] = function(command, ctx) require('hotlens.client').profile(command, ctx) end,
    ['hotlens.server.chooseInterpreter'] = function(command, ctx) require('hotlens.client').profile(command, ctx) end,
    ['hotlens.server.verify'] = function(command, ctx) require('hotlens.client').profile(command, ctx) end,
    ['hotlens.server.chooseRun'] = function(command, ctx) require('hotlens.client').profile(command, ctx) end,
  },
  settings = { hotlens = {} },
}
