"""What is written: the files of a bundle, from what a run has measured."""
