"""What torch.compile made: compilations, generated files, graphs, and which node each kernel computes."""
