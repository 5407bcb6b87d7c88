-- Hotlens: where a PyTorch training step spends its time, beside the code. See :help hotlens.
if vim.g.loaded_hotlens then return end
vim.g.loaded_hotlens = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('Hotlens needs Neovim 0.11 or newer.', vim.log.levels.WARN)
  return
end

vim.api.nvim_create_user_command('Hotlens', function(args) require('hotlens.command').run(args.fargs) end, {
  nargs = '*',
  desc = 'Profile a training script and show its times',
  complete = function(lead, line) return require('hotlens.command').complete(lead, line) end,
})

vim.lsp.enable('hotlens')
