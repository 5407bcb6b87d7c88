"""The program of one step: its operators in order, so that it can be run again without the script."""
