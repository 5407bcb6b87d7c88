"""The map step: which module, from which expression and line, ran which operators; where modules were made."""
