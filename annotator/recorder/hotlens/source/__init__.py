"""The script's source: which statement, expression and object a running frame stands for; notebooks as scripts."""
