;; Hotlens in Emacs, with Eglot.  -*- lexical-binding: t -*-
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '((python-mode python-ts-mode) . ("hotlens" "lsp" "--stdio"))))
(add-hook 'python-mode-hook #'eglot-ensure)
