"""Several models of one script, trained as one."""
