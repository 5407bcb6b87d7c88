"""Where bundles lie and grow, whose they are, and which rank writes."""
