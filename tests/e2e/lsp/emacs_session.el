;; What a person sees in Emacs with Eglot: one file, its hints, a hover, the code actions, a command.  -*- lexical-binding: t -*-
;; emacs --batch -l hotlens.el -l emacs_session.el FILE LINE OUT: writes what was seen to OUT as JSON.
(require 'eglot)
(require 'json)

(defun seen-until (look)
  "The first true value of LOOK, which is called until there is one."
  (let ((end (time-add nil 60)) found)
    (while (and (not (setq found (funcall look))) (time-less-p nil end))
      (accept-process-output nil 0.05))
    found))

(pcase-let* ((`(,file ,text ,out) command-line-args-left)
             (python-indent-guess-indent-offset nil))
  (setq command-line-args-left nil
        eglot-sync-connect 60
        enable-local-variables nil)
  (find-file file)
  (run-hooks 'post-command-hook) ; where eglot-ensure has put what connects
  (seen-until #'eglot-current-server)
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0))
  (let* ((server (eglot-current-server))
         (document (eglot--TextDocumentIdentifier))
         (all `(:start (:line 0 :character 0) :end (:line ,(line-number-at-pos (point-max)) :character 0)))
         (ask (lambda () (jsonrpc-request server :textDocument/inlayHint (list :textDocument document :range all))))
         (hints (seen-until (lambda () (let ((found (funcall ask))) (and (> (length found) 0) found)))))
         (drawn (and (fboundp 'eglot-inlay-hints-mode)
                     (seen-until
                      (lambda ()
                        (eglot--update-hints-1 (point-min) (point-max))
                        (accept-process-output nil 0.5)
                        (let (texts)
                          (dolist (overlay (overlays-in (point-min) (point-max)) texts)
                            (when (overlay-get overlay 'eglot--inlay-hint)
                              (push (substring-no-properties
                                     (or (overlay-get overlay 'before-string) (overlay-get overlay 'after-string)))
                                    texts))))))))
         hover)
    (eglot-hover-eldoc-function (lambda (info &rest _) (setq hover (or info ""))))
    (seen-until (lambda () hover))
    (let* ((actions (eglot-code-actions (point) (point)))
           (place (list :uri (plist-get document :uri) :position (eglot--pos-to-lsp-position (point))))
           (described (jsonrpc-request server :workspace/executeCommand
                                       (list :command "hotlens.server.describe" :arguments (vector place)))))
      (with-temp-file out
        (insert (json-encode `(:hints ,(vconcat hints) :draws ,(if (fboundp 'eglot-inlay-hints-mode) t :json-false)
                               :drawn ,(vconcat drawn) :hover ,(substring-no-properties (or hover ""))
                               :actions ,(vconcat (mapcar (lambda (each) (plist-get each :title)) actions))
                               :described ,(plist-get described :markdown))))))
    (eglot-shutdown server)))
