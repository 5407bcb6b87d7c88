"""What torch is listened to by: methods replaced for a while, ranges in its traces, its loaders and optimizers, what autograd keeps."""
